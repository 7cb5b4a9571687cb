"""Live migration of a VM between two hypervisors without a common journal: each has an agent, and a server asks both.

The server asks the source whether the VM may leave and the target for its address, tells the target to expect it and
the source to send it, and asks both where it is (`whereabouts`) until that is certain. Then it tells both (`settle`).
Each side writes down what it was told before it acts, and names its open moves with every report until they are
settled: whoever is killed meanwhile, the question is asked again. Until a target is told that the VM is its own, it
neither reports nor touches it; until a source is told what became of it, it says nothing of an attempt that has gone.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, runtime_checkable

from dovetail.backends.vm_control import MigrationProgress


@dataclass(frozen=True, slots=True)
class PeerMove:
    """One try to migrate one attempt. `number` tells it from others of the same attempt."""

    key: str
    source: str
    target: str
    number: str


@dataclass(frozen=True, slots=True)
class LeavingMachine:
    """What a target must have for a VM: the `cluster` that marks it as ours, and shared storage if it has `disks`."""

    cluster: str
    disks: bool


@dataclass(frozen=True, slots=True)
class PeerAddress:
    """How a hypervisor takes in VMs. `address`: for their memory; None: as libvirt chooses. `cpus`: of each NUMA cell,
    by its number, as libvirt writes them."""

    uri: str
    address: str | None
    cpus: dict[str, str]


@dataclass(frozen=True, slots=True)
class MachinePresence:
    """A VM as one side sees it. `power` None: it is not there. `moving`: its hypervisor is sending it. `move`: the one
    that is not settled."""

    power: str | None = None
    moving: bool = False
    move: PeerMove | None = None
    progress: MigrationProgress | None = None


@runtime_checkable
class PeerMigration(Protocol):
    """What an agent with a hypervisor does for a migration. Every call may be repeated. Raises Refusal, and
    TimeoutError while the hypervisor does not answer."""

    async def leaving(self, key: str) -> LeavingMachine:
        """Raises Refusal if it cannot be migrated away from here."""

    async def peer(self, node: str, vm: LeavingMachine) -> PeerAddress:
        """Raises Refusal if this node cannot take it in."""

    async def expect(self, move: PeerMove) -> None:
        """It will come: leave it alone until the server says whose it is."""

    async def send(self, move: PeerMove, to: PeerAddress) -> None:
        """Returns when it has begun."""

    async def presence(self, key: str) -> MachinePresence: ...

    async def settle(self, key: str, number: str, node: str) -> None:
        """The move is over, and the VM is on this node. A move that never began here does not begin any more."""

    async def open_moves(self) -> list[PeerMove]:
        """Those that are not settled."""


class Whereabouts(StrEnum):
    SOURCE = "source"
    TARGET = "target"
    UNCERTAIN = "uncertain"  # ask again


def whereabouts(
    source: MachinePresence | None, target: MachinePresence | None, *, surely_sent: bool, looks: int
) -> Whereabouts:
    """Where the VM of a move is. None: that side did not answer. `surely_sent`: the source was told to send it, so the
    word of the target is enough. `looks`: how often this was asked.

    A target lets a VM run only when all of it has arrived; from then on the source never runs it again. Before that it
    is paused there, and vanishes if the migration fails. A paused VM stays paused when it arrives.
    """
    if source is not None and source.moving:
        return Whereabouts.UNCERTAIN
    if source is not None and source.power == "running":
        return Whereabouts.SOURCE
    if target is not None and target.power in ("running", "panicked") and (source is not None or surely_sent):
        return Whereabouts.TARGET
    if source is None or target is None:
        return Whereabouts.UNCERTAIN
    if source.power in ("paused", "panicked") or target.power in (None, "off"):
        return Whereabouts.SOURCE
    return Whereabouts.TARGET if looks > SURE_AFTER_LOOKS else Whereabouts.UNCERTAIN


#: A VM that is off at its source and paused at its target: it arrived so, or its migration has failed just now.
SURE_AFTER_LOOKS = 5
