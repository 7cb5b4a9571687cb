"""What the backend asks of Slurm. Two modules answer: `rest` and `cli`."""

from collections.abc import Collection, Sequence
from typing import Protocol

from dovetail.backends.slurm.records import JobRecord, NodeRecord, PartitionRecord, ReservationRecord, Submission


class SlurmFault(Exception):
    """Slurm did not answer, or not as expected: what was asked may or may not have happened."""


class Rejected(Exception):
    """Slurm has looked at a submission and will not have it: there is no job."""


class Driver(Protocol):
    """Every method raises SlurmFault where Slurm cannot be asked."""

    async def nodes(self) -> list[NodeRecord]: ...

    async def partitions(self) -> list[PartitionRecord]: ...

    async def reservations(self) -> list[ReservationRecord]: ...

    async def topology(self) -> str:
        """What `scontrol show topology` prints; empty where that cannot be asked."""
        ...

    async def jobs(self) -> list[JobRecord]:
        """All that Slurm has not forgotten: ended ones stay for a while (MinJobAge)."""
        ...

    async def find(self, ids: Collection[int]) -> dict[int, JobRecord]:
        """Those of these jobs that Slurm has not forgotten."""
        ...

    async def recorded(self, job: int) -> JobRecord | None:
        """A job that Slurm has forgotten, from its accounting where there is one."""
        ...

    async def submit(self, submission: Submission) -> int:
        """The number of the new job. Raises Rejected."""
        ...

    async def cancel(self, job: int) -> None:
        """End a job; nothing happens to one that has ended or is not known."""
        ...

    async def close(self) -> None: ...


#: So many jobs are asked for one by one; more of them, and the list of all is less trouble for Slurm.
FEW_JOBS = 8


def only(records: Sequence[JobRecord], ids: Collection[int]) -> dict[int, JobRecord]:
    wanted = set(ids)
    return {record.id: record for record in records if record.id in wanted}


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
