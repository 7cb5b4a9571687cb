"""Sends a running VM to another hypervisor, peer to peer, and tells how that goes. Needs only the source: libvirt there
drives the migration, and goes on with it while nobody watches. Where the VM is afterwards, others find out."""

import asyncio
import contextlib
import logging
import time
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree as ET

import libvirt

from dovetail.asyncio_tasks import cancel
from dovetail.backends.attempt_journal import Record, State
from dovetail.backends.contract import Refusal
from dovetail.backends.libvirt.connection import HypervisorUnreachable, Virt, close
from dovetail.backends.libvirt.domain_xml import migrated_xml
from dovetail.backends.libvirt.domains import UNDEFINE, HostDomains
from dovetail.backends.libvirt.hypervisor import Hypervisor
from dovetail.backends.libvirt.settings import LibvirtSettings
from dovetail.backends.peer_migration import PeerAddress
from dovetail.backends.vm_control import MigrationProgress

POLL_S = 0.25
_FLAGS = (
    libvirt.VIR_MIGRATE_LIVE
    | libvirt.VIR_MIGRATE_PEER2PEER
    | libvirt.VIR_MIGRATE_PERSIST_DEST
    | libvirt.VIR_MIGRATE_UNDEFINE_SOURCE
    | libvirt.VIR_MIGRATE_AUTO_CONVERGE
)
_log = logging.getLogger(__name__)


class Departures:
    def __init__(self, settings: LibvirtSettings) -> None:
        self._settings = settings
        self._progress: dict[str, MigrationProgress] = {}
        self._began: dict[str, float] = {}

    def progress(self, key: str) -> MigrationProgress | None:
        return self._progress.get(key)

    async def has_disks(self, key: str, source: Hypervisor) -> bool:
        """Raises Refusal if they are on this hypervisor only, or if it does not answer."""
        if not source.online:
            raise Refusal(source.offline)
        found = await source.connections.call(lambda virt: _has_disks(source.domains, virt, key))
        if found and not self._settings.shared_storage:
            words = "its disks are on that hypervisor only; use storage that all share, and set shared_storage"
            raise Refusal(f"it cannot be migrated live away from {source.name}: {words}")
        return found

    def begin(self, key: str, source: str, target: str) -> None:
        self._began[key] = time.monotonic()
        self._progress[key] = MigrationProgress(source, target, "running", 0.0)

    async def send(self, key: str, source: Hypervisor, to: PeerAddress) -> str:
        """Until it is over. Returns its definition on the source, which is gone there. Raises Refusal, libvirtError and
        HypervisorUnreachable; whether it runs here or there is then to be asked."""
        virt = await source.connections.open()
        watching = asyncio.create_task(self._watch(key, source), name=f"libvirt: migration of {key}")
        try:
            begin = asyncio.create_task(
                source.connections.in_thread(
                    lambda: self._migrate(virt, key, source.domains, to), self._settings.migrate_within_s
                )
            )
            try:
                return await asyncio.shield(begin)
            except HypervisorUnreachable:
                await self.abort(key, source)
                raise
        finally:
            await cancel(watching)
            close(virt)

    async def abort(self, key: str, source: Hypervisor) -> None:
        """It is to stop: there is no sense in moving it."""
        with contextlib.suppress(libvirt.libvirtError, HypervisorUnreachable, Refusal):
            await source.connections.call(lambda virt: source.domains.required(virt, key).abortJob())

    async def remove_variables(self, source: Hypervisor, definition: str) -> None:
        """Of UEFI. libvirt leaves that file on the source, and removes it only together with a definition."""
        if not definition or ET.fromstring(definition).find("os[@firmware='efi']") is None:  # noqa: S314 - of libvirt
            return
        with contextlib.suppress(libvirt.libvirtError, HypervisorUnreachable):  # a definition goes with the next look
            await source.connections.call(lambda virt: virt.defineXML(definition).undefineFlags(UNDEFINE))

    async def note_totals(self, key: str, target: Hypervisor) -> None:
        """What the target knows of a migration that is over. Whoever has not sent it itself learns it this way."""

        def ask(virt: Virt) -> dict[str, Any]:
            return dict(target.domains.required(virt, key).jobStats(libvirt.VIR_DOMAIN_JOB_STATS_COMPLETED))

        with contextlib.suppress(libvirt.libvirtError, HypervisorUnreachable, Refusal):
            self._note(key, await target.connections.call(ask))

    def end(self, key: str, state: str, words: str = "") -> None:
        elapsed_s = time.monotonic() - self._began.pop(key, time.monotonic())
        done = self._progress[key] = replace(self._progress[key], state=state, elapsed_s=elapsed_s, words=words)
        _log.info(
            *("migration of %s from %s to %s: %s in %.1f s, %d bytes sent, %s s paused", key, done.source, done.target),
            *(f"{state} {words}".strip(), done.elapsed_s, done.sent_bytes, done.downtime_s),
        )

    def forget(self, key: str) -> None:
        self._progress.pop(key, None)
        self._began.pop(key, None)

    async def is_under_way(self, key: str, source: Hypervisor) -> bool:
        """Whether the hypervisor does something with it that takes long, also if it was told to before a restart."""

        def ask(virt: Virt) -> dict[str, Any]:
            domain = source.domains.find(virt, key)
            return {} if domain is None else dict(domain.jobStats())

        try:
            stats = await source.connections.call(ask)
        except libvirt.libvirtError:  # it is off, or gone meanwhile
            return False
        if key in self._progress:
            self._note(key, stats)
        return bool(stats.get("type", libvirt.VIR_DOMAIN_JOB_NONE) != libvirt.VIR_DOMAIN_JOB_NONE)

    # --- one migration ---------------------------------------------------------------------------------------

    def _migrate(self, virt: Virt, key: str, domains: HostDomains, to: PeerAddress) -> str:
        """Blocks until it is over. Returns its definition on the source, for one of ours."""
        domain = domains.required(virt, key)
        definition = "" if key in domains.adopted else str(domain.XMLDesc(libvirt.VIR_DOMAIN_XML_INACTIVE))
        given: dict[str, Any] = {}
        if key not in domains.adopted:
            form = libvirt.VIR_DOMAIN_XML_MIGRATABLE | libvirt.VIR_DOMAIN_XML_SECURE
            given[libvirt.VIR_MIGRATE_PARAM_DEST_XML] = migrated_xml(domain.XMLDesc(form), to.cpus)
        if to.address is not None:
            given[libvirt.VIR_MIGRATE_PARAM_URI] = f"tcp://{to.address}"
            given[libvirt.VIR_MIGRATE_PARAM_LISTEN_ADDRESS] = to.address
        if (bandwidth := self._settings.migration_bandwidth) is not None:
            given[libvirt.VIR_MIGRATE_PARAM_BANDWIDTH] = max(1, bandwidth // 2**20)
        # libvirt recognises few kinds of shared storage by itself; the settings say that this is one.
        flags = _FLAGS | (libvirt.VIR_MIGRATE_UNSAFE if self._settings.shared_storage else 0)
        while True:
            try:
                domain.migrateToURI3(to.uri, given, flags)
            except libvirt.libvirtError as error:
                # Another migration of it is under way, from before a restart: wait for its end.
                if error.get_error_code() != libvirt.VIR_ERR_OPERATION_TIMEOUT or not domain.isActive():
                    raise
                continue
            return definition

    async def _watch(self, key: str, source: Hypervisor) -> None:
        downtime_s = self._settings.migration_downtime_s
        while True:
            await asyncio.sleep(POLL_S)
            with contextlib.suppress(libvirt.libvirtError, HypervisorUnreachable, Refusal):

                def ask(virt: Virt) -> dict[str, Any]:
                    domain = source.domains.required(virt, key)
                    if downtime_s is not None:
                        with contextlib.suppress(libvirt.libvirtError):
                            domain.migrateSetMaxDowntime(round(downtime_s * 1000))
                    return dict(domain.jobStats())

                self._note(key, await source.connections.call(ask))

    def _note(self, key: str, stats: dict[str, Any]) -> None:
        if not stats.get("memory_total") or key not in self._progress:
            return
        page_bytes = int(stats.get("memory_page_size", 4096))
        rate = stats.get("memory_dirty_rate")
        self._progress[key] = replace(
            self._progress[key],
            elapsed_s=time.monotonic() - self._began.get(key, time.monotonic()),
            total_bytes=int(stats.get("data_total", 0)),
            sent_bytes=int(stats.get("data_processed", 0)),
            remaining_bytes=int(stats.get("data_remaining", 0)),
            dirty_bytes_per_s=None if rate is None else int(rate) * page_bytes,
            rounds=int(stats.get("memory_iteration", 0)),
            downtime_s=stats["downtime"] / 1000 if "downtime" in stats else None,
        )


def _has_disks(domains: HostDomains, virt: Virt, key: str) -> bool:
    described = ET.fromstring(domains.required(virt, key).XMLDesc())  # noqa: S314 - libvirt wrote it
    return described.find("devices/disk/source") is not None


def can_move(record: Record | None) -> Record:
    """Raises Refusal for an attempt that does not run."""
    if record is None or record.state is not State.ORDERED or record.node is None:
        raise Refusal("it does not run, so it cannot be migrated")
    return record


def address_of(target: Hypervisor) -> PeerAddress:
    """Raises Refusal if no other hypervisor reaches it, or it does not answer."""
    uri = target.settings.reached_by_peers
    if uri is None:
        raise Refusal(f"hypervisors do not reach {target.name}: give it peer_uri in the settings")
    if not target.online:
        raise Refusal(target.offline)
    return PeerAddress(uri, target.settings.migration_address, target.facts.cpu_lists)
