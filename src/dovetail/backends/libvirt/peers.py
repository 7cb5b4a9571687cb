"""Live migration to and from hypervisors of other agents (`dovetail.backends.peer_migration`): one side of it is here.

What a server tells is written down first. The domain of an attempt that comes is left alone until the server orders it
from this node; an attempt that has gone is not reported. Both are open moves until the server settles them.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable
from typing import TypeVar

import libvirt

from dovetail.asyncio_tasks import cancel
from dovetail.backends.attempt_journal import Journal, Record
from dovetail.backends.contract import Refusal, Report
from dovetail.backends.hosts.host_pool import HostPool
from dovetail.backends.libvirt.connection import HypervisorUnreachable
from dovetail.backends.libvirt.departures import Departures, address_of, can_move
from dovetail.backends.libvirt.hypervisor import Hypervisor
from dovetail.backends.libvirt.power import Power
from dovetail.backends.libvirt.settings import LibvirtSettings, refuse_unsafe_peer
from dovetail.backends.peer_migration import LeavingMachine, MachinePresence, PeerAddress, PeerMove
from dovetail.model.command import task_of_key
from dovetail.model.event import TaskMoved

SETTLED_KEPT = 1000
T = TypeVar("T")


class PeerMigrations:
    """Implements `dovetail.backends.peer_migration.PeerMigration`."""

    def __init__(
        self,
        settings: LibvirtSettings,
        journal: Journal,
        departures: Departures,
        hypervisors: HostPool[Hypervisor],
        cluster: str,
        report: Report,
    ) -> None:
        self._settings, self._journal, self._departures = settings, journal, departures
        self._hypervisors, self._cluster, self._report = hypervisors, cluster, report
        self._sending: dict[str, asyncio.Task[None]] = {}
        self._settled: OrderedDict[str, None] = OrderedDict()  # moves that must not begin any more, by number

    async def close(self) -> None:
        """libvirt goes on with what it sends."""
        await cancel(*self._sending.values())

    async def open_moves(self) -> list[PeerMove]:
        return await self._journal.peer_moves()

    # --- the source ------------------------------------------------------------------------------------------

    async def leaving(self, key: str) -> LeavingMachine:
        record = can_move(await self._journal.get(key))
        source = self._host(record.node)
        if key in source.domains.adopted:
            raise Refusal("it was adopted, and runs on with what is on its hypervisor only")
        return LeavingMachine(self._cluster, await self._departures.has_disks(key, source))

    async def send(self, move: PeerMove, to: PeerAddress) -> None:
        key = move.key
        refuse_unsafe_peer(to.uri)
        await self.leaving(key)
        source = self._host(move.source)
        known = await self._journal.peer_move(key)
        if known is not None and known.number == move.number:
            return
        if known is not None or move.number in self._settled:
            raise Refusal("another migration of it is not over yet; try again")
        await self._journal.begin_peer_move(move, comes=False)
        source.attempts.moving.add(key)
        self._departures.begin(key, move.source, move.target)
        self._sending[key] = asyncio.create_task(self._send(move, source, to), name=f"libvirt: sending {key}")

    async def _send(self, move: PeerMove, source: Hypervisor, to: PeerAddress) -> None:
        key = move.key
        try:
            definition = await self._departures.send(key, source, to)
            await self._departures.remove_variables(source, definition)
            self._departures.end(key, "sent")
        except (libvirt.libvirtError, HypervisorUnreachable, Refusal) as error:
            self._departures.end(key, "failed", str(error))
        finally:
            source.attempts.moving.discard(key)
            self._sending.pop(key, None)
            source.attempts.wake(key)

    async def abort(self, key: str, source: Hypervisor) -> None:
        await self._departures.abort(key, source)

    # --- the target ------------------------------------------------------------------------------------------

    async def peer(self, node: str, vm: LeavingMachine) -> PeerAddress:
        target = self._host(node)
        if vm.cluster != self._cluster:
            words = f"its agent marks VMs with cluster {self._cluster!r}, that of the source with {vm.cluster!r}"
            raise Refusal(f"{node} cannot take it in: {words}; give both agents the same libvirt.cluster")
        if vm.disks and not self._settings.shared_storage:
            words = "it has disks, and the agent there does not say that their storage is shared"
            raise Refusal(f"{node} cannot take it in: {words}; set libvirt.shared_storage if it is")
        found = address_of(target)
        refuse_unsafe_peer(found.uri)
        return found

    async def expect(self, move: PeerMove) -> None:
        key = move.key
        target = self._host(move.target)
        record, known = await self._journal.get(key), await self._journal.peer_move(key)
        if known is not None and known.number == move.number:
            return
        if move.number in self._settled:
            raise Refusal("this migration of it is over")
        if record is not None and (record.node in self._hypervisors or known is not None):
            raise Refusal(f"{move.target} knows it already, from before; try again when that is settled")
        await self._asked(target.attempts.seen(key))
        await self._remove_left(target, key)
        await self._journal.begin_peer_move(move, comes=True)

    async def take(self, key: str, node: str) -> Record | None:
        """The server orders it from this node. One that came by migration is ours from now on."""
        record = await self._journal.get(key)
        if record is None or record.node == node or node not in self._hypervisors:
            return record
        if await self._journal.target(key) != node or record.node in self._hypervisors:
            return record
        return await self._journal.end_move(key, node)

    # --- both ------------------------------------------------------------------------------------------------

    async def presence(self, key: str) -> MachinePresence:
        move, progress = await self._journal.peer_move(key), self._departures.progress(key)
        record = await self._journal.get(key)
        node = None if record is None else record.node
        here = self._hypervisors.get(move.target if move is not None and move.target in self._hypervisors else node)
        if here is None:
            return MachinePresence(None, False, move, progress)
        if key in self._sending:
            return MachinePresence(Power.RUNNING.value, True, move, progress)
        if move is not None and progress is None:  # begun before a restart, or by the other side
            self._departures.begin(key, move.source, move.target)
        seen = await self._asked(here.attempts.seen(key))
        moving = seen is not None and seen.power is not Power.OFF and await self._departures.is_under_way(key, here)
        if move is not None and move.target in self._hypervisors:
            await self._departures.note_totals(key, here)
        power = None if seen is None else seen.power.value
        return MachinePresence(power, moving, move, self._departures.progress(key))

    async def settle(self, key: str, number: str, node: str) -> None:
        move = await self._journal.peer_move(key)
        if move is None or move.number != number:
            self._settled[number] = None
            if len(self._settled) > SETTLED_KEPT:
                self._settled.popitem(last=False)
            return
        if key in self._sending:
            raise Refusal("it is being migrated now")
        source, target = self._hypervisors.get(move.source), self._hypervisors.get(move.target)
        if source is not None and node == move.source:
            await self._journal.settle_here(key, node)
            source.attempts.wake(key)
        elif source is not None:
            await self._hand_over(move, source, node)
        elif target is not None:
            await self._settle_target(move, target, node)
        self._departures.forget(key)

    async def _hand_over(self, move: PeerMove, source: Hypervisor, node: str) -> None:
        key = move.key
        await self._remove_left(source, key)
        source.attempts.let_go(key)
        await self._journal.settle_elsewhere(key, node)
        await self.report_gone(key, node)
        source.look_again()

    async def _settle_target(self, move: PeerMove, target: Hypervisor, node: str) -> None:
        record = await self._journal.get(move.key)
        if node == move.target or (record is not None and record.node == move.target):
            await self._journal.settle_here(move.key, move.target)
            target.attempts.wake(move.key)
            return
        await self._remove_left(target, move.key)
        await self._journal.settle_elsewhere(move.key, None)

    async def report_gone(self, key: str, node: str) -> None:
        """It was handed over: whoever ordered it from this node can forget it."""
        await self._report(TaskMoved(task_of_key(key), key, node))

    async def _remove_left(self, host: Hypervisor, key: str) -> None:
        """What a migration left behind. Its disks are those of the VM elsewhere."""
        try:
            await self._asked(
                host.connections.call(
                    lambda virt: host.domains.remove(virt, key, disks=False), self._settings.start_within_s
                )
            )
        except libvirt.libvirtError as error:
            raise Refusal(f"hypervisor {host.name} cannot remove what is left of it: {error}") from error

    async def _asked(self, asking: Awaitable[T]) -> T:
        try:
            return await asking
        except HypervisorUnreachable as error:
            raise TimeoutError(f"the hypervisor is offline: {error}") from error

    def _host(self, name: str | None) -> Hypervisor:
        found = self._hypervisors.get(name)
        if found is None:
            raise Refusal(f"{name!r} is no hypervisor of this agent")
        return found
