"""The interface to a batch system, as far as jobs are concerned."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from dovetail.backends.batch.record import BatchRecord, JobId


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSubmission:
    """A job to submit. `array`: the elements, if it is an array."""

    name: str
    script: str
    array: str | None = None
    environment: dict[str, str] = field(default_factory=dict)


class BatchFault(Exception):
    """The system did not answer, or not as expected: the call may or may not have had an effect."""


class Rejected(Exception):
    """The system has rejected a submission: there is no job."""


class JobDriver(Protocol):
    """Every method raises BatchFault if the system cannot be asked."""

    async def jobs(self) -> Sequence[BatchRecord]:
        """All jobs that the system still has: ended ones may stay for a while."""

    async def find(self, jobs: Collection[JobId]) -> Mapping[JobId, BatchRecord]:
        """The records of those of these jobs that the system still has."""

    async def recorded(self, job: JobId) -> BatchRecord | None:
        """The record of a job that the system has forgotten, from its accounting if there is one."""

    async def cancel(self, job: JobId) -> None:
        """End a job. Nothing happens to a job that has ended or is unknown."""

    async def close(self) -> None: ...
