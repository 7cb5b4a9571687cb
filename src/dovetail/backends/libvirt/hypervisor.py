"""One hypervisor: what libvirt says of it and of its domains.

Guarantees (and those of `hosts.connected_host`): a domain of ours whose end was reported is removed and not reported
again; domains of others are counted and left alone.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any

import libvirt

from dovetail.backends.attempt_journal import Journal, Record, State
from dovetail.backends.contract import LogChunk, MeasuredTask, Phase, Report, Status
from dovetail.backends.hosts.attempts import HostUnreachable
from dovetail.backends.hosts.connected_host import ConnectedHost
from dovetail.backends.libvirt.attempts import LibvirtAttempts
from dovetail.backends.libvirt.connection import HypervisorConnections, HypervisorUnreachable, Virt, close
from dovetail.backends.libvirt.domain_state import DomainStats, all_domains, find_domain, mark_of
from dovetail.backends.libvirt.domains import HostDomains
from dovetail.backends.libvirt.host_facts import HostFacts, read_facts
from dovetail.backends.libvirt.huge_pages import OfferedPages, free_huge_pages
from dovetail.backends.libvirt.naming import DomainIdentity
from dovetail.backends.libvirt.node import DomainMeter, describe, total_use
from dovetail.backends.libvirt.power import Power
from dovetail.backends.libvirt.remote_access import RemoteAccess
from dovetail.backends.libvirt.settings import HypervisorSettings, LibvirtSettings
from dovetail.backends.libvirt.storage import VmStorage
from dovetail.backends.log_streams import whole_characters
from dovetail.backends.retention import to_remove
from dovetail.model.event import NodeObserved
from dovetail.model.node import Node
from dovetail.model.workloads.virtual_machine import HugePages

TIDY_INTERVAL_S = 60.0
OFFERED_FOR_S = 60.0
_log = logging.getLogger(__name__)


class Hypervisor(ConnectedHost):
    kind, host_word = "libvirt", "hypervisor"
    attempts: LibvirtAttempts
    said_by_host = (HostUnreachable, libvirt.libvirtError)  # such as a storage pool that is not there

    def __init__(
        self,
        settings: HypervisorSettings,
        backend: LibvirtSettings,
        identity: DomainIdentity,
        journal: Journal,
        report: Report,
        same_host: Callable[[str, str], str | None],
        folder: Path,
    ) -> None:
        """`same_host(uuid, name)`: another hypervisor of the backend that is the same one under another name.
        `folder`: for what a connection needs."""
        super().__init__(settings.name, report, backend.look_interval_s)
        self.settings = settings
        self.connections = HypervisorConnections(
            RemoteAccess(settings, folder), backend.parallel, backend.answer_within_s
        )
        storage = VmStorage(settings.pool or backend.pool, identity, backend.allow_paths)
        self.domains = HostDomains(identity, storage, backend.disk_cache)
        self._backend, self._identity, self._journal = backend, identity, journal
        self._same_host = same_host
        self._foreign: dict[str, str | None] = {}  # keys of domains that we did not name, by UUID
        self._offered: dict[str, float] = {}  # domains of others that will be adopted: until when, by UUID
        self._pages = OfferedPages(self.connections)
        self._observer, self._meter = DomainMeter(), DomainMeter()
        self._events: tuple[Virt, int] | None = None
        self.attempts = LibvirtAttempts(
            self.name, self.connections, self.domains, journal, report, backend, self._check_connection
        )

    @property
    def facts(self) -> HostFacts:
        if self.domains.facts is None:
            raise HypervisorUnreachable(self.trouble)
        return self.domains.facts

    async def close(self) -> None:
        await self.attempts.close()
        await self._end_events()
        await self.connections.close()

    # --- questions -------------------------------------------------------------------------------------------

    async def describe(self) -> Node:
        """The current node, asked of the hypervisor."""

        def ask(virt: Virt) -> tuple[int, list[DomainStats], dict[HugePages, int]]:
            size = self.domains.storage.size_bytes(virt) if self.domains.has_storage else 0
            # In this order: a VM that starts in between has its pages counted as those of others, for one look.
            return size, all_domains(virt), free_huge_pages(virt, self.facts)

        size, found, free = await self.connections.call(ask)
        ours = await self._ours(found)
        pages = await self._huge_pages(ours, free)
        now = time.monotonic()
        self._offered = {uuid: until for uuid, until in self._offered.items() if until > now}
        mine = {domain.uuid for domain in ours.values()} | set(self._offered)
        others = [domain for domain in found if domain.uuid not in mine]
        return describe(self._identity.backend, self.settings, self.facts, size, others, pages)

    async def _huge_pages(self, ours: dict[str, DomainStats], free: dict[HugePages, int]) -> dict[HugePages, int]:
        """Without those that others have. An adopted VM has not asked for its pages, so they count as theirs."""
        if not free:
            return {}
        made = {one.uuid for key, one in ours.items() if key not in self.domains.adopted and one.power is not Power.OFF}
        offered = await self._pages.with_ours(free, made)
        if any(count > self.facts.huge_pages.get(size, 0) for size, count in offered.items()):
            await self._read_facts()  # somebody may have reserved more of them
        return {size: min(count, self.facts.huge_pages.get(size, 0)) for size, count in offered.items()}

    async def seen(self) -> list[tuple[str | None, DomainStats]]:
        """All its domains, with the keys of ours."""
        found = await self.connections.call(all_domains)
        keys = {domain.uuid: key for key, domain in (await self._ours(found)).items()}
        return [(keys.get(domain.uuid), domain) for domain in found]

    async def measure(self) -> dict[str, MeasuredTask]:
        found = await self.connections.call(all_domains)
        return self._meter.measure(await self._ours(found))

    async def status(self, record: Record) -> Status:
        seen = await self.attempts.seen(record.key)
        started = seen is not None and not seen.never_ran  # off: its end is reported soon
        return Status(Phase.RUNNING if started else Phase.ACCEPTED, reason=record.stop_reason or "")

    async def logs(self, record: Record, offset: int, limit: int) -> LogChunk:
        """Raises KeyError if there is no log."""
        key, ended = record.key, record.state is State.ENDED
        if not self.domains.has_storage or key in self.domains.adopted:
            raise KeyError(f"no logs of attempt {key}: its console is not captured")
        content = await self.connections.call(lambda virt: self.domains.storage.read_log(virt, key, offset, limit))
        if content is None:
            raise KeyError(f"no logs of attempt {key}: its log has been removed from {self.name}")
        over = ended and len(content) < limit
        whole = content if over else whole_characters(content)
        return LogChunk(whole.decode("utf-8", "replace"), offset + len(whole), ended=over)

    async def offer(self, name: str) -> DomainStats | None:
        """A domain of others that will be adopted; None if there is none that runs."""
        for key, domain in await self.seen():
            if domain.name == name and key is None and domain.power is not Power.OFF:
                self._offered[domain.uuid] = time.monotonic() + OFFERED_FOR_S
                await self._announce(await self.describe())
                return domain
        return None

    # --- how the hypervisor is -------------------------------------------------------------------------------

    async def _greet(self) -> Node:
        await self._read_facts()
        node = await self.describe()
        same = self._same_host(self.facts.uuid, self.name)
        if same is not None:
            raise HypervisorUnreachable(f"it is the same host as {same!r} (same UUID); remove one from the settings")
        await self._begin_events()
        return node

    async def _read_facts(self) -> None:
        # The first time after an installation, libvirt tries out all emulators, which takes seconds.
        read = partial(read_facts, emulate=self._backend.emulate)
        self.domains.facts = await self.connections.call(read, self._backend.start_within_s)

    async def _disconnected(self) -> None:
        await self._end_events()

    # --- what happens there ----------------------------------------------------------------------------------

    async def _begin_events(self) -> None:
        await self._end_events()
        loop = asyncio.get_running_loop()

        def happened(_: Any, domain: Any, *__: Any) -> None:
            """On libvirt's thread."""
            uuid, name = domain.UUIDString(), domain.name()
            with contextlib.suppress(RuntimeError):  # the event loop has ended
                loop.call_soon_threadsafe(self._happened, uuid, name)

        def closed(*_: Any) -> None:
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(self._broken.set)

        virt = await self.connections.open()

        def register() -> int:
            with contextlib.suppress(libvirt.libvirtError):  # a connection without a wire cannot be cut
                virt.registerCloseCallback(closed, None)
            return int(virt.domainEventRegisterAny(None, libvirt.VIR_DOMAIN_EVENT_ID_LIFECYCLE, happened, None))

        try:
            self._events = (virt, await self.connections.in_thread(register, self._backend.answer_within_s))
        except libvirt.libvirtError as error:
            close(virt)
            raise HypervisorUnreachable(str(error)) from error

    async def _end_events(self) -> None:
        if self._events is None:
            return
        (virt, registered), self._events = self._events, None

        def end() -> None:
            with contextlib.suppress(Exception):
                virt.unregisterCloseCallback()
            with contextlib.suppress(Exception):
                virt.domainEventDeregisterAny(registered)
            close(virt)

        with contextlib.suppress(HypervisorUnreachable, RuntimeError):
            await self.connections.in_thread(end, self._backend.answer_within_s)

    def _happened(self, uuid: str, name: str) -> None:
        key = self._identity.key_of_name(name, uuid) or self._foreign.get(uuid)
        if key is not None:
            self.attempts.wake(key)
        else:
            self.look_again()  # a domain of others takes capacity, or gives it back

    def _work(self) -> list[tuple[str, Coroutine[Any, Any, None]]]:
        return [("use", self._observe()), ("tidying", self._remove_old())]

    async def _ours(self, found: list[DomainStats]) -> dict[str, DomainStats]:
        """By key. The metadata of a domain that we did not name is read once."""
        ours: dict[str, DomainStats] = {}
        unknown = []
        for domain in found:
            key = self._identity.key_of_name(domain.name, domain.uuid) or self.adopted_key(domain.uuid)
            if key is not None:
                ours[key] = domain
            elif domain.uuid not in self._foreign:
                unknown.append(domain)
        if unknown:
            for domain, key in zip(
                unknown, await self.connections.call(lambda virt: self._read(virt, unknown)), strict=True
            ):
                self._foreign[domain.uuid] = key
                if key is not None:
                    ours[key] = domain
        return ours

    def adopted_key(self, uuid: str) -> str | None:
        key = next((key for key, known in self.domains.adopted.items() if known == uuid), None)
        return key or self._foreign.get(uuid)

    def _read(self, virt: Virt, unknown: list[DomainStats]) -> list[str | None]:
        keys: list[str | None] = []
        for one in unknown:
            domain = find_domain(virt, one.uuid)
            mark = None if domain is None else mark_of(domain)
            ours = mark is not None and self._identity.owns(mark) and mark.adopted
            if mark is not None and ours:
                self.domains.adopted[mark.key] = one.uuid
            keys.append(mark.key if mark is not None and ours else None)
        return keys

    async def _look(self) -> None:
        """Check every domain of ours, and every attempt that should have one."""
        found = await self.connections.call(all_domains)
        running: set[str] = set()
        for key, domain in (await self._ours(found)).items():
            if domain.power is Power.RUNNING:
                running.add(key)
            record = await self._journal.get(key)
            if record is None and (node := await self._journal.handed_over_to(key)) is not None:
                await self._remove(Record(key, node, State.ORDERED))
            elif record is None:
                await self._journal.order(key, self.name, created=True)
            elif record.state is State.ENDED or (record.node != self.name and not await self._may_be_here(key)):
                await self._remove(record)
        for key in await self._journal.unfinished(self.name):
            if not (key in running and self.attempts.rests(key)):
                self.attempts.wake(key)

    async def _may_be_here(self, key: str) -> bool:
        """It is being migrated, or its migration has just ended."""
        if key in self.attempts.moving or await self._journal.target(key) is not None:
            return True
        record = await self._journal.get(key)
        return record is None or record.node == self.name

    async def _remove(self, record: Record) -> None:
        """The domain of an attempt that ended or is on another host, whose disks it may share."""
        key, ended = record.key, record.state is State.ENDED
        why = "has ended" if ended else f"is on {record.node}"
        _log.warning("hypervisor %s: removing the domain of attempt %s, which %s", self.name, key, why)
        disks = ended or not self._backend.shared_storage
        try:
            await self.connections.call(
                lambda virt: self.domains.remove(virt, key, disks=disks), self._backend.start_within_s
            )
        except libvirt.libvirtError as error:  # the hypervisor is fine; the next poll tries again
            _log.warning("hypervisor %s: cannot remove the domain of %s: %s", self.name, key, error)

    async def _observe(self) -> None:
        while True:
            found = await self._ours(await self.connections.call(all_domains))
            await self._send(NodeObserved(self.name, total_use(self._observer.measure(found))))
            await asyncio.sleep(self._backend.observe_interval_s)

    async def _remove_old(self) -> None:
        """Disks that an interrupted removal left, at once; and logs of VMs that ended long ago."""
        while True:
            if self.domains.has_storage:
                try:
                    await self._tidy_pool(self.domains.storage)
                except libvirt.libvirtError as error:
                    _log.warning("hypervisor %s: volumes are not removed yet: %s", self.name, error)
            await self._journal.forget_old()
            await asyncio.sleep(TIDY_INTERVAL_S)

    async def _tidy_pool(self, storage: VmStorage) -> None:
        ended_at = {}
        for key in await self.connections.call(storage.kept):
            record = await self._journal.get(key)
            if record is not None and record.state is State.ENDED:
                ended_at[key] = record.changed_at
        old = set(to_remove(ended_at, self._backend.keep_logs, self._backend.keep_for_s, time.time()))
        await self.connections.call(
            lambda virt: storage.remove(virt, ended_at, with_log=old), self._backend.start_within_s
        )
