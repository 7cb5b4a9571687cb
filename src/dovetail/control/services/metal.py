"""Bare metal for the API: list machines, ask their controllers, change their power, and what being off has saved.

Guarantees: the power of a machine with work is changed only with `force`. What a controller cannot answer is
Unavailable, with its words. Left to others: when machines are powered on for work and off when idle (`backends.metal`).
"""

import asyncio
from collections.abc import Awaitable, Iterator, Mapping
from typing import TYPE_CHECKING, TypeVar, cast

from dovetail.control.backends.member import Member
from dovetail.control.errors import Conflict, NotFound, Unavailable
from dovetail.engine.questions.node_questions import NodeQuestions
from dovetail.model.text.listing import count
from dovetail.model.text.strict import closest

if TYPE_CHECKING:  # a server without metal does not load it
    from dovetail.backends.metal.backend import MetalBackend
    from dovetail.backends.metal.controller import BootDevice, HardwareInventory, PowerAction, SensorReading

KIND = "metal"
CHANGE_S = 20.0  # how long a change of power is waited for; it goes on after that
T = TypeVar("T")


class MetalService:
    def __init__(self, members: Mapping[str, Member], nodes: NodeQuestions) -> None:
        self._members, self._nodes = members, nodes
        self._changes: set[asyncio.Task[None]] = set()

    def backends(self) -> Iterator["MetalBackend"]:
        for member in self._members.values():
            if member.kind == KIND and member.executor is not None:
                yield cast("MetalBackend", member.executor.backend)

    def backend_of(self, machine: str) -> "MetalBackend":
        """Raises NotFound."""
        known = {name: backend for backend in self.backends() for name in backend.provider.watches}
        if machine not in known:
            near = closest(machine, known)
            raise NotFound(f"no machine {machine[:100]!r}.{near} dovetail metal list shows them")
        return known[machine]

    def tasks(self, machine: str) -> int:
        """How many tasks hold it."""
        return self._nodes.task_count([machine]) if machine in self._nodes else 0

    async def inventory(self, machine: str) -> "HardwareInventory | None":
        """As the controller says it now; as it was last known if it cannot be asked."""
        backend = self.backend_of(machine)
        try:
            return await _asked(backend.inventory(machine))
        except Unavailable:
            return backend.known_inventory(machine)

    async def boot_device(self, machine: str) -> "BootDevice | None":
        try:
            return await _asked(self.backend_of(machine).boot_device(machine))
        except Unavailable:
            return None

    async def set_boot_device(self, machine: str, device: "BootDevice", *, once: bool) -> None:
        await _asked(self.backend_of(machine).set_boot_device(machine, device, once=once))

    async def sensors(self, machine: str) -> "list[SensorReading]":
        return await _asked(self.backend_of(machine).sensors(machine))

    async def change_power(self, machine: str, action: "PowerAction", *, force: bool) -> None:
        """Returns when it is done, or goes on by itself after a while."""
        backend, tasks = self.backend_of(machine), self.tasks(machine)
        if tasks and not force and action != "on":
            words = "drain it and wait, or use --force: what runs there is lost and placed again"
            raise Conflict(f"{machine} runs {count(tasks, 'task')}; {words}")
        change = asyncio.create_task(backend.change_power(machine, action), name=f"power {action} {machine}")
        self._changes.add(change)
        change.add_done_callback(self._ended)
        done, _ = await asyncio.wait([change], timeout=CHANGE_S)
        if done:
            await _asked(change)

    def _ended(self, change: asyncio.Task[None]) -> None:
        self._changes.discard(change)
        if not change.cancelled():
            change.exception()  # its machine tells of it


async def _asked(call: Awaitable[T]) -> T:
    from dovetail.backends.metal.controller import BmcTrouble

    try:
        return await call
    except BmcTrouble as trouble:
        raise Unavailable(str(trouble)) from None
