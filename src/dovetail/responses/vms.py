"""Answers about virtual machines."""

from typing_extensions import TypedDict


class VmRow(TypedDict):
    """`workload` and `namespace` are null for a VM that others made. `power`: running, paused, off, panicked, or
    unknown while its host does not answer."""

    name: str
    node: str
    backend: str
    workload: str | None
    namespace: str | None
    task: str | None
    power: str
    cpus: int
    memory_bytes: int
    used_memory_bytes: int | None
    cpu_time_s: float | None


class VmChanged(TypedDict):
    """What was asked of a VM. `done`: what was done, in words."""

    task: str
    done: str


class VmSnapshotRow(TypedDict):
    """`current`: the VM was last reverted to it, or taken from it."""

    name: str
    made_at: float
    power: str
    current: bool


class VmMigration(TypedDict):
    """A live migration: `state` is running, done, failed or none. Rates are per second."""

    task: str
    state: str
    source: str | None
    target: str | None
    elapsed_s: float | None
    total_bytes: int | None
    sent_bytes: int | None
    remaining_bytes: int | None
    dirty_bytes_per_s: int | None
    downtime_s: float | None
    rounds: int | None
    message: str
