"""The attempts of one hypervisor: each is a domain, defined, started, shut down and removed through libvirt."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from typing import TypeVar

import libvirt

from dovetail.backends.attempt_journal import Journal, Record, State
from dovetail.backends.contract import Assignment, Refusal, Report
from dovetail.backends.hosts.attempt_step import AttemptAction, AttemptStep
from dovetail.backends.hosts.attempts import ActiveAttempt, HostAttempts, RunLimit
from dovetail.backends.libvirt.connection import HypervisorConnections, HypervisorUnreachable, Virt
from dovetail.backends.libvirt.deciding import SeenDomain, decide
from dovetail.backends.libvirt.domains import HostDomains
from dovetail.backends.libvirt.failures import FAILURES
from dovetail.backends.libvirt.power import Power
from dovetail.backends.libvirt.settings import LibvirtSettings

ASK_AGAIN_S = 3.0  # until the next request to shut down
_log = logging.getLogger(__name__)
T = TypeVar("T")


class LibvirtAttempts(HostAttempts[SeenDomain]):
    """An attempt that is being migrated, or was migrated to another host, is left alone: events of the domain that it
    leaves behind come late."""

    kind, host_word, failures = "libvirt", "hypervisor", FAILURES

    def __init__(
        self,
        host: str,
        connections: HypervisorConnections,
        domains: HostDomains,
        journal: Journal,
        report: Report,
        settings: LibvirtSettings,
        trouble: Callable[[], None],
    ) -> None:
        super().__init__(journal, report, settings.parallel, trouble)
        self.moving: set[str] = set()
        self._host, self._connections, self._domains, self._settings = host, connections, domains, settings
        self._killed: set[str] = set()

    def kill(self, key: str) -> None:
        """Without grace from now on."""
        self._killed.add(key)
        self.end(key)

    def arrive(self, key: str) -> None:
        """It was migrated here, and its start was reported before."""
        self._start_reported.add(key)
        self.wake(key)

    def take_order(self, assignment: Assignment) -> None:
        """Of an attempt that was migrated here."""
        self._orders[assignment.key] = assignment

    async def seen(self, key: str) -> SeenDomain | None:
        return await self._call(lambda virt: self._domains.seen(virt, key))

    async def is_elsewhere(self, key: str, seen: SeenDomain | None) -> bool:
        gone = seen is None or seen.power is Power.OFF  # libvirt switches it off before it removes it
        return gone and await self._journal.target(key) is not None

    def decide(self, record: Record, seen: SeenDomain | None) -> AttemptStep:
        return decide(record, seen)

    async def make(self, assignment: Assignment, active: ActiveAttempt) -> None:  # noqa: ARG002 - nothing to fetch
        key = assignment.key
        mark = self._domains.identity.mark(assignment, self._settings.grace_s, time.time())
        vm = assignment.spec.vm
        assert vm is not None
        adopt = vm.adopt
        try:
            async with self._slots:
                if not await self.is_ordered(key):
                    return
                if adopt is None:
                    await self._call(
                        lambda virt: self._domains.define(virt, assignment, mark), self._settings.start_within_s
                    )
                else:
                    await self._call(lambda virt: self._domains.adopt(virt, adopt, mark))
        except (libvirt.libvirtError, Refusal) as error:
            await self._refuse(key, f"its VM could not be made: {error}")
            return
        if (await self._journal.created(key)).state is State.ENDED:
            await self.remove(key)  # it was stopped while it was made

    async def start(self, record: Record) -> None:
        failed = ""
        async with self._slots:
            if (await self._journal.created(record.key)).state is not State.ORDERED:
                return
            try:
                await self._call(lambda virt: self._domains.start(virt, record.key), self._settings.start_within_s)
            except libvirt.libvirtError as error:
                seen = await self.seen(record.key)
                failed = f"it could not be started: {error}" if seen is None or seen.power is Power.OFF else ""
        if failed:
            await self._refuse(record.key, failed)  # without the slot, which removing it needs

    async def stop(self, record: Record, seen: SeenDomain, active: ActiveAttempt) -> None:
        """Ask the guest, again and again because one that boots does not listen; after its grace cut the power."""
        key, now = record.key, time.monotonic()
        grace_s = self._settings.grace_s if seen.mark is None else seen.mark.grace_s
        if active.asked_at is None:
            await self._journal.stop_sent(key)
            active.asked_at = now
        left_s = active.asked_at + grace_s - now
        if left_s <= 0 or seen.power is Power.PAUSED or key in self._killed:
            async with self._slots:
                await self._call(lambda virt: self._domains.cut_power(virt, key), self._settings.start_within_s)
            return
        await self._call(lambda virt: self._domains.ask_to_shut_down(virt, key))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(min(left_s, ASK_AGAIN_S)):
                await active.wake.wait()

    async def finish(self, key: str, step: AttemptStep) -> None:
        """Unless it has moved since the step was decided: that is then about the domain that it left behind, and its
        disks are those of the VM elsewhere."""
        record = await self._journal.end(key, step.exit_code, step.reason, ran=step.ran, at=self._host)
        if step.remove and record.node == self._host and record.state is State.ENDED:
            await self.remove(key)

    async def remove(self, key: str) -> None:
        """What cannot be removed now is removed by a later look."""
        try:
            async with self._slots:
                await self._call(lambda virt: self._domains.remove(virt, key), self._settings.start_within_s)
        except (libvirt.libvirtError, HypervisorUnreachable) as error:
            _log.warning("attempt %s: its domain is not removed yet: %s", key, error)

    def limit(self, seen: SeenDomain) -> RunLimit | None:
        mark = seen.mark
        return None if mark is None or mark.run_for_s is None else RunLimit(mark.since, mark.run_for_s)

    def forget(self, key: str) -> None:
        self._killed.discard(key)

    async def _step(self, key: str, active: ActiveAttempt) -> bool:
        record = await self._journal.get(key)
        elsewhere = record is not None and record.node != self._host
        return elsewhere or key in self.moving or await super()._step(key, active)

    async def _refuse(self, key: str, words: str) -> None:
        await self.finish(key, AttemptStep(AttemptAction.END, None, FAILURES.advised(words), remove=True))

    async def _call(self, work: Callable[[Virt], T], within_s: float | None = None) -> T:
        return await self._connections.call(work, within_s)
