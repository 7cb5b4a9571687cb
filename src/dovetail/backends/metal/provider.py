"""The machines of the settings as a provider: to launch one is to power it on, to end one is to power it off.

Guarantees: all controllers are asked at once, each with its own deadline, and one that is slow or in trouble delays the
others by at most `PROMPT_S`. Its machine is `unknown` until it answers, and nothing that runs there is given up. If no
controller at all can be reached, that is not about the machines: the call raises, and the control plane waits.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

import structlog

from dovetail.asyncio_tasks import cancel
from dovetail.backends.machines.provider import Launch, LaunchRefused, Machine, MachineState, MachineType, RefusalKind
from dovetail.backends.metal.controller import (
    BmcTrouble,
    HardwareInventory,
    ManagementController,
    PowerState,
    TroubleKind,
)
from dovetail.backends.metal.journal import MetalJournal
from dovetail.backends.metal.off_time import OffTime, Saving, savings_of
from dovetail.backends.metal.settings import MetalMachine, MetalSettings
from dovetail.backends.metal.watch import MachineWatch
from dovetail.model.node import Node
from dovetail.model.offer import Offer
from dovetail.model.resources import Capacity

PROMPT_S = 1.0  # how long a look at all machines waits for a controller that was well the last time
FIRST_INVENTORIES_S = 3.0  # how long a start waits for capacities that only the controllers know
SAVED_EVERY_S = 60.0  # how often off times are written
RACK = "rack"

log = structlog.get_logger()


class MetalProvider:
    """Implements `dovetail.backends.machines.provider.MachineProvider`. `heard_at`: when the agent of a machine was
    last heard."""

    def __init__(
        self,
        name: str,
        settings: MetalSettings,
        controllers: Mapping[str, ManagementController],
        folder: Path,
        heard_at: Callable[[str], float | None] = lambda _: None,
    ) -> None:
        self._name, self._settings = name, settings
        self.watches = {
            one.name: MachineWatch(one, controllers[one.name], settings, heard_at) for one in settings.machines
        }
        self.inventories: dict[str, HardwareInventory] = {}
        self._journal = MetalJournal(folder)
        self._opened = False
        self._off_time = OffTime()
        self._since: str | None = None
        self._saved_at = 0.0
        self._reading: dict[str, asyncio.Task[None]] = {}
        self._types: dict[str, tuple[HardwareInventory | None, MachineType]] = {}

    # --- of a provider -----------------------------------------------------------------------------------------

    async def types(self) -> list[MachineType]:
        """Machines whose capacity is known; the others follow when their controllers have told it."""
        first = not self._opened
        await self._open()
        lacking = [one for one in self._settings.machines if one.capacity is None and one.name not in self.inventories]
        reads = [self._read_inventory(one.name) for one in lacking if self.watches[one.name].trouble is None]
        if reads and first:
            await asyncio.wait(reads, timeout=FIRST_INVENTORIES_S)
        return [kind for one in self._settings.machines if (kind := self._type(one)) is not None]

    async def machines(self, owner: str) -> list[Machine]:  # noqa: ARG002 - they are all ours
        await self._look()
        if words := self._away():
            raise ConnectionError(words)
        await self._count_off_time()
        return [_machine(watch) for watch in self.watches.values()]

    async def launch(self, launch: Launch) -> Machine:
        watch = self.watches.get(launch.node)
        if watch is None:
            raise LaunchRefused(RefusalKind.INVALID, f"{launch.node} is not a machine of {self._name} any more")
        try:
            await watch.power_on()
        except BmcTrouble as trouble:
            if trouble.kind is TroubleKind.UNREACHABLE:
                await asyncio.wait([one.look() for one in self.watches.values()])
                if words := self._away():
                    raise ConnectionError(words) from None
            raise LaunchRefused(RefusalKind.BROKEN, str(trouble)) from None
        return _machine(watch)

    async def end(self, machine: Machine) -> None:
        """Begins it: other machines do not wait for a slow one."""
        if machine.node in self.watches:
            self.watches[machine.node].begin_power_off()

    async def close(self) -> None:
        await cancel(*self._reading.values())
        if self._opened:
            await self._save_off_time()
            await self._journal.close()
        await asyncio.gather(*(watch.close() for watch in self.watches.values()))

    # --- for people --------------------------------------------------------------------------------------------

    async def inventory(self, name: str) -> HardwareInventory:
        """As the controller says it now. Raises BmcTrouble."""
        found = await self.watches[name].controller.inventory()
        if found != self.inventories.get(name):
            self.inventories[name] = found
            if self._opened:
                await self._journal.put_inventory(name, found)
        return found

    def savings(self) -> tuple[list[Saving], str | None]:
        """Of every machine, and the first day that counts."""
        return savings_of(self._settings.machines, self._off_time.total_s, self._settings.energy), self._since

    # --- looking -----------------------------------------------------------------------------------------------

    async def _look(self) -> None:
        """Waits for those that were well: one in trouble is asked too, and its answer counts when it comes."""
        looks = {watch.look(): watch for watch in self.watches.values()}
        waited_for = [look for look, watch in looks.items() if watch.trouble is None] or list(looks)
        ended, pending = await asyncio.wait(waited_for, timeout=PROMPT_S)
        while pending and all(looks[look].misses for look in ended):  # nobody is delayed by waiting for a first answer
            ended, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)

    def _away(self) -> str:
        """Why nothing can be said of any machine; empty if something can."""
        watches = list(self.watches.values())
        if not all(watch.misses for watch in watches):
            return ""
        return f"no controller answers, neither that of {watches[0].name} ({watches[0].machine.bmc.address}) nor others"

    async def _open(self) -> None:
        if self._opened:
            return
        await self._journal.open()
        self._opened = True
        self.inventories |= await self._journal.inventories()
        before, self._since = await self._journal.off_time()
        for machine, seconds in before.items():
            self._off_time.total_s[machine] = self._off_time.total_s.get(machine, 0.0) + seconds

    def _read_inventory(self, name: str) -> asyncio.Task[None]:
        task = self._reading.get(name)
        if task is None or task.done():
            task = self._reading[name] = asyncio.create_task(self._try_inventory(name), name=f"inventory of {name}")
        return task

    async def _try_inventory(self, name: str) -> None:
        try:
            await self.inventory(name)
        except BmcTrouble as trouble:
            log.warning("inventory not known yet", machine=name, error=str(trouble))

    def _type(self, machine: MetalMachine) -> MachineType | None:
        found = self.inventories.get(machine.name)
        known = self._types.get(machine.name)
        if known is None or known[0] != found:
            node = self._node(machine, found)
            if node is None:
                return None
            known = self._types[machine.name] = found, MachineType(node, limit=1, fixed=True)
        return known[1]

    def _node(self, machine: MetalMachine, found: HardwareInventory | None) -> Node | None:
        capacity = machine.capacity
        if capacity is None and found is not None and found.cores and found.memory_bytes:
            disk = sum(drive.capacity_bytes or 0 for drive in found.drives)
            capacity = Capacity(cpu=found.cores, memory=found.memory_bytes, disk=disk)
        if capacity is None:
            return None
        energy = self._settings.energy
        offer = Offer(
            price_per_hour=machine.price_per_hour,
            currency=energy.currency,
            running=False,
            start_up=machine.start_up,
            carbon_g_per_kwh=energy.carbon_g_per_kwh,
            watts=machine.watts,
        )
        return Node(
            name=machine.name,
            backend=self._name,
            address=machine.address,
            capacity=capacity,
            labels=machine.labels if machine.rack is None else {**machine.labels, RACK: machine.rack},
            taints=machine.taints,
            gpus=machine.gpus,
            offer=offer,
        )

    # --- off time ----------------------------------------------------------------------------------------------

    async def _count_off_time(self) -> None:
        now, day = time.monotonic(), datetime.now(UTC).date().isoformat()
        for watch in self.watches.values():
            off = watch.power is PowerState.OFF and watch.trouble is None
            self._off_time.saw(watch.name, now, day, off=off)
        if self._off_time.unsaved_s and self._since is None:
            self._since = day
        if self._opened and now - self._saved_at >= SAVED_EVERY_S:
            self._saved_at = now
            await self._save_off_time()

    async def _save_off_time(self) -> None:
        if self._off_time.unsaved_s:
            await self._journal.add(self._off_time.take_unsaved())


def _machine(watch: MachineWatch) -> Machine:
    def at(state: MachineState, reason: str = "") -> Machine:
        return Machine(watch.name, watch.name, "", state, watch.name, watch.machine.address, reason=reason)

    if watch.trouble is not None:
        return at(MachineState.UNKNOWN, str(watch.trouble))
    if watch.power is None:
        return at(MachineState.UNKNOWN, f"the controller {watch.machine.bmc.address} was not heard yet")
    if watch.wanted is PowerState.OFF and watch.power is PowerState.ON:
        return at(MachineState.ENDING)
    if watch.power is PowerState.OFF:
        return at(MachineState.ENDED, "it was powered off")
    return at(MachineState.RUNNING)
