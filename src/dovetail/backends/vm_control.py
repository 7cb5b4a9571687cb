"""What users do to VMs beside their workloads, for backends that run VMs: power, snapshots, adoption, and how a live
migration goes. The migration itself is a move of an attempt, as of any other (`MigratingBackend` of the contract).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, runtime_checkable


class MachinePower(StrEnum):
    """What can be done to the power of a VM. `OFF` asks the guest to shut down, `CUT` does not ask."""

    ON = "on"
    OFF = "off"
    CUT = "cut"
    REBOOT = "reboot"
    RESET = "reset"


@dataclass(frozen=True, slots=True)
class MachineSeen:
    """A VM as its host sees it. `key`: of the attempt that it is; None if others made it. `power`: `running`, `paused`,
    `off` or `panicked`."""

    node: str
    name: str
    key: str | None
    power: str
    cpus: int
    memory_bytes: int
    used_memory_bytes: int | None = None
    cpu_time_s: float | None = None


@dataclass(frozen=True, slots=True)
class MigrationProgress:
    """A live migration that is under way, or the last one that ended. Rates are per second; None: not known yet."""

    source: str
    target: str
    state: str  # "running", "done" or "failed"
    elapsed_s: float
    total_bytes: int = 0
    sent_bytes: int = 0
    remaining_bytes: int = 0
    dirty_bytes_per_s: int | None = None
    downtime_s: float | None = None
    rounds: int = 0
    words: str = ""


@dataclass(frozen=True, slots=True)
class MachineSnapshot:
    name: str
    made_at: float
    power: str
    current: bool


@runtime_checkable
class MachineControl(Protocol):
    """The additional interface of a backend with `capabilities.machines`. Raises KeyError for a key that has no VM now,
    Refusal for what its host will not do."""

    async def machines(self, nodes: Sequence[str]) -> list[MachineSeen]:
        """All VMs on these nodes, whoever made them. Nodes that do not answer are left out."""

    async def set_power(self, key: str, power: MachinePower) -> None:
        """Its attempt goes on, also while the VM is off."""

    async def migration(self, key: str) -> MigrationProgress | None:
        """None: it was not migrated since the control plane started."""

    async def snapshots(self, key: str) -> list[MachineSnapshot]:
        """Oldest first."""

    async def take_snapshot(self, key: str, name: str) -> None:
        """Of its disks and its memory. Taking one that is there changes nothing."""

    async def revert_to_snapshot(self, key: str, name: str) -> None:
        """The VM continues from there."""

    async def remove_snapshot(self, key: str, name: str) -> None:
        """Removing one that is not there changes nothing."""

    async def offer_for_adoption(self, node: str, name: str) -> MachineSeen:
        """A VM of others that a workload with `vm.adopt` will take over: until then, or for a minute, it does not count
        as used capacity of its node. Raises Refusal if it is not there, does not run, or is ours."""
