"""Hypervisors as one backend: puts the pieces of this package together.

Every method may be repeated. `bind` waits a while to learn whether the VM started; `migrate` waits until the VM has
arrived.
"""

import contextlib
import logging
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import libvirt

from dovetail.backends.attempt_journal import Journal, State
from dovetail.backends.contract import (
    Assignment,
    Capabilities,
    CommandInput,
    LogChunk,
    MeasuredTask,
    Price,
    Refusal,
    Report,
    Status,
)
from dovetail.backends.hosts.host_pool import HostPool
from dovetail.backends.libvirt.connection import HypervisorUnreachable, Virt
from dovetail.backends.libvirt.console import attach_console
from dovetail.backends.libvirt.departures import Departures
from dovetail.backends.libvirt.domain_state import DomainStats
from dovetail.backends.libvirt.domain_xml import refuse_what_cannot_run
from dovetail.backends.libvirt.hypervisor import Hypervisor
from dovetail.backends.libvirt.machines import (
    list_snapshots,
    remove_snapshot,
    revert_to_snapshot,
    set_power,
    take_snapshot,
)
from dovetail.backends.libvirt.migration import LiveMigrations
from dovetail.backends.libvirt.naming import DomainIdentity
from dovetail.backends.libvirt.peers import PeerMigrations
from dovetail.backends.libvirt.settings import LibvirtSettings
from dovetail.backends.vm_control import MachinePower, MachineSeen, MachineSnapshot, MigrationProgress
from dovetail.model.event import TaskMoved
from dovetail.model.node import Node

_log = logging.getLogger(__name__)
T = TypeVar("T")


class LibvirtBackend:
    """Implements `Backend`, `MigratingBackend`, `MeasuringBackend`, `KillingBackend`, `AttachingBackend` and
    `MachineControl`."""

    def __init__(self, name: str, settings: LibvirtSettings, folder: Path) -> None:
        self.name = name
        self.capabilities = Capabilities(
            logs=True,
            observes=True,
            migrate=True,
            attaches=True,
            machines=True,
            stale_for_s=settings.look_interval_s,
        )
        self._settings, self._folder = settings, folder
        self._journal = Journal(folder)
        self._departures = Departures(settings)
        self._hypervisors: HostPool[Hypervisor] = HostPool(name, Hypervisor.host_word, self._journal)
        self._migrations = LiveMigrations(settings, self._journal, self._departures, self._hypervisors)
        self._peers: PeerMigrations | None = None
        self._report: Report | None = None

    async def start(self, report: Report) -> None:
        cluster = await self._journal.open(self._settings.cluster)
        identity = DomainIdentity(cluster, self.name)
        self._report = report
        hypervisors = [
            Hypervisor(one, self._settings, identity, self._journal, report, self._hypervisors.same_as, self._folder)
            for one in self._settings.hypervisors
        ]
        self._peers = PeerMigrations(
            self._settings, self._journal, self._departures, self._hypervisors, cluster, report
        )
        await self._hypervisors.start(hypervisors, report, self._settings.answer_within_s)
        online = len(self._hypervisors.online())
        _log.info("backend %s: VMs of cluster %s, %d of %d hypervisors online", self.name, cluster, online,
                  len(hypervisors))  # fmt: skip

    async def close(self) -> None:
        if self._peers is not None:
            await self._peers.close()
        await self._hypervisors.close()
        await self._journal.close()

    # --- nodes -----------------------------------------------------------------------------------------------

    async def nodes(self) -> list[Node]:
        """The hypervisors that answer. Raises HypervisorUnreachable if none does."""
        return await self._hypervisors.ask(Hypervisor.describe, self._hypervisors)

    async def prices(self) -> Mapping[str, Price]:
        return self._settings.prices_of(one.name for one in self._settings.hypervisors)

    async def measure(self) -> Mapping[str, MeasuredTask]:
        found: dict[str, MeasuredTask] = {}
        for part in await self._hypervisors.ask(Hypervisor.measure, self._hypervisors.online()):
            found |= part
        return found

    # --- attempts --------------------------------------------------------------------------------------------

    @property
    def peers(self) -> PeerMigrations:
        """For migrations to and from hypervisors of others."""
        if self._peers is None:
            raise RuntimeError(f"backend {self.name!r} has not been started: call start() first")
        return self._peers

    async def knows(self, key: str) -> bool:
        """Whether it was bound or stopped here, or handed over."""
        return await self._journal.get(key) is not None or await self._journal.handed_over_to(key) is not None

    async def status(self, key: str) -> Status:
        return await self._hypervisors.status(key)

    async def bind(self, assignment: Assignment) -> None:
        self._hypervisors.required(assignment.node)
        refuse_what_cannot_run(assignment.spec)
        if (node := await self._journal.handed_over_to(assignment.key)) is not None:
            raise Refusal(f"attempt {assignment.key} was migrated to {node}, and is not bound here as well")
        await self._hypervisors.bind(assignment, await self.peers.take(assignment.key, assignment.node))

    async def stop(self, key: str, reason: str) -> None:
        await self._stop(key, reason, lambda one: one.attempts.end(key))

    async def kill(self, key: str, reason: str) -> None:
        await self._stop(key, reason, lambda one: one.attempts.kill(key))

    async def _stop(self, key: str, reason: str, end: Callable[[Hypervisor], None]) -> None:
        if await self._journal.handed_over_to(key) is not None:
            return  # whoever has it now was told, too
        target = self._hypervisors.get(await self._journal.target(key))
        if target is not None:
            await self.peers.take(key, target.name)
        record = await self._journal.stop(key, reason)
        one = self._hypervisors.get(record.node)
        if one is None:
            await self._hypervisors.end_without_host(record)
            return
        move = await self._journal.peer_move(key)
        if move is not None and move.source == one.name:
            await self._departures.abort(key, one)
        elif target not in (None, one) and record.state is not State.ENDED:
            assert target is not None
            await self._departures.abort(key, one)
            if key not in one.attempts.moving:  # a migration from before a restart
                one = await self._migrations.settle(record, one, target)
        end(one)

    async def reconcile(self, assignments: list[Assignment]) -> None:
        for assignment in assignments:
            if (node := await self._journal.handed_over_to(assignment.key)) is not None:
                await self.peers.report_gone(assignment.key, node)
                continue
            await self.peers.take(assignment.key, assignment.node)
            # An attempt that the journal does not know has or had a domain on its hypervisor, or is lost.
            record = await self._journal.order(assignment.key, assignment.node, created=True)
            one = self._hypervisors.get(record.node)
            if one is None:
                await self._hypervisors.end_without_host(record)
                continue
            if record.node != assignment.node and record.state is not State.ENDED and self._report is not None:
                await self._report(TaskMoved(assignment.task, assignment.key, one.name))
            one.attempts.report_again(assignment)

    async def check_migration(self, key: str, node: str) -> None:
        await self._migrations.check(key, node)

    async def migrate(self, key: str, node: str) -> None:
        await self._migrations.migrate(key, node)

    async def logs(self, key: str, offset: int, limit: int) -> LogChunk:
        one, record = await self._hypervisors.begun(key)
        try:
            return await one.logs(record, max(0, offset), max(1, limit))
        except HypervisorUnreachable as error:
            raise TimeoutError(f"hypervisor {one.name} is offline: {error}") from error

    async def attach(self, key: str, given: CommandInput | None = None) -> AsyncGenerator[bytes | int]:
        one, _ = await self._hypervisors.running(key)
        within_s = self._settings.answer_within_s
        blocks = attach_console(one.connections, lambda virt: one.domains.required(virt, key), given, within_s)
        try:
            async with contextlib.aclosing(blocks):
                async for block in blocks:
                    yield block
        except libvirt.libvirtError as error:
            raise Refusal(f"hypervisor {one.name} refused: {error}") from error
        except HypervisorUnreachable as error:
            raise TimeoutError(str(error)) from error
        yield 0

    # --- MachineControl --------------------------------------------------------------------------------------

    async def machines(self, nodes: Sequence[str]) -> list[MachineSeen]:
        online = [one for name in nodes if (one := self._hypervisors.get(name)) is not None and one.online]

        async def ask(one: Hypervisor) -> list[MachineSeen]:
            return [_machine(one.name, key, domain) for key, domain in await one.seen()]

        return [machine for part in await self._hypervisors.ask(ask, online) for machine in part]

    async def set_power(self, key: str, power: MachinePower) -> None:
        await self._on_domain(key, lambda domain: set_power(domain, power), self._settings.start_within_s)

    async def migration(self, key: str) -> MigrationProgress | None:
        return self._departures.progress(key)

    async def snapshots(self, key: str) -> list[MachineSnapshot]:
        return await self._on_domain(key, list_snapshots)

    async def take_snapshot(self, key: str, name: str) -> None:
        await self._on_domain(key, lambda domain: take_snapshot(domain, name), self._settings.start_within_s)

    async def revert_to_snapshot(self, key: str, name: str) -> None:
        await self._on_domain(key, lambda domain: revert_to_snapshot(domain, name), self._settings.start_within_s)

    async def remove_snapshot(self, key: str, name: str) -> None:
        await self._on_domain(key, lambda domain: remove_snapshot(domain, name), self._settings.start_within_s)

    async def offer_for_adoption(self, node: str, name: str) -> MachineSeen:
        one = self._hypervisors.required(node)
        if not one.online:
            raise Refusal(one.offline)
        found = await one.offer(name)
        if found is None:
            raise Refusal(f"no VM {name!r} of others runs on {node}")
        return _machine(node, None, found)

    async def _on_domain(self, key: str, work: Callable[[Any], T], within_s: float | None = None) -> T:
        one, _ = await self._hypervisors.running(key)

        def call(virt: Virt) -> T:
            return work(one.domains.required(virt, key))

        try:
            return await one.connections.call(call, within_s)
        except libvirt.libvirtError as error:
            raise Refusal(f"hypervisor {one.name} refused: {error}") from error
        except HypervisorUnreachable as error:
            raise TimeoutError(f"hypervisor {one.name} is offline: {error}") from error


def _machine(node: str, key: str | None, domain: DomainStats) -> MachineSeen:
    return MachineSeen(
        node=node,
        name=domain.name,
        key=key,
        power=domain.power.value,
        cpus=domain.cpus,
        memory_bytes=domain.memory_bytes,
        used_memory_bytes=domain.resident_bytes,
        cpu_time_s=domain.cpu_time_s,
    )
