"""One attempt in the simulated world: its fate and its progress.

It keeps what reports and logs need, not the workload, whose definition may be large: a hundred thousand attempts are
remembered. Times are virtual seconds since the epoch.
"""

from dataclasses import dataclass

from dovetail.backends.simulated.rehearsal import Fate
from dovetail.model.event import TaskFinished
from dovetail.model.resources import Amounts
from dovetail.model.task import TaskId


@dataclass(slots=True, eq=False)
class SimulatedAttempt:
    key: str
    task: TaskId
    node: str
    title: str  # the workload's name, for the log
    command: list[str]
    fate: Fate | None  # None: stopped before it was ever bound
    amounts: Amounts | None  # its request; kept only if use is observed
    grace_s: float = 0.0  # from the stop to the kill
    stop_reason: str | None = None  # it was stopped and is in its grace period
    started_at: float | None = None
    ended_at: float | None = None
    end: TaskFinished | None = None

    @property
    def runs(self) -> bool:
        return self.started_at is not None and self.end is None

    @property
    def cut_short(self) -> bool:
        """Stopped or lost: it did not end by itself, and is never started again."""
        return self.end is not None and self.end.exit_code is None
