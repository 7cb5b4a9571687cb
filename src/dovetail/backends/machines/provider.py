"""What a provider of machines is: a cloud, or a rack of machines that can be powered on and off.

A provider does not decide anything. Its calls are idempotent: launching again with the same token finds the machine of
the first call, ending one that has ended changes nothing. Any exception but `LaunchRefused` means "unknown", and the
call is repeated with the same token.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from dovetail.model.node import Node

#: The marks of a machine: tags or labels, by which it is found again after a crash.
OWNER_TAG = "dovetail-owner"
NODE_TAG = "dovetail-node"
LAUNCH_TAG = "dovetail-launch"


@dataclass(frozen=True, slots=True)
class MachineType:
    """Machines that are alike. `node`: one of them as a node; its name is the type's name, its offer says the price
    and `running: false`. `limit`: how many there may be at once. `fixed`: there is exactly one, it is always the same
    machine, and its node has the type's name. `quota`: types that share a quota name the same one, and each machine
    takes `quota_units` of it."""

    node: Node
    limit: int = 1000
    fixed: bool = False
    quota: str = ""
    quota_units: float = 1.0

    @property
    def name(self) -> str:
        return self.node.name


class MachineState(StrEnum):
    STARTING = "starting"
    RUNNING = "running"
    STOPPED = "stopped"  # it does not run any more, and still exists: its disk, or what a failed launch left
    ENDING = "ending"
    ENDED = "ended"
    UNKNOWN = "unknown"  # its controller does not say, or lies: `reason`; what runs there is left alone


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine with our marks. `id`: the provider's name for it. `token`: that of its launch. `ends_at`: its owner has
    announced that it takes it back then. `reason`: why it ends or has ended, in the provider's words."""

    id: str
    node: str
    token: str
    state: MachineState
    type: str = ""
    address: str | None = None
    launched_at: float | None = None
    ends_at: float | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Launch:
    """One machine to launch. `user_data`: the script that it runs at its first start. `console`: what it writes there
    will be read."""

    node: str
    type: MachineType
    token: str
    owner: str
    user_data: str
    console: bool = False

    def tags(self) -> dict[str, str]:
        return {OWNER_TAG: self.owner, NODE_TAG: self.node, LAUNCH_TAG: self.token}


class RefusalKind(StrEnum):
    STOCK_OUT = "stock-out"  # the provider has none left now
    QUOTA = "quota"  # the account may have no more
    PERMISSION = "permission"  # the account may not do that
    INVALID = "invalid"  # the provider does not know what was asked for
    BROKEN = "broken"  # this machine cannot be launched as things are


class LaunchRefused(Exception):
    """Nothing was launched, and nothing will be under this token. `types`: the names of those that would be refused
    too; empty: only the one that was asked for."""

    def __init__(self, kind: RefusalKind, words: str, types: Sequence[str] = ()) -> None:
        super().__init__(words)
        self.kind, self.types = kind, tuple(types)


class MachineProvider(Protocol):
    async def types(self) -> list[MachineType]:
        """All that may be launched, with current prices. Asked at the start and every hour."""

    async def machines(self, owner: str) -> list[Machine]:
        """Those with the owner's mark, all that have not ended; those that ended lately where the provider still knows
        them. A machine that was launched a moment ago may be missing."""

    async def launch(self, launch: Launch) -> Machine:
        """Raises LaunchRefused."""

    async def end(self, machine: Machine) -> None: ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class ConsoleText:
    """What the console of a machine showed last. `live`: it is as it is now, and not as it was at the last start or
    stop."""

    text: str
    live: bool = True


class ConsoleProvider(MachineProvider, Protocol):
    """A provider whose machines can run jobs by cloud-init alone. `user_data_bytes`: the most that user data may be."""

    @property
    def user_data_bytes(self) -> int: ...

    async def console(self, machine: Machine) -> ConsoleText:
        """Empty where there is nothing yet. A machine that has ended may have one still."""
