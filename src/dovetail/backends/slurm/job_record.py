"""Slurm's record of a job: its state and reason, read by the tables of `states` and `reasons`."""

from dataclasses import dataclass

from dovetail.backends.batch.ends import End, Result
from dovetail.backends.batch.record import BatchRecord, JobProgress, StartOutlook
from dovetail.backends.slurm.reasons import outlook_of
from dovetail.backends.slurm.states import end_of_job, never_starts, progress_of, waits_for_dependency


@dataclass(frozen=True, slots=True)
class JobRecord(BatchRecord):
    """Only the accounting has the start and end times."""

    @property
    def progress(self) -> JobProgress:
        return progress_of(self)

    @property
    def holds_node(self) -> bool:
        """A job that waits for its node to boot holds resources too."""
        return self.progress is JobProgress.RUNNING or self.state == "CONFIGURING"

    @property
    def waits_for_jobs(self) -> bool:
        return waits_for_dependency(self)

    @property
    def never_starts(self) -> bool:
        return never_starts(self)

    def outlook(self, *, node_is_lost: bool) -> StartOutlook:
        return outlook_of(self, node_is_lost=node_is_lost)

    def end(self, *, claimed: bool, result: Result | None, stop_reason: str | None, folder: str) -> End:
        return end_of_job(self, claimed=claimed, result=result, stop_reason=stop_reason, folder=folder)
