"""One attempt between two looks: what is remembered of it, and what follows from that and from Slurm's record.

Nothing here asks Slurm or reports. The time is an argument, in seconds of a monotonic clock.
"""

from dataclasses import dataclass

from dovetail.backends.slurm.driver import JobRecord, SlurmJob
from dovetail.backends.slurm.reasons import StartOutlook
from dovetail.backends.slurm.run_folder import JobRunFolder
from dovetail.backends.slurm.states import (
    End,
    JobProgress,
    in_words,
    never_starts,
    progress_of,
    waits_for_dependency,
)
from dovetail.model.resources import Amounts

HOPELESS_FOR_S = 30.0  # Slurm's reason for a pending job may be some seconds old
WAIT_WORTH_REPORTING_S = 3.0  # most jobs start within that
LOOKS_UNTIL_READABLE = 5  # a script that has not written its claim by then could not


@dataclass(slots=True)
class WatchedJob:
    run: JobRunFolder
    job: SlurmJob | None
    node: str
    asked: Amounts
    in_gang: bool = False
    fresh: bool = True  # a call has touched it since the last look
    start_reported: bool = False
    restarts: int = 0  # the run of its job in which it was seen to start
    holds: bool = False  # resources of its node are allocated to it
    waiting_since_s: float | None = None
    hopeless_since_s: float | None = None
    reported_wait: str = ""  # why it waits, as last reported
    taken_back: End | None = None  # its end, reported when Slurm has confirmed that it never ran
    fence: str | None = None  # why it is being fenced
    fenced_at_s: float = 0.0
    unreadable: int = 0

    def note(self, record: JobRecord | None) -> None:
        """A job that waits for its node to boot holds resources too."""
        self.holds = record is not None and (
            progress_of(record) is JobProgress.RUNNING or record.state == "CONFIGURING"
        )

    def is_quiet(self, record: JobRecord | None, outlook: StartOutlook, now_s: float, patience_s: float | None) -> bool:
        """Nothing has changed: its folder, which may be on a busy file server, need not be read."""
        if self.fresh or self.fence is not None or record is None or record.restarts != self.restarts:
            return False
        if self.in_gang and not self.start_reported:  # whether its gang starts is in its folder
            return False
        progress = progress_of(record)
        if progress is JobProgress.WAITING and self.waiting_since_s is not None:
            return not self.gives_up(record, outlook, now_s, patience_s) and not self.wait_to_report(record, now_s)
        return progress is JobProgress.RUNNING and self.start_reported

    def wait_to_report(self, record: JobRecord, now_s: float) -> str:
        """Why it waits in Slurm, if that is news and it has waited for a while."""
        words = in_words(record)
        lasts = self.waiting_since_s is not None and self.waited_s(now_s) >= WAIT_WORTH_REPORTING_S
        return words if words != self.reported_wait and (lasts or waits_for_dependency(record)) else ""

    def is_held_long(self, now_s: float) -> bool:
        """Called for each look at a script that waits for others of its gang."""
        self.waiting_since_s = now_s if self.waiting_since_s is None else self.waiting_since_s
        return self.waited_s(now_s) >= WAIT_WORTH_REPORTING_S

    def gives_up(self, record: JobRecord, outlook: StartOutlook, now_s: float, patience_s: float | None) -> bool:
        """Time spent waiting for other jobs, on the user's request, does not count."""
        if self.waiting_since_s is None or waits_for_dependency(record):
            self.waiting_since_s = now_s
        self.hopeless_since_s = None if outlook is StartOutlook.WAIT else self.hopeless_since_s or now_s
        if never_starts(record):
            return True
        if self.hopeless_since_s is not None and now_s >= self.hopeless_since_s + HOPELESS_FOR_S:
            return True
        return patience_s is not None and self.waited_s(now_s) >= patience_s

    def waited_s(self, now_s: float) -> float:
        return now_s - (self.waiting_since_s or 0.0)

    def may_be_writing(self) -> bool:
        """Called for each look at an unreadable claim: whether its script may still be writing it."""
        self.unreadable += 1
        return self.unreadable <= LOOKS_UNTIL_READABLE
