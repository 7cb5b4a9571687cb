"""The machines of a backend, from the first work that wants one to its end.

    could be launched ──want──► launching ──► up ──idle──► ending ──► gone

Guarantees: a machine is launched only for work that was bound to it, under a token that is on disk before the provider
is asked, so a crash never leaves a second one. One that has no work is ended after its idle time, one that nobody knows
of is reaped. What the provider refuses makes the type unavailable for a while, and the work goes elsewhere. Work on a
machine that is gone is reported as lost.
"""

import asyncio
import secrets
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

import structlog

from dovetail.asyncio_tasks import cancel
from dovetail.backends.contract import Assignment, NodeCredentials, Price, Report
from dovetail.backends.machines.join_scripts import JoinScripts
from dovetail.backends.machines.journal import MachinePhase, MachineRow
from dovetail.backends.machines.machine_table import MachineSlot, MachineTable
from dovetail.backends.machines.orphans import Orphans
from dovetail.backends.machines.provider import (
    Launch,
    LaunchRefused,
    Machine,
    MachineProvider,
    MachineState,
    MachineType,
    RefusalKind,
)
from dovetail.backends.machines.refused_types import RefusedTypes
from dovetail.backends.machines.reported_nodes import NodeDescriptions, ReportedNodes
from dovetail.backends.machines.settings import JoinSettings, MachineSettings
from dovetail.backends.machines.slots import SlotTable
from dovetail.model.backoff import Backoff
from dovetail.model.event import Event, NodeDrained, NodeLeft, TaskWaiting
from dovetail.model.failure_cause import FailureCause
from dovetail.model.node import Node

APPEARS_WITHIN_S = 120.0  # a provider may show a machine only some time after its launch
UNCLAIMED_S = 60.0  # after a start, work whose launch was under way is bound again within this time
FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 60.0
_ALIVE = (MachineState.STARTING, MachineState.RUNNING)

log = structlog.get_logger()


class Agents(Protocol):
    """What runs the work once there is a machine: the agents of the nodes, and the orders that wait for them."""

    def assigned(self, node: str) -> list[Assignment]: ...
    def is_busy(self, node: str) -> bool: ...
    def has_agent(self, node: str) -> bool: ...
    def forget(self, node: str) -> None: ...
    async def give_up(self, node: str, reason: str) -> None: ...
    async def refuse(self, node: str, reason: str, cause: FailureCause) -> None: ...


class Fleet:
    """`join` None: machines have their agents already, as metal does, and get no script; `boot_within_s`: how long
    these may take until they are heard."""

    #: A stopped one is an orphan as soon as its node has gone.
    _over: tuple[MachineState, ...] = (MachineState.STOPPED, MachineState.ENDED)

    def __init__(
        self,
        name: str,
        provider: MachineProvider,
        settings: MachineSettings,
        join: JoinSettings | None,
        folder: Path,
        agents: Agents,
        monotonic_s: Callable[[], float] = time.monotonic,
        boot_within_s: float | None = None,
    ) -> None:
        self.name, self.provider = name, provider
        self._joins_within_s = boot_within_s if join is None else join.within
        self._settings, self._agents, self._now = settings, agents, monotonic_s
        self._table = SlotTable(quotas=settings.quotas, most=settings.max_machines)
        self._machines = MachineTable(folder, self._table, monotonic_s)
        self._scripts = JoinScripts(join, monotonic_s)
        self._kinds: dict[str, MachineType] = {}  # of all nodes, as last announced
        self._refused_types = RefusedTypes()
        self._unknown: dict[str, str] = {}  # why nobody can say how the machine of a node is
        self._orphans = Orphans(settings.reap_after)
        self._nodes, self._descriptions = ReportedNodes(), NodeDescriptions(name)
        self._report: Report | None = None
        self._owner = ""
        self._refreshed_at = self._started_at = 0.0
        self._watching: asyncio.Task[None] | None = None

    def use_credentials(self, credentials: NodeCredentials) -> None:
        self._scripts.credentials = credentials

    async def start(self, report: Report) -> None:
        self._owner = await self._machines.open()
        types = await self._types()
        machines = await self.provider.machines(self._owner)
        self._report = report
        self._started_at = self._refreshed_at = self._now()
        self._table.types = {kind.name: kind for kind in types}
        await self._machines.restore()
        await self._take_seen(machines)
        await self._announce()
        if self._watching is None:
            self._watching = asyncio.create_task(self._watch(), name=f"{self.name}: machines")

    async def _types(self) -> list[MachineType]:
        return await self.provider.types()

    async def close(self) -> None:
        await cancel(self._watching, *(slot.launch for slot in self._machines.all()))
        self._watching = self._report = None
        await self._machines.close()
        await self.provider.close()

    # --- asking ------------------------------------------------------------------------------------------------

    @property
    def nodes(self) -> list[Node]:
        """As they were last reported."""
        return list(self._nodes.reported.values())

    def prices(self) -> dict[str, Price]:
        offers = {node.name: node.offer for node in self.nodes if node.offer is not None}
        return {name: Price(offer.price_per_hour, offer.currency) for name, offer in offers.items()}

    def __contains__(self, node: str) -> bool:
        """Whether its machine is wanted or exists."""
        return node in self._machines

    def types(self) -> list[tuple[MachineType, str]]:
        """All types, each with why it is not offered now; empty if it is."""
        return [(kind, self._refused_types.why(kind.name)) for kind in self._table.types.values()]

    async def machines(self) -> list[Machine]:
        """All with our mark, as the provider shows them now. Raises if it cannot be reached."""
        return await self.provider.machines(self._owner)

    def kind_of(self, node: str) -> MachineType | None:
        return self._kinds.get(node)

    def knows(self, machine: Machine) -> bool:
        """Whether it is one of ours, not one that nobody knows of."""
        return not self._machines.is_orphan(machine)

    async def reap(self, *, dry_run: bool) -> list[Machine]:
        """End, or only name, machines with our mark that nobody knows of."""
        found = [one for one in await self.machines() if self._machines.is_orphan(one)]
        if not dry_run:
            for one in found:
                await self.provider.end(one)
        return found

    def offers(self, node: str) -> bool:
        """Whether work may be bound to the node. Nodes that were offered together may not all be launched."""
        kind = self._kinds.get(node)
        if kind is None or self._is_ending(node, kind) or node in self._unknown:
            return False
        return node in self._machines or kind.fixed or not self._table.full

    def ends(self, node: str) -> bool:
        """Whether its machine is being ended: what is bound to it waits until it is launched again."""
        return self._machines.is_ending(node)

    def is_offline(self, node: str) -> bool:
        """Whether it takes no work, although an agent may be heard there."""
        return node in self._nodes.offline

    # --- launching ---------------------------------------------------------------------------------------------

    async def want(self, node: str) -> None:
        """Work is bound to the node: see to it that its machine runs."""
        slot = self._machines.get(node)
        if slot is not None and slot.row.phase is MachinePhase.LAUNCHING:
            self._launch(slot)
        if slot is not None:
            return
        kind = self._kinds[node]
        row = MachineRow(node, kind.name, secrets.token_hex(8), MachinePhase.LAUNCHING, None, time.time())
        self._launch(await self._machines.add(row))
        await self._announce()

    def _launch(self, slot: MachineSlot) -> None:
        if slot.launch is None:
            slot.launch = asyncio.create_task(self._launch_until_known(slot), name=f"launch {slot.row.node}")

    async def _launch_until_known(self, slot: MachineSlot) -> None:
        backoff = Backoff(FIRST_PAUSE_S, LONGEST_PAUSE_S)
        while self._is_launching(slot):
            try:
                machine = await self._launch_once(slot)
            except LaunchRefused as refusal:
                await self._refused(slot, refusal)
                return
            except Exception as error:  # unknown: the next try has the same token
                words = f"{type(error).__name__}: {error}"
                log.warning("launching failed; trying again", backend=self.name, node=slot.row.node, error=words)
                await self._say_waiting(slot.row.node, f"its machine could not be launched yet: {words}")
                await asyncio.sleep(backoff.next_s())
            else:
                await self._launched(slot, machine)
                return

    def _is_launching(self, slot: MachineSlot) -> bool:
        return slot.row.phase is MachinePhase.LAUNCHING and slot.row.node in self._machines

    async def _launch_once(self, slot: MachineSlot) -> Machine:
        kind = self._table.types.get(slot.row.type)
        if kind is None:
            raise LaunchRefused(RefusalKind.INVALID, f"{slot.row.type} is not offered any more")
        return await self.provider.launch(await self._launch_of(slot, kind))

    async def _launch_of(self, slot: MachineSlot, kind: MachineType) -> Launch:
        script = await self._scripts.of(slot.row.node)
        return Launch(slot.row.node, kind, slot.row.token, self._owner, script)

    async def _launched(self, slot: MachineSlot, machine: Machine) -> None:
        slot.machine = machine
        await self._machines.set_phase(slot, MachinePhase.UP, machine.id)
        log.info("machine launched", backend=self.name, node=slot.row.node, machine=machine.id)
        await self._say_waiting(slot.row.node, f"machine {machine.id} starts")
        await self._announce()

    async def _refused(self, slot: MachineSlot, refusal: LaunchRefused) -> None:
        node, words = slot.row.node, f"{refusal.kind}: {refusal}"
        log.warning("launch refused", backend=self.name, node=node, reason=words)
        self._refused_types.note([slot.row.type, *refusal.types], refusal.kind, words, self._now())
        await self._drop(slot)
        await self._announce()  # first: nothing else is placed there
        await self._agents.refuse(node, words, FailureCause.BACKEND)

    async def _say_waiting(self, node: str, why: str) -> None:
        for one in self._agents.assigned(node):
            await self._tell(TaskWaiting(one.task, one.key, why))

    # --- watching ----------------------------------------------------------------------------------------------

    async def _watch(self) -> None:
        """Until cancelled. Trouble with the provider is told by `nodes`, which the control plane asks."""
        while True:
            await asyncio.sleep(self._settings.poll)
            try:
                if self._now() - self._refreshed_at > self._settings.refresh:
                    self._table.types = {kind.name: kind for kind in await self._types()}
                    self._refreshed_at = self._now()
                await self._take_seen(await self.provider.machines(self._owner))
                await self._look_after_slots()
                await self._announce()
            except Exception as error:
                log.warning(
                    "looking after machines failed", backend=self.name, error=f"{type(error).__name__}: {error}"
                )

    async def _take_seen(self, machines: list[Machine]) -> None:
        """Compare the provider's machines with ours."""
        found = {one.node: one for one in machines if self._machines.is_ours(one)}
        self._unknown = {one.node: one.reason for one in machines if one.state is MachineState.UNKNOWN}
        for one in machines:
            kind = self._table.types.get(one.node)
            if kind is not None and kind.fixed and one.node not in self._machines and one.state in _ALIVE:
                # Somebody has powered it on: it is used, and powered off when it is idle.
                row = MachineRow(one.node, kind.name, one.token, MachinePhase.UP, one.id, time.time())
                await self._machines.add(row)
        for slot in self._machines.all():
            seen = found.get(slot.row.node)
            if seen is not None and seen.state is MachineState.UNKNOWN:
                await self._in_doubt(slot, seen)
            elif seen is None or seen.state in self._over:
                await self._missing(slot, seen)
            else:
                await self._seen(slot, seen)
        for one in self._orphans.overdue([one for one in machines if self._machines.is_orphan(one)], self._now()):
            log.warning("ending a machine that nobody knows of", backend=self.name, machine=one.id, node=one.node)
            await self.provider.end(one)

    async def _seen(self, slot: MachineSlot, machine: Machine) -> None:
        slot.machine, slot.seen = machine, True
        if slot.row.phase is MachinePhase.LAUNCHING and slot.launch is None:
            await self._machines.set_phase(slot, MachinePhase.UP, machine.id)  # it was launched before a crash
        if slot.row.phase is MachinePhase.ENDING and machine.state is not MachineState.ENDING:
            await self.provider.end(machine)
        if machine.ends_at is not None and not slot.draining:
            slot.draining = True
            await self._tell(NodeDrained(slot.row.node, machine.reason or "its owner takes the machine back"))

    async def _in_doubt(self, slot: MachineSlot, machine: Machine) -> None:
        """What runs there may run on. What waits for the end of the machine, to be launched again, goes elsewhere."""
        if slot.row.phase is MachinePhase.ENDING:
            await self._agents.refuse(slot.row.node, machine.reason, FailureCause.BACKEND)
            await self.provider.end(machine)

    async def _missing(self, slot: MachineSlot, ended: Machine | None) -> None:
        phase, age_s = slot.row.phase, self._now() - slot.since
        if phase is MachinePhase.LAUNCHING:
            unclaimed = slot.launch is None and not self._agents.assigned(slot.row.node)
            if unclaimed and self._now() - self._started_at > UNCLAIMED_S:
                await self._gone(slot, "nobody wants it any more")
        elif ended is not None or slot.seen or phase is MachinePhase.ENDING or age_s > APPEARS_WITHIN_S:
            why = f": {ended.reason}" if ended is not None and ended.reason else ""
            await self._gone(slot, f"machine {slot.row.machine} has ended{why}")

    async def _look_after_slots(self) -> None:
        for slot in self._machines.all():
            if slot.row.phase is not MachinePhase.UP:
                continue
            node, now = slot.row.node, self._now()
            slot.joined = slot.joined or self._agents.has_agent(node)
            slot.idle_since = None if self._agents.is_busy(node) else slot.idle_since or now
            within_s = self._joins_within_s
            if within_s is not None and not slot.joined and now - slot.since > within_s:
                words = f"machine {slot.row.machine} runs, but its agent did not join within {within_s:g} s"
                self._refused_types.note([slot.row.type], RefusalKind.STOCK_OUT, words, now)
                await self._end(slot, f"{words}; look at its console")
            elif node in self._unknown:
                slot.idle_since = None
            elif slot.idle_since is not None and now - slot.idle_since >= self._settings.idle:
                await self._end(slot, "it was idle")

    # --- ending ------------------------------------------------------------------------------------------------

    async def _end(self, slot: MachineSlot, reason: str) -> None:
        """First nothing new comes, then the machine goes."""
        await self._mark_ending(slot, reason)
        await self._agents.give_up(slot.row.node, reason)
        if slot.machine is not None:
            await self.provider.end(slot.machine)  # if this fails, the next look repeats it

    async def _mark_ending(self, slot: MachineSlot, reason: str) -> None:
        await self._machines.set_phase(slot, MachinePhase.ENDING, slot.row.machine)
        log.info("ending a machine", backend=self.name, node=slot.row.node, machine=slot.row.machine, reason=reason)
        await self._announce()

    async def _gone(self, slot: MachineSlot, reason: str) -> None:
        node, kind = slot.row.node, self._table.types.get(slot.row.type)
        await self._drop(slot)
        await self._announce()
        if slot.row.phase is MachinePhase.ENDING and kind is not None and kind.fixed and self._agents.assigned(node):
            await self.want(node)  # work came while it was powered off
        else:
            await self._agents.give_up(node, reason)

    async def _drop(self, slot: MachineSlot) -> None:
        node = slot.row.node
        await self._machines.remove(node)
        self._agents.forget(node)
        if slot.draining and self._nodes.forget(node):  # the cordon goes with the machine, not with the name
            await self._tell(NodeLeft(node, "its machine was taken back"))
        if slot.launch is not None and slot.launch is not asyncio.current_task():
            slot.launch.cancel()
        await self._scripts.forget(node)

    # --- nodes -------------------------------------------------------------------------------------------------

    async def _announce(self) -> None:
        """Report what has changed: nodes that came, changed, went, or are not to be used for a while."""
        self._refused_types.forget_old(self._now())
        self._kinds = kinds = self._table.nodes()
        there = {name: self._node(name, kind) for name, kind in kinds.items() if not self._is_ending(name, kind)}
        # A type that was refused offers nothing for a while; machines of it that run are used.
        avoided = {
            name: why
            for name, kind in kinds.items()
            if (why := self._refused_types.why(kind.name)) and name not in self._machines
        }
        avoided.update({name: why for name, why in self._unusable().items() if name in there})
        for event in self._nodes.changes(there, avoided):
            await self._tell(event)

    def _unusable(self) -> Mapping[str, str]:
        """Nodes that exist and take no work now, and why."""
        return self._unknown

    async def _tell(self, event: Event) -> None:
        assert self._report is not None
        await self._report(event)

    def _is_ending(self, name: str, kind: MachineType) -> bool:
        return self._machines.is_ending(name) and not kind.fixed

    def _node(self, name: str, kind: MachineType) -> Node:
        slot = self._machines.get(name)
        running = slot is not None and slot.row.phase is not MachinePhase.ENDING
        address = None if slot is None or slot.machine is None else slot.machine.address
        return self._descriptions.of(name, kind, running, address)
