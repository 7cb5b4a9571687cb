"""What the backend asks of Slurm. Two modules answer: `rest` and `cli`."""

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
    """Slurm did not answer, or not as expected: what was asked may or may not have happened."""


class Rejected(Exception):
    """Slurm has looked at a submission and will not have it: there is no job."""


class Driver(Protocol):
    """Every method raises SlurmFault where Slurm cannot be asked."""

    async def nodes(self) -> list[SlurmNode]: ...

    async def partitions(self) -> list[PartitionRecord]: ...

    async def reservations(self) -> list[SlurmReservation]: ...

    async def topology(self) -> str:
        """What `scontrol show topology` prints; empty where that cannot be asked."""
        ...

    async def jobs(self) -> list[JobRecord]:
        """All that Slurm has not forgotten: ended ones stay for a while (MinJobAge)."""
        ...

    async def find(self, jobs: Collection[SlurmJob]) -> dict[SlurmJob, JobRecord]:
        """Those of these jobs that Slurm has not forgotten."""
        ...

    async def recorded(self, job: SlurmJob) -> JobRecord | None:
        """A job that Slurm has forgotten, from its accounting where there is one."""
        ...

    async def submit(self, submission: JobSubmission) -> int:
        """The number of the new job. Raises Rejected."""
        ...

    async def cancel(self, job: SlurmJob) -> None:
        """End a job; nothing happens to one that has ended or is not known."""
        ...

    async def close(self) -> None: ...


#: So many jobs, or arrays, are asked for one by one; more, and the list of all is less trouble for Slurm.
FEW_JOBS = 8


#: What a submission fails with when it is not Slurm that refused, but Slurm that could not be asked, or is too busy.
_PASSING = (
    "Unable to contact slurm controller",
    "Socket timed out",
    "Zero Bytes were transmitted",
    "temporarily unable to accept job",
    "Protocol authentication error",
    "standby mode",
    "Connection refused",
    "configuration source",
)


def is_passing(words: str) -> bool:
    """Whether asking again may help."""
    return any(sign in words for sign in _PASSING)
