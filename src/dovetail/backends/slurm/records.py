"""Slurm's nodes, partitions, reservations and jobs, as both drivers return them."""

from dataclasses import asdict, dataclass, field
from typing import NamedTuple


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

    def fields(self) -> dict[str, str | int]:
        """The options that are set. Script and environment are submitted apart from them."""
        return {
            name: value
            for name, value in asdict(self).items()
            if value is not None and name not in ("script", "environment")
        }
