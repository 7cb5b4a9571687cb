"""Hypervisors as one backend: puts the pieces of this package together.

Every method may be repeated. `bind` waits a while to learn whether the VM started; `migrate` waits until the VM has
arrived.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import libvirt

from dovetail.backends.attempt_journal import Journal, Record, State
from dovetail.backends.contract import (
    Assignment,
    Capabilities,
    CommandInput,
    LogChunk,
    MeasuredTask,
    Phase,
    Price,
    Refusal,
    Report,
    Status,
)
from dovetail.backends.libvirt.connection import HypervisorUnreachable, Virt
from dovetail.backends.libvirt.console import attach_console
from dovetail.backends.libvirt.departures import Departures, can_move
from dovetail.backends.libvirt.domain_state import DomainStats
from dovetail.backends.libvirt.domain_xml import refuse_what_cannot_run
from dovetail.backends.libvirt.failures import FAILURES
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
from dovetail.model.command import task_of_key
from dovetail.model.event import NodeLeft, TaskFinished, TaskMoved
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
        self._migrations = LiveMigrations(settings, self._journal, self._departures)
        self._peers: PeerMigrations | None = None
        self._report: Report | None = None
        self._hypervisors: dict[str, Hypervisor] = {}
        self._hosts: dict[str, str] = {}
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self, report: Report) -> None:
        cluster = await self._journal.open(self._settings.cluster)
        identity = DomainIdentity(cluster, self.name)
        self._report = report
        self._hypervisors = {
            one.name: Hypervisor(one, self._settings, identity, self._journal, report, self._same_host, self._folder)
            for one in self._settings.hypervisors
        }
        self._peers = PeerMigrations(
            self._settings, self._journal, self._departures, self._hypervisors, cluster, report
        )
        for name in await self._journal.hosts():
            if name not in self._hypervisors:
                await report(NodeLeft(name, f"it is no longer one of the hypervisors of backend {self.name}"))
        await self._journal.keep_hosts(list(self._hypervisors))
        self._tasks = [
            asyncio.create_task(one.run(), name=f"libvirt: {name}") for name, one in self._hypervisors.items()
        ]
        # Wait until each was tried once, so that the nodes that answer are known, but not longer than
        # `answer_within_s`.
        tried = [asyncio.create_task(one.met.wait()) for one in self._hypervisors.values()]
        _, silent = await asyncio.wait(tried, timeout=self._settings.answer_within_s)
        for task in silent:
            task.cancel()
        online = [name for name, one in self._hypervisors.items() if one.online]
        _log.info("backend %s: VMs of cluster %s, %d of %d hypervisors online", self.name, cluster, len(online),
                  len(self._hypervisors))  # fmt: skip

    async def close(self) -> None:
        if self._peers is not None:
            await self._peers.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for one in self._hypervisors.values():
            with contextlib.suppress(Exception):  # the others are closed too
                await one.close()
        self._tasks, self._hypervisors, self._hosts = [], {}, {}
        await self._journal.close()

    # --- nodes -----------------------------------------------------------------------------------------------

    async def nodes(self) -> list[Node]:
        """The hypervisors that answer. Raises HypervisorUnreachable if none does."""
        return await self._of_all(lambda one: one.describe(), list(self._hypervisors.values()))

    async def prices(self) -> Mapping[str, Price]:
        return self._settings.prices_of(one.name for one in self._settings.hypervisors)

    async def measure(self) -> Mapping[str, MeasuredTask]:
        online = [one for one in self._hypervisors.values() if one.online]
        found: dict[str, MeasuredTask] = {}
        for part in await self._of_all(lambda one: one.measure(), online) if online else []:
            found |= part
        return found

    async def _of_all(self, ask: Callable[[Hypervisor], Awaitable[T]], hypervisors: list[Hypervisor]) -> list[T]:
        """The answers of those that answer; raises if none does."""
        found = await asyncio.gather(*(ask(one) for one in hypervisors), return_exceptions=True)
        answers = [one for one in found if not isinstance(one, BaseException)]
        for error in found:
            away = isinstance(error, HypervisorUnreachable | libvirt.libvirtError)
            if isinstance(error, BaseException) and not (answers and away):
                raise error
        return answers

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
        record = await self._journal.get(key)
        if record is None:
            raise KeyError(key)
        one = self._hypervisors.get(record.node or "")
        if one is None:
            return Status(Phase.ENDED, record.exit_code, record.reason)
        return await one.status(record)

    async def bind(self, assignment: Assignment) -> None:
        one = self._hypervisors.get(assignment.node)
        if one is None:
            known = ", ".join(self._hypervisors)
            raise Refusal(f"backend {self.name} has no hypervisor {assignment.node!r}; it has {known}")
        refuse_what_cannot_run(assignment.spec)
        if (node := await self._journal.handed_over_to(assignment.key)) is not None:
            raise Refusal(f"attempt {assignment.key} was migrated to {node}, and is not bound here as well")
        known_record = await self.peers.take(assignment.key, assignment.node)
        record = known_record or await self._journal.order(assignment.key, assignment.node)
        if record.node != assignment.node and not record.refused:
            raise Refusal(f"attempt {assignment.key} was bound to {record.node}, and is not bound elsewhere as well")
        if known_record is None and not one.online:
            record = await self._journal.refuse(assignment.key, f"hypervisor {one.name} is offline: {one.trouble}")
        if record.refused:
            words = f"attempt {assignment.key} will not run: {record.reason}"
            raise Refusal(words, FAILURES.cause(record.reason))
        if one.online:
            await one.attempts.launch(assignment)
        else:  # it was ordered before the hypervisor went offline, and starts when that is back
            one.attempts.report_again(assignment)

    async def stop(self, key: str, reason: str) -> None:
        await self._stop(key, reason, lambda one: one.attempts.end(key))

    async def kill(self, key: str, reason: str) -> None:
        await self._stop(key, reason, lambda one: one.attempts.kill(key))

    async def _stop(self, key: str, reason: str, end: Callable[[Hypervisor], None]) -> None:
        if await self._journal.handed_over_to(key) is not None:
            return  # whoever has it now was told, too
        target = self._hypervisors.get(await self._journal.target(key) or "")
        if target is not None:
            await self.peers.take(key, target.name)
        record = await self._journal.stop(key, reason)
        one = self._hypervisors.get(record.node or "")
        if one is None:
            await self._end_without_host(record)
            return
        move = await self._journal.peer_move(key)
        if move is not None and move.source == one.name:
            await self._departures.abort(key, one)
        elif target not in (None, one) and record.state is not State.ENDED:
            assert target is not None
            await self._departures.abort(key, one)
            if key not in one.attempts.moving:  # a migration from before a restart
                one = self._hypervisors[await self._migrations.settle(record, one, target)]
        end(one)

    async def reconcile(self, assignments: list[Assignment]) -> None:
        for assignment in assignments:
            if (node := await self._journal.handed_over_to(assignment.key)) is not None:
                await self.peers.report_gone(assignment.key, node)
                continue
            await self.peers.take(assignment.key, assignment.node)
            # An attempt that the journal does not know has or had a domain on its hypervisor, or is lost.
            record = await self._journal.order(assignment.key, assignment.node, created=True)
            one = self._hypervisors.get(record.node or "")
            if one is None:
                await self._end_without_host(record)
                continue
            if record.node != assignment.node and record.state is not State.ENDED and self._report is not None:
                await self._report(TaskMoved(assignment.task, assignment.key, one.name))
            one.attempts.report_again(assignment)

    async def check_migration(self, key: str, node: str) -> None:
        _, source, target = await self._ends_of_migration(key, node)
        if source is not target:
            await self._migrations.check(key, source, target)

    async def _ends_of_migration(self, key: str, node: str) -> tuple[Record, Hypervisor, Hypervisor]:
        """Raises Refusal."""
        target = self._hypervisors.get(node)
        if target is None:
            raise Refusal(f"backend {self.name} has no hypervisor {node!r}; it has {', '.join(self._hypervisors)}")
        record = can_move(await self._journal.get(key))
        source = self._hypervisors.get(record.node or "")
        if source is None:
            raise Refusal(f"hypervisor {record.node} is no longer one of backend {self.name}")
        return record, source, target

    async def migrate(self, key: str, node: str) -> None:
        record, source, target = await self._ends_of_migration(key, node)
        if source is target:
            return
        before = self._hypervisors.get(await self._journal.target(key) or "")
        if before is not None and key not in source.attempts.moving:  # begun before a restart
            source = self._hypervisors[await self._migrations.settle(record, source, before)]
            if source is target:
                return
        await self._migrations.migrate(record, source, target)

    async def logs(self, key: str, offset: int, limit: int) -> LogChunk:
        record = await self._journal.get(key)
        one = None if record is None else self._hypervisors.get(record.node or "")
        if record is None or one is None or (record.state is State.ENDED and not record.ran):
            raise KeyError(f"no logs of attempt {key}: it was never started here")
        try:
            return await one.logs(record, max(0, offset), max(1, limit))
        except HypervisorUnreachable as error:
            raise TimeoutError(f"hypervisor {one.name} is offline: {error}") from error

    async def attach(self, key: str, given: CommandInput | None = None) -> AsyncGenerator[bytes | int]:
        one = await self._running_on(key)
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

        found = await self._of_all(ask, online) if online else []
        return [machine for part in found for machine in part]

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
        one = self._hypervisors.get(node)
        if one is None:
            raise Refusal(f"backend {self.name} has no hypervisor {node!r}; it has {', '.join(self._hypervisors)}")
        if not one.online:
            raise Refusal(f"hypervisor {node} is offline: {one.trouble}")
        found = await one.offer(name)
        if found is None:
            raise Refusal(f"no VM {name!r} of others runs on {node}")
        return _machine(node, None, found)

    async def _on_domain(self, key: str, work: Callable[[Any], T], within_s: float | None = None) -> T:
        one = await self._running_on(key)

        def call(virt: Virt) -> T:
            return work(one.domains.required(virt, key))

        try:
            return await one.connections.call(call, within_s)
        except libvirt.libvirtError as error:
            raise Refusal(f"hypervisor {one.name} refused: {error}") from error
        except HypervisorUnreachable as error:
            raise TimeoutError(f"hypervisor {one.name} is offline: {error}") from error

    async def _running_on(self, key: str) -> Hypervisor:
        record = await self._journal.get(key)
        one = None if record is None else self._hypervisors.get(record.node or "")
        if record is None or one is None or record.state is State.ENDED:
            raise KeyError(key)
        if not one.online:
            raise TimeoutError(f"hypervisor {one.name} is offline: {one.trouble}")
        return one

    # ---------------------------------------------------------------------------------------------------------

    async def _end_without_host(self, record: Record) -> None:
        """End an attempt without a hypervisor, or with one that is no longer in the settings."""
        if self._report is None:
            raise RuntimeError(f"backend {self.name!r} has not been started: call start() first")
        if record.state is not State.ENDED:
            reason = f"hypervisor {record.node} is no longer one of backend {self.name}"
            record = await self._journal.end(record.key, None, record.stop_reason or reason, ran=record.created)
        await self._report(TaskFinished(task_of_key(record.key), record.key, record.exit_code, record.reason))

    def _same_host(self, uuid: str, name: str) -> str | None:
        """The test driver has no host of its own."""
        first = self._hosts.setdefault(uuid, name)
        return None if first == name else first


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
