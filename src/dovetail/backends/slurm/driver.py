"""The interface to Slurm, which `rest` and `cli` implement, and the records that it returns."""

from collections.abc import Collection
from dataclasses import asdict, dataclass, field
from typing import NamedTuple, Protocol


@dataclass(frozen=True, slots=True)
class SlurmNode:
    """`state` is the base state (IDLE, MIXED, DOWN …), `flags` are additions to it (DRAIN, NOT_RESPONDING …).

    Allocated amounts include all jobs, not only ours.
    """

    name: str
    state: str
    flags: frozenset[str] = frozenset()
    reason: str = ""
    cpus: int = 0
    memory_mib: int = 0
    disk_mib: int = 0
    allocated_cpus: int = 0
    allocated_memory_mib: int = 0
    gres: str = ""
    gres_used: str = ""
    features: tuple[str, ...] = ()
    partitions: tuple[str, ...] = ()
    arch: str = ""
    load: float | None = None
    free_memory_mib: int | None = None


@dataclass(frozen=True, slots=True)
class PartitionRecord:
    """`nodes` is a hostlist. `max_minutes` None: no limit."""

    name: str
    nodes: str = ""
    up: bool = True
    default: bool = False
    max_minutes: int | None = None


@dataclass(frozen=True, slots=True)
class SlurmReservation:
    """Nodes (a hostlist) that are reserved in Slurm for a time, in seconds since the epoch."""

    name: str
    nodes: str
    start_s: float
    end_s: float


class SlurmJob(NamedTuple):
    """Identifies a job: its id, and in an array the index of the element."""

    id: int
    element: int | None = None

    def __str__(self) -> str:
        return str(self.id) if self.element is None else f"{self.id}_{self.element}"


@dataclass(frozen=True, slots=True)
class JobRecord:
    """`exit_code` and `signal` are those of its script; `restarts` counts how often Slurm has restarted it. `array` is
    the id of its array, 0 for none, and `elements` the elements that it stands for: one, or all pending ones
    (`3-7,9`). Only the accounting has the start and end times, in seconds since the epoch."""

    id: int
    name: str
    state: str
    reason: str = ""
    exit_code: int = 0
    signal: int = 0
    restarts: int = 0
    nodes: str = ""
    array: int = 0
    elements: str = ""
    started_s: float = 0.0
    ended_s: float = 0.0


@dataclass(frozen=True, slots=True)
class JobSubmission:
    """A job to submit. `node` None: Slurm chooses. `time_limit_minutes` None: the partition's limit. `array`: the
    elements, if it is an array."""

    name: str
    script: str
    comment: str
    output: str
    workdir: str
    cpus: int
    memory_mib: int
    node: str | None = None
    partition: str | None = None
    gres: str | None = None
    time_limit_minutes: int | None = None
    account: str | None = None
    qos: str | None = None
    reservation: str | None = None
    dependency: str | None = None
    array: str | None = None
    environment: dict[str, str] = field(default_factory=dict)

    def options(self) -> dict[str, str | int]:
        """The options that are set. Script and environment are submitted apart from them."""
        return {
            name: value
            for name, value in asdict(self).items()
            if value is not None and name not in ("script", "environment")
        }


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
