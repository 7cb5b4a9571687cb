"""Live migration of one attempt between two hypervisors of this backend.

Before: the journal says where it is and, from the first step on, where it may be soon. After: it runs on the target
under the same key, or it runs on as before. A crash in between is repaired by asking both (`settle`). The source goes
on migrating while nobody watches, so a repeated call waits for a migration that is under way.
"""

import asyncio

import libvirt

from dovetail.backends.attempt_journal import Journal, Record
from dovetail.backends.contract import Refusal
from dovetail.backends.hosts.host_pool import HostPool
from dovetail.backends.libvirt.connection import close
from dovetail.backends.libvirt.departures import POLL_S, Departures, address_of, can_move
from dovetail.backends.libvirt.hypervisor import Hypervisor
from dovetail.backends.libvirt.power import Power
from dovetail.backends.libvirt.settings import LibvirtSettings


class LiveMigrations:
    def __init__(
        self, settings: LibvirtSettings, journal: Journal, departures: Departures, hypervisors: HostPool[Hypervisor]
    ) -> None:
        self._settings, self._journal, self._departures = settings, journal, departures
        self._hypervisors = hypervisors

    async def check(self, key: str, node: str) -> None:
        """Raises Refusal if it cannot be migrated, before anything has begun."""
        _, source, target = await self._ends(key, node)
        if source is not target:
            await self._check(key, source, target)

    async def migrate(self, key: str, node: str) -> None:
        """Raises Refusal if it still runs on the source, anything else if that is not known."""
        record, source, target = await self._ends(key, node)
        before = self._hypervisors.get(await self._journal.target(key))
        if source is not target and before is not None and key not in source.attempts.moving:  # begun before a restart
            source = await self.settle(record, source, before)
        if source is not target:
            await self._migrate(record, source, target)

    async def _ends(self, key: str, node: str) -> tuple[Record, Hypervisor, Hypervisor]:
        """Where it is, and where it is to be. Raises Refusal."""
        target = self._hypervisors.required(node)
        record = can_move(await self._journal.get(key))
        source = self._hypervisors.get(record.node)
        if source is None:
            raise Refusal(self._hypervisors.no_longer(record.node))
        return record, source, target

    async def _check(self, key: str, source: Hypervisor, target: Hypervisor) -> None:
        address_of(target)
        await self._departures.has_disks(key, source)

    async def _migrate(self, record: Record, source: Hypervisor, target: Hypervisor) -> None:
        key = record.key
        await self._check(key, source, target)
        for one in (source, target):
            one.attempts.moving.add(key)
        definition = ""
        try:
            can_move(await self._journal.get(key))  # nobody has stopped it meanwhile
            await self._journal.begin_move(key, target.name)
            self._departures.begin(key, source.name, target.name)
            if not self._settings.shared_storage and source.domains.has_storage and key not in source.domains.adopted:
                await self._copy_log(key, source, target)
            definition = await self._departures.send(key, source, address_of(target))
            here = await self.settle(record, source, target)
        except (libvirt.libvirtError, Refusal) as error:
            if await self._journal.target(key) is None:
                raise
            here = await self.settle(record, source, target)
            if here is not target:
                self._departures.end(key, "failed", str(error))
                raise Refusal(f"{source.name} could not migrate it to {target.name}: {error}") from error
        finally:
            for one in (source, target):
                one.attempts.moving.discard(key)
                one.attempts.wake(key)  # it may have been told to stop, and has left that alone
        if here is not target:
            self._departures.end(key, "failed", "it stayed where it was")
            raise Refusal(f"it was not migrated to {target.name}, and runs on on {source.name}")
        await self._departures.remove_variables(source, definition)
        await self._departures.note_totals(key, target)
        self._departures.end(key, "done")

    async def settle(self, record: Record, source: Hypervisor, target: Hypervisor) -> Hypervisor:
        """Where it is, after a migration that may have ended: asked of the target, then written down. Raises
        HypervisorUnreachable while that cannot be known."""
        key = record.key
        adopted = source.domains.adopted.get(key)
        if adopted is not None:
            target.domains.adopted[key] = adopted
        while True:
            there, still = await target.attempts.seen(key), await source.attempts.seen(key)
            arrived = there is not None and there.power is not Power.OFF
            if not (arrived and still is not None and still.power is not Power.OFF):
                break
            await asyncio.sleep(POLL_S)  # it is under way: the target waits for its memory
        here = target if arrived else source
        if here is source:
            target.domains.adopted.pop(key, None)
        else:
            source.domains.adopted.pop(key, None)
        await self._journal.end_move(key, here.name)
        for one in (source, target):
            one.attempts.moving.discard(key)
        if here is target:
            order = source.attempts.let_go(key)
            if order is not None:
                target.attempts.take_order(order)
            target.attempts.arrive(key)
            source.look_again()
        else:
            source.attempts.wake(key)
        return here

    async def _copy_log(self, key: str, source: Hypervisor, target: Hypervisor) -> None:
        there = await target.connections.open()
        try:
            await source.connections.call(
                lambda here: source.domains.storage.copy_log(here, there, key), self._settings.start_within_s
            )
        finally:
            close(there)
