"""A provider whose machines exist in memory, with the faults that a cloud has: for tests of the fleet itself."""

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

from dovetail.backends.machines.provider import Launch, LaunchRefused, Machine, MachineState, MachineType
from dovetail.model.node import Node
from dovetail.model.offer import Offer
from dovetail.model.resources import Capacity


def machine_type(
    name: str, price: float = 1.0, *, fixed: bool = False, limit: int = 100, **more: object
) -> MachineType:
    node = Node(
        name=name,
        backend="cloud",
        capacity=Capacity(cpu=4, memory=2**33),
        offer=Offer(price_per_hour=price, running=False, start_up=60),
    )
    return MachineType(node, limit=limit, fixed=fixed, **more)  # type: ignore[arg-type]


@dataclass
class MemoryProvider:
    """`refuses`: what it says to the next launches of a type. `breaks`: how many answers of launches get lost."""

    offered: Sequence[MachineType]
    there: dict[str, Machine] = field(default_factory=dict)
    owners: dict[str, str] = field(default_factory=dict)
    refuses: dict[str, LaunchRefused] = field(default_factory=dict)
    breaks: int = 0
    away: bool = False
    launched: int = 0
    looks: int = 0
    scripts: list[str] = field(default_factory=list)

    async def types(self) -> list[MachineType]:
        return list(self.offered)

    async def machines(self, owner: str) -> list[Machine]:
        self._reach()
        self.looks += 1
        return [one for name, one in self.there.items() if self.owners[name] == owner]

    async def launch(self, launch: Launch) -> Machine:
        self._reach()
        if launch.type.name in self.refuses:
            raise self.refuses[launch.type.name]
        known = next((one for one in self.there.values() if one.token == launch.token), None)
        if known is None:
            self.launched += 1
            self.scripts.append(launch.user_data)
            name = f"m-{self.launched}"
            known = Machine(name, launch.node, launch.token, MachineState.RUNNING, launch.type.name, None, time.time())
            self.there[name], self.owners[name] = known, launch.owner
        if self.breaks:
            self.breaks -= 1
            raise ConnectionError("the answer was lost")
        return known

    async def end(self, machine: Machine) -> None:
        self._reach()
        if machine.id in self.there:
            self.there[machine.id] = replace(self.there[machine.id], state=MachineState.ENDED)

    async def close(self) -> None:
        pass

    def _reach(self) -> None:
        if self.away:
            raise ConnectionError("the provider cannot be reached")

    @asynccontextmanager
    async def unreachable(self) -> AsyncIterator[None]:
        self.away = True
        yield
        self.away = False

    async def running(self) -> dict[str, str]:
        return {name: one.node for name, one in self.there.items() if one.state is MachineState.RUNNING}
