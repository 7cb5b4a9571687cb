"""The interface to Slurm. `rest` and `cli` implement it."""

from collections.abc import Collection
from typing import Protocol

from dovetail.backends.slurm.records import (
    JobRecord,
    JobSubmission,
    PartitionRecord,
    SlurmJob,
    SlurmNode,
    SlurmReservation,
)


class SlurmFault(Exception):
    """Slurm did not answer, or not as expected: the call may or may not have had an effect."""


class Rejected(Exception):
    """Slurm has rejected a submission: there is no job."""


class Driver(Protocol):
    """Every method raises SlurmFault if Slurm cannot be asked."""

    async def nodes(self) -> list[SlurmNode]: ...

    async def partitions(self) -> list[PartitionRecord]: ...

    async def reservations(self) -> list[SlurmReservation]: ...

    async def topology(self) -> str:
        """The output of `scontrol show topology`; empty if it is not available."""

    async def jobs(self) -> list[JobRecord]:
        """All jobs that Slurm still has: ended ones stay for a while (MinJobAge)."""

    async def find(self, jobs: Collection[SlurmJob]) -> dict[SlurmJob, JobRecord]:
        """The records of those of these jobs that Slurm still has."""

    async def recorded(self, job: SlurmJob) -> JobRecord | None:
        """The record of a job that Slurm has forgotten, from its accounting if there is one."""

    async def submit(self, submission: JobSubmission) -> int:
        """The id of the new job. Raises Rejected."""

    async def cancel(self, job: SlurmJob) -> None:
        """End a job. Nothing happens to a job that has ended or is unknown."""

    async def close(self) -> None: ...


#: Up to this many jobs or arrays are asked for one by one; for more, listing all jobs is cheaper for Slurm.
FEW_JOBS = 8


#: Errors of a submission that Slurm did not reject: it could not be reached, or is too busy.
_TRANSIENT = (
    "Unable to contact slurm controller",
    "Socket timed out",
    "Zero Bytes were transmitted",
    "temporarily unable to accept job",
    "Protocol authentication error",
    "standby mode",
    "Connection refused",
    "configuration source",
)


def is_transient(words: str) -> bool:
    """Whether a retry may help."""
    return any(sign in words for sign in _TRANSIENT)
