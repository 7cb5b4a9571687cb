"""The interface to Slurm, which `rest` and `cli` implement, and the records that it returns."""

from dataclasses import asdict, dataclass
from typing import Protocol

from dovetail.backends.batch.driver import BatchFault, BatchSubmission, JobDriver


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


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSubmission(BatchSubmission):
    """`node` None: Slurm chooses. `time_limit_minutes` None: the partition's limit."""

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

    def options(self) -> dict[str, str | int]:
        """The options that are set. Script and environment are submitted apart from them."""
        return {
            name: value
            for name, value in asdict(self).items()
            if value is not None and name not in ("script", "environment")
        }


class SlurmFault(BatchFault):
    """Slurm did not answer, or not as expected."""


class Driver(JobDriver, Protocol):
    """Every method raises SlurmFault if Slurm cannot be asked. Ended jobs stay for a while (MinJobAge)."""

    async def nodes(self) -> list[SlurmNode]: ...

    async def partitions(self) -> list[PartitionRecord]: ...

    async def reservations(self) -> list[SlurmReservation]: ...

    async def topology(self) -> str:
        """The output of `scontrol show topology`; empty if it is not available."""

    async def submit(self, submission: JobSubmission) -> int:
        """The id of the new job. Raises Rejected."""


#: Up to this many jobs or arrays are asked for one by one; for more, listing all jobs is cheaper for Slurm.
FEW_JOBS = 8
