"""Live migration of one attempt from a hypervisor to another, peer to peer: libvirt of the source drives it.

Before: the journal says where it is and, from the first step on, where it may be soon. After: it runs on the target
under the same key, or it runs on as before. A crash in between is repaired by asking both (`settle`). The source goes
on migrating while nobody watches, so a repeated call waits for a migration that is under way.
"""

import asyncio
import contextlib
import logging
import time
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree as ET

import libvirt

from dovetail.backends.attempt_journal import Journal, Record, State
from dovetail.backends.contract import Refusal
from dovetail.backends.libvirt.connection import HypervisorUnreachable, Virt, close
from dovetail.backends.libvirt.domain_xml import migrated_xml
from dovetail.backends.libvirt.domains import UNDEFINE, HostDomains
from dovetail.backends.libvirt.hypervisor import Hypervisor
from dovetail.backends.libvirt.power import Power
from dovetail.backends.libvirt.settings import LibvirtSettings
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


class LiveMigrations:
    def __init__(self, settings: LibvirtSettings, journal: Journal) -> None:
        self._settings, self._journal = settings, journal
        self._progress: dict[str, MigrationProgress] = {}

    def progress(self, key: str) -> MigrationProgress | None:
        return self._progress.get(key)

    async def migrate(self, record: Record, source: Hypervisor, target: Hypervisor) -> None:
        """Raises Refusal if it still runs on the source, anything else if that is not known."""
        key = record.key
        to = target.settings.reached_by_peers
        if to is None:
            raise Refusal(f"hypervisors do not reach {target.name}: give it peer_uri in the settings")
        for one in (source, target):
            if not one.online:
                raise Refusal(f"hypervisor {one.name} is offline: {one.trouble}")
        if not self._settings.shared_storage:
            await source.connections.call(lambda virt: _refuse_disks(source.domains, virt, key, source.name))
        await self._journal.begin_move(key, target.name)
        for one in (source, target):
            one.attempts.moving.add(key)
        began = time.monotonic()
        self._progress[key] = MigrationProgress(source.name, target.name, "running", 0.0)
        definition = ""
        try:
            definition = await self._send(key, source, target, to)
            here = await self.settle(record, source, target)
        except (libvirt.libvirtError, Refusal) as error:
            here = await self.settle(record, source, target)
            if here != target.name:
                self._ended(key, began, "failed", str(error))
                raise Refusal(f"{source.name} could not migrate it to {target.name}: {error}") from error
        finally:
            for one in (source, target):
                one.attempts.moving.discard(key)
        if here != target.name:
            self._ended(key, began, "failed", "it stayed where it was")
            raise Refusal(f"it was not migrated to {target.name}, and runs on on {source.name}")
        await self._remove_variables(source, definition)
        await self._note_totals(key, target)
        self._ended(key, began, "done", "")

    async def settle(self, record: Record, source: Hypervisor, target: Hypervisor) -> str:
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
        here = target.name if arrived else source.name
        if here == source.name:
            target.domains.adopted.pop(key, None)
        else:
            source.domains.adopted.pop(key, None)
        await self._journal.end_move(key, here)
        for one in (source, target):
            one.attempts.moving.discard(key)
        if here == target.name:
            order = source.attempts.let_go(key)
            if order is not None:
                target.attempts.take_order(order)
            target.attempts.arrive(key)
            source.look_again()
        else:
            source.attempts.wake(key)
        return here

    async def abort(self, key: str, source: Hypervisor) -> None:
        """It is to stop: there is no sense in moving it."""
        with contextlib.suppress(libvirt.libvirtError, HypervisorUnreachable, Refusal):
            await source.connections.call(lambda virt: source.domains.required(virt, key).abortJob())

    # --- one migration ---------------------------------------------------------------------------------------

    async def _send(self, key: str, source: Hypervisor, target: Hypervisor, to: str) -> str:
        """Its definition on the source, which is gone there."""
        if not self._settings.shared_storage and source.domains.has_storage and key not in source.domains.adopted:
            await self._copy_log(key, source, target)
        virt = await source.connections.open()
        watching = asyncio.create_task(self._watch(key, source), name=f"libvirt: migration of {key}")
        try:
            begin = asyncio.create_task(
                source.connections.in_thread(
                    lambda: self._migrate(virt, key, source, target, to), self._settings.migrate_within_s
                )
            )
            try:
                return await asyncio.shield(begin)
            except HypervisorUnreachable:
                await self.abort(key, source)
                raise
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
            close(virt)

    def _migrate(self, virt: Virt, key: str, source: Hypervisor, target: Hypervisor, to: str) -> str:
        """Blocks until it is over. Returns its definition on the source, for one of ours."""
        domain = source.domains.required(virt, key)
        definition = "" if key in source.domains.adopted else str(domain.XMLDesc(libvirt.VIR_DOMAIN_XML_INACTIVE))
        given: dict[str, Any] = {}
        if key not in source.domains.adopted:
            form = libvirt.VIR_DOMAIN_XML_MIGRATABLE | libvirt.VIR_DOMAIN_XML_SECURE
            given[libvirt.VIR_MIGRATE_PARAM_DEST_XML] = migrated_xml(domain.XMLDesc(form), target.facts)
        if (address := target.settings.migration_address) is not None:
            given[libvirt.VIR_MIGRATE_PARAM_URI] = f"tcp://{address}"
            given[libvirt.VIR_MIGRATE_PARAM_LISTEN_ADDRESS] = address
        if (bandwidth := self._settings.migration_bandwidth) is not None:
            given[libvirt.VIR_MIGRATE_PARAM_BANDWIDTH] = max(1, bandwidth // 2**20)
        # libvirt recognises few kinds of shared storage by itself; the settings say that this is one.
        flags = _FLAGS | (libvirt.VIR_MIGRATE_UNSAFE if self._settings.shared_storage else 0)
        while True:
            try:
                domain.migrateToURI3(to, given, flags)
            except libvirt.libvirtError as error:
                # Another migration of it is under way, from before a restart: wait for its end.
                if error.get_error_code() != libvirt.VIR_ERR_OPERATION_TIMEOUT or not domain.isActive():
                    raise
                continue
            return definition

    async def _remove_variables(self, source: Hypervisor, definition: str) -> None:
        """Of UEFI. libvirt leaves that file on the source, and removes it only together with a definition."""
        if not definition or ET.fromstring(definition).find("os[@firmware='efi']") is None:  # noqa: S314 - of libvirt
            return
        with contextlib.suppress(libvirt.libvirtError, HypervisorUnreachable):  # a definition goes with the next look
            await source.connections.call(lambda virt: virt.defineXML(definition).undefineFlags(UNDEFINE))

    async def _copy_log(self, key: str, source: Hypervisor, target: Hypervisor) -> None:
        there = await target.connections.open()
        try:
            await source.connections.call(
                lambda here: source.domains.storage.copy_log(here, there, key), self._settings.start_within_s
            )
        finally:
            close(there)

    async def _watch(self, key: str, source: Hypervisor) -> None:
        began, downtime_s = time.monotonic(), self._settings.migration_downtime_s
        while True:
            await asyncio.sleep(POLL_S)
            with contextlib.suppress(libvirt.libvirtError, HypervisorUnreachable, Refusal):

                def ask(virt: Virt) -> dict[str, Any]:
                    domain = source.domains.required(virt, key)
                    if downtime_s is not None:
                        with contextlib.suppress(libvirt.libvirtError):
                            domain.migrateSetMaxDowntime(round(downtime_s * 1000))
                    return dict(domain.jobStats())

                self._note(key, await source.connections.call(ask), began)

    def _note(self, key: str, stats: dict[str, Any], began: float) -> None:
        if not stats.get("memory_total"):
            return
        page_bytes = int(stats.get("memory_page_size", 4096))
        rate = stats.get("memory_dirty_rate")
        self._progress[key] = replace(
            self._progress[key],
            elapsed_s=time.monotonic() - began,
            total_bytes=int(stats.get("data_total", 0)),
            sent_bytes=int(stats.get("data_processed", 0)),
            remaining_bytes=int(stats.get("data_remaining", 0)),
            dirty_bytes_per_s=None if rate is None else int(rate) * page_bytes,
            rounds=int(stats.get("memory_iteration", 0)),
            downtime_s=stats["downtime"] / 1000 if "downtime" in stats else None,
        )

    async def _note_totals(self, key: str, target: Hypervisor) -> None:
        def ask(virt: Virt) -> dict[str, Any]:
            return dict(target.domains.required(virt, key).jobStats(libvirt.VIR_DOMAIN_JOB_STATS_COMPLETED))

        with contextlib.suppress(libvirt.libvirtError, HypervisorUnreachable, Refusal):
            self._note(key, await target.connections.call(ask), time.monotonic())

    def _ended(self, key: str, began: float, state: str, words: str) -> None:
        done = replace(self._progress[key], state=state, elapsed_s=time.monotonic() - began, words=words)
        self._progress[key] = done
        _log.info(
            *("migration of %s from %s to %s: %s in %.1f s, %d bytes sent, %s s paused", key, done.source, done.target),
            *(f"{state} {words}".strip(), done.elapsed_s, done.sent_bytes, done.downtime_s),
        )


def _refuse_disks(domains: HostDomains, virt: Virt, key: str, name: str) -> None:
    described = ET.fromstring(domains.required(virt, key).XMLDesc())  # noqa: S314 - libvirt wrote it
    if described.find("devices/disk/source") is not None:
        words = "its disks are on that hypervisor only; use storage that all share, and set shared_storage"
        raise Refusal(f"it cannot be migrated live away from {name}: {words}")


def can_move(record: Record | None) -> Record:
    """Raises Refusal for an attempt that does not run."""
    if record is None or record.state is not State.ORDERED or record.node is None:
        raise Refusal("it does not run, so it cannot be migrated")
    return record
