"""One attempt between two looks at it: what is remembered of it, and what follows from that and from what Slurm says.

Nothing here asks or reports; the moment is an argument, in seconds of a clock that only goes on.
"""

from dataclasses import dataclass

from dovetail.backends.slurm.records import JobRecord, SlurmJob
from dovetail.backends.slurm.run_folder import JobRunFolder
from dovetail.backends.slurm.states import End, JobProgress, course_of, is_hopeless, is_vain, waits_for_others
from dovetail.model.resources import Amounts

HOPELESS_FOR_S = 30.0  # a controller that has just been restarted says so of every node that it has not heard of yet
LOOKS_UNTIL_READABLE = 5  # a script that has not written into its claim by then could not


@dataclass(slots=True)
class WatchedJob:
    run: JobRunFolder
    job: SlurmJob | None
    node: str
    asked: Amounts
    fresh: bool = True  # something was asked of it since the last look
    said_started: bool = False
    restarts: int = 0  # in which of its job's runs it was seen to start
    holds: bool = False  # a part of its node is allocated to it
    waiting_since_s: float | None = None
    hopeless_since_s: float | None = None
    taken_back: End | None = None  # what is said of it when Slurm has confirmed that it never ran
    fence: str | None = None  # why it is being fenced
    fenced_at_s: float = 0.0
    unreadable: int = 0

    def note(self, record: JobRecord | None) -> None:
        """One that waits for its node to boot holds a part of it, too."""
        self.holds = record is not None and (course_of(record) is JobProgress.RUNNING or record.state == "CONFIGURING")

    def is_quiet(self, record: JobRecord | None, now_s: float, patience_s: float | None) -> bool:
        """It goes on as it did: its folder, which may be on a busy file server, need not be looked at."""
        if self.fresh or self.fence is not None or record is None or record.restarts != self.restarts:
            return False
        course = course_of(record)
        if course is JobProgress.WAITING and self.waiting_since_s is not None:
            return not self.gives_up(record, now_s, patience_s)
        return course is JobProgress.RUNNING and self.said_started

    def gives_up(self, record: JobRecord, now_s: float, patience_s: float | None) -> bool:
        """Time that it spends waiting for other jobs, as its user wanted it to, does not count."""
        if self.waiting_since_s is None or waits_for_others(record):
            self.waiting_since_s = now_s
        self.hopeless_since_s = (self.hopeless_since_s or now_s) if is_hopeless(record) else None
        if is_vain(record):
            return True
        if self.hopeless_since_s is not None and now_s >= self.hopeless_since_s + HOPELESS_FOR_S:
            return True
        return patience_s is not None and self.waited_s(now_s) >= patience_s

    def waited_s(self, now_s: float) -> float:
        return now_s - (self.waiting_since_s or 0.0)

    def may_be_writing(self) -> bool:
        """Asked at each look at a claim that cannot be read: whether its script is just writing it."""
        self.unreadable += 1
        return self.unreadable <= LOOKS_UNTIL_READABLE
