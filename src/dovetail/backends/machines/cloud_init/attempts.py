"""One attempt that cloud-init runs, and how far its machine is. What was ordered and how it ended is in the journal."""

import time
from dataclasses import dataclass, field

from dovetail.backends.contract import Assignment
from dovetail.backends.machines.cloud_init.console_lines import ConsoleLines

#: Lines that others broke are written again every half minute; afterwards an end counts without all of its output.
WHOLE_WITHIN_S = 90.0
#: Consoles that are not live show their last part some time after the machine has ended.
LAST_WORDS_WITHIN_S = 60.0
#: How much longer than its time limit a job may take to say so itself.
LATE_S = 120.0


@dataclass(slots=True)
class JobAttempt:
    """`assignment`: None after a restart, until the control plane has said it again. `launched`: a machine may have
    been asked for. Times are of a clock that nobody can set."""

    key: str
    node: str
    assignment: Assignment | None = None
    launched: bool = False
    stopping: bool = False
    token: str | None = None  # of the launch of its machine, if it is known
    lines: ConsoleLines | None = None
    started_reported: bool = False
    has_ended: bool = False  # it is in the journal, and not reported yet
    silent: bool = False  # its machine has ended, and nothing more is to be read
    live: bool = False
    trouble: str = ""  # why its console could not be read
    read_at: float = 0.0
    _since: dict[str, float] = field(default_factory=dict)

    def lasts_s(self, what: str) -> float:
        """Since when this has been so, as far as this process knows."""
        return time.monotonic() - self._since.setdefault(what, time.monotonic())

    def overdue(self, starts_within_s: float) -> str:
        """Why its machine is not waited for any longer; empty if it is. The machine runs."""
        runs_s, started = self.lasts_s("runs"), self.lines is not None and self.lines.started
        if not started:
            if self.live and runs_s > starts_within_s:
                words = f"its console did not say within {starts_within_s:g} s that the job began"
                return f"{words}; the image has to run cloud-init and to write to its serial console"
            return ""
        started_s = self.lasts_s("started")
        run_for_s = None if self.assignment is None else self.assignment.spec.deadline.run_for
        if run_for_s is not None and started_s > run_for_s + LATE_S:
            return f"its time limit of {run_for_s:g} s has passed, and its console does not say that it has ended"
        return ""
