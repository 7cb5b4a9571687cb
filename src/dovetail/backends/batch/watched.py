"""One attempt between two looks: what is remembered of it, and what follows from that and from the record of its job.

Nothing here asks the batch system or reports. The time is an argument, in seconds of a monotonic clock.
"""

from dataclasses import dataclass

from dovetail.backends.batch.ends import UNUSABLE_EXIT, End, not_started
from dovetail.backends.batch.record import BatchRecord, JobId, JobProgress, StartOutlook
from dovetail.backends.batch.run_folder import JobRunFolder
from dovetail.model.failure_cause import FailureCause
from dovetail.model.resources import Amounts

HOPELESS_FOR_S = 30.0  # the reason for a pending job may be some seconds old
WAIT_WORTH_REPORTING_S = 3.0  # most jobs start within that
LOOKS_UNTIL_READABLE = 5  # a script that has not written its claim by then could not


@dataclass(slots=True)
class WatchedJob:
    run: JobRunFolder
    job: JobId | None
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
    taken_back: End | None = None  # its end, reported when the system has confirmed that it never ran
    fence: str | None = None  # why it is being fenced
    fenced_at_s: float = 0.0
    unreadable: int = 0
    over: bool = False  # its end was reported

    def note(self, record: BatchRecord | None) -> None:
        """A job that waits for its node to boot holds resources too."""
        self.holds = record is not None and record.holds_node

    def is_quiet(
        self, record: BatchRecord | None, outlook: StartOutlook, now_s: float, patience_s: float | None
    ) -> bool:
        """Nothing has changed: its folder, which may be on a busy file server, need not be read."""
        if self.fresh or self.fence is not None or record is None or record.restarts != self.restarts:
            return False
        if self.in_gang and not self.start_reported:  # whether its gang starts is in its folder
            return False
        progress = record.progress
        if progress is JobProgress.WAITING and self.waiting_since_s is not None:
            return not self.gives_up(record, outlook, now_s, patience_s) and not self.wait_to_report(record, now_s)
        if record.keys:  # one job runs several attempts: each says in its folder when it has ended
            return False
        return progress is JobProgress.RUNNING and self.start_reported

    def wait_to_report(self, record: BatchRecord, now_s: float) -> str:
        """Why its job waits, if that is news and it has waited for a while."""
        words = record.in_words()
        lasts = self.waiting_since_s is not None and self.waited_s(now_s) >= WAIT_WORTH_REPORTING_S
        return words if words != self.reported_wait and (lasts or record.waits_for_jobs) else ""

    def is_held_long(self, now_s: float) -> bool:
        """Called for each look at a script that waits for others of its gang."""
        self.waiting_since_s = now_s if self.waiting_since_s is None else self.waiting_since_s
        return self.waited_s(now_s) >= WAIT_WORTH_REPORTING_S

    def gives_up(self, record: BatchRecord, outlook: StartOutlook, now_s: float, patience_s: float | None) -> bool:
        """Time spent waiting for other jobs, on the user's request, does not count."""
        if self.waiting_since_s is None or record.waits_for_jobs:
            self.waiting_since_s = now_s
        self.hopeless_since_s = None if outlook is StartOutlook.WAIT else self.hopeless_since_s or now_s
        if record.never_starts:
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


def taken_back(job: BatchRecord, system: str, node: str, waited_s: float, cause: FailureCause) -> End:
    """The end of a job that is cancelled before it started: the task is placed elsewhere, if that can help."""
    if job.never_starts:
        words = "a job that it depends on did not end as it should"
        return End(UNUSABLE_EXIT, f"{job.in_words()}: it could not be started: {words}", cause=FailureCause.WORKLOAD)
    return not_started(f"{system} did not start it on {node} in {waited_s:.0f} s: {job.in_words()}", cause)
