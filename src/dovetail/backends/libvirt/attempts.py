"""Drives the attempts of one hypervisor to their desired state, each on its own, and reports their states.

Guarantees: whatever wakes an attempt (an order, an event, a poll), its next step is decided from the journal and the
hypervisor alone, so an interrupted step is continued; reports of one attempt are in order and are repeated if they
fail; an attempt that hangs delays no other; an attempt that is being migrated is left alone.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

import libvirt

from dovetail.backends.attempt_journal import Journal, Record, State
from dovetail.backends.contract import Assignment, Refusal, Report
from dovetail.backends.libvirt.connection import HypervisorConnections, HypervisorUnreachable, Virt
from dovetail.backends.libvirt.deciding import DomainAction, DomainStep, SeenDomain, decide
from dovetail.backends.libvirt.domains import HostDomains
from dovetail.backends.libvirt.failures import FAILURES
from dovetail.backends.libvirt.power import Power
from dovetail.backends.libvirt.settings import LibvirtSettings
from dovetail.model.backoff import Backoff
from dovetail.model.command import task_of_key
from dovetail.model.event import BindFailed, TaskFinished, TaskStarted
from dovetail.model.text.quantity import format_duration

BIND_PATIENCE_S = 20.0  # a bind that takes longer, to make its disks, is accepted
TIME_LIMIT_EXIT = 124  # as timeout(1) uses it
SETTLE_S = 1.0
ASK_AGAIN_S = 3.0  # until the next request to shut down
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.2, 10.0
_log = logging.getLogger(__name__)
T = TypeVar("T")


@dataclass(slots=True)
class _Active:
    """An attempt that is not at rest."""

    wake: asyncio.Event = field(default_factory=asyncio.Event)
    settled: asyncio.Event = field(default_factory=asyncio.Event)
    binds: int = 0  # how many wait for the outcome
    task: asyncio.Task[None] | None = None
    asked_at: float | None = None  # when the guest was asked to shut down


class LibvirtAttempts:
    def __init__(
        self,
        connections: HypervisorConnections,
        domains: HostDomains,
        journal: Journal,
        report: Report,
        settings: LibvirtSettings,
        trouble: Callable[[], None],
    ) -> None:
        self.reachable = asyncio.Event()
        self.moving: set[str] = set()
        self._connections, self._domains, self._journal = connections, domains, journal
        self._report, self._settings, self._trouble = report, settings, trouble
        self._slots = asyncio.Semaphore(settings.parallel)
        self._active: dict[str, _Active] = {}
        self._orders: dict[str, Assignment] = {}
        self._accepted: set[str] = set()  # bound before it was started: a refusal has to be reported
        self._start_reported: set[str] = set()
        self._end_unreported: set[str] = set()  # whose end is to be reported
        self._killed: set[str] = set()
        self._limits: dict[str, asyncio.TimerHandle] = {}

    async def seen(self, key: str) -> SeenDomain | None:
        return await self._call(lambda virt: self._domains.seen(virt, key))

    def rests(self, key: str) -> bool:
        """It runs, its start was reported, and no step is in progress."""
        return key in self._start_reported and key not in self._active

    def wake(self, key: str) -> _Active:
        """Something may have happened to it. An end that was reported is not reported again."""
        active = self._active.get(key)
        if active is None:
            active = self._active[key] = _Active()
            active.task = asyncio.create_task(self._drive(key, active), name=f"libvirt: attempt {key}")
        active.wake.set()
        return active

    def report_again(self, assignment: Assignment) -> None:
        """It was bound before: report its state again."""
        self._orders[assignment.key] = assignment
        self._start_reported.discard(assignment.key)
        self.end(assignment.key)

    def end(self, key: str) -> None:
        """It is to stop, or a caller waits for the report of its end."""
        self._end_unreported.add(key)
        self.wake(key)

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

    def leave(self, key: str) -> Assignment | None:
        """It was migrated away. Returns its order, if that is known."""
        self._start_reported.discard(key)
        self._end_unreported.discard(key)
        if (limit := self._limits.pop(key, None)) is not None:
            limit.cancel()
        return self._orders.pop(key, None)

    async def launch(self, assignment: Assignment) -> None:
        """Begin an ordered attempt. Returns when it runs, has ended, or takes long. Raises Refusal."""
        self._orders[assignment.key] = assignment
        self._end_unreported.add(assignment.key)
        active = self.wake(assignment.key)
        active.binds += 1
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(BIND_PATIENCE_S):
                await active.settled.wait()
        record = await self._journal.get(assignment.key)
        if not active.settled.is_set() and not self.reachable.is_set():
            record = await self._journal.refuse(assignment.key, "the hypervisor fell silent before it was started")
        active.binds -= 1
        if record is not None and record.refused:
            self._end_unreported.discard(assignment.key)
            raise Refusal(record.reason, FAILURES.cause(record.reason))
        if not active.settled.is_set():
            self._accepted.add(assignment.key)

    async def close(self) -> None:
        for handle in self._limits.values():
            handle.cancel()
        tasks = [active.task for active in self._active.values() if active.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # --- one attempt -----------------------------------------------------------------------------------------

    async def _call(self, work: Callable[[Virt], T], within_s: float | None = None) -> T:
        return await self._connections.call(work, within_s)

    async def _drive(self, key: str, active: _Active) -> None:
        backoff = Backoff(FIRST_PAUSE_S, LONGEST_PAUSE_S)
        while True:
            active.wake.clear()
            try:
                at_rest = await self._step(key, active)
                backoff.reset()
            except HypervisorUnreachable:
                self._trouble()
                await asyncio.sleep(SETTLE_S)  # a request may still be in flight
                await _first_of(active.wake, self.reachable)  # an end can be reported without the hypervisor
                continue
            except Exception:  # an error of the receiver, the disk or libvirt must not end the task
                _log.exception("attempt %s: trying again in %.1f s", key, backoff.pause_s)
                await asyncio.sleep(backoff.next_s())
                continue
            if at_rest and not active.wake.is_set():
                active.settled.set()
                del self._active[key]
                return

    async def _step(self, key: str, active: _Active) -> bool:
        """Take one step. True at rest."""
        record = await self._journal.get(key)
        if record is None:
            self._end_unreported.discard(key)
            return True
        if key in self.moving:
            return True
        seen = None
        if record.state is not State.ENDED:
            self._end_unreported.add(key)
            seen = await self.seen(key)
            if seen is None and await self._journal.target(key) is not None:
                return True  # it is being migrated, or was: whoever migrates it says where it is
        step = decide(record, seen)
        match step.action:
            case DomainAction.DEFINE:
                return await self._define(key)
            case DomainAction.START:
                await self._start(record)
            case DomainAction.STOP:
                assert seen is not None
                await self._stop(record, seen, active)
            case DomainAction.REST:
                assert seen is not None
                return await self._rest(key, seen)
            case DomainAction.END:
                await self._end(key, step)
            case DomainAction.REPORT:
                await self._report_end(record, active)
                return True
        return False

    async def _define(self, key: str) -> bool:
        assignment = self._orders.get(key)
        if assignment is None:  # ordered before a restart; the caller repeats the bind
            return True
        mark = self._domains.identity.mark(assignment, self._settings.grace_s, time.time())
        vm = assignment.spec.vm
        assert vm is not None
        adopt = vm.adopt
        try:
            async with self._slots:
                record = await self._journal.get(key)
                if record is None or record.state is not State.ORDERED:
                    return False
                if adopt is None:
                    await self._call(
                        lambda virt: self._domains.define(virt, assignment, mark), self._settings.start_within_s
                    )
                else:
                    await self._call(lambda virt: self._domains.adopt(virt, adopt, mark))
        except (libvirt.libvirtError, Refusal) as error:
            await self._refuse(key, f"its VM could not be made: {error}")
            return False
        if (await self._journal.created(key)).state is State.ENDED:
            await self._remove(key)  # it was stopped while it was made
        return False

    async def _start(self, record: Record) -> None:
        async with self._slots:
            if (await self._journal.created(record.key)).state is not State.ORDERED:
                return
            try:
                await self._call(lambda virt: self._domains.start(virt, record.key), self._settings.start_within_s)
            except libvirt.libvirtError as error:
                seen = await self.seen(record.key)
                if seen is None or seen.power is Power.OFF:
                    await self._refuse(record.key, f"it could not be started: {error}")

    async def _refuse(self, key: str, words: str) -> None:
        await self._end(key, DomainStep(DomainAction.END, None, FAILURES.advised(words)))

    async def _stop(self, record: Record, seen: SeenDomain, active: _Active) -> None:
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

    async def _end(self, key: str, step: DomainStep) -> None:
        await self._journal.end(key, step.exit_code, step.reason, ran=step.ran)
        await self._remove(key)

    async def _remove(self, key: str) -> None:
        """What cannot be removed now is removed by a later look."""
        try:
            async with self._slots:
                await self._call(lambda virt: self._domains.remove(virt, key), self._settings.start_within_s)
        except (libvirt.libvirtError, HypervisorUnreachable) as error:
            _log.warning("attempt %s: its domain is not removed yet: %s", key, error)

    async def _rest(self, key: str, seen: SeenDomain) -> bool:
        """False if its time limit has passed."""
        if key not in self._start_reported:
            await self._report(TaskStarted(task_of_key(key), key))
            self._start_reported.add(key)
        mark = seen.mark
        if mark is not None and mark.run_for_s is not None and key not in self._limits:
            left_s = mark.since + mark.run_for_s - time.time()
            if left_s <= 0:
                reason = f"stopped: it ran longer than its time limit of {format_duration(mark.run_for_s)}"
                await self._journal.stop(key, reason, TIME_LIMIT_EXIT)
                return False
            self._limits[key] = asyncio.get_running_loop().call_later(left_s, self._limit_reached, key)
        return True

    def _limit_reached(self, key: str) -> None:
        del self._limits[key]
        self.wake(key)

    async def _report_end(self, record: Record, active: _Active) -> None:
        key = record.key
        reported_by_bind = record.refused and record.stop_reason is None and active.binds > 0
        if key in self._end_unreported and not reported_by_bind:
            task, cause = task_of_key(key), FAILURES.cause(record.reason)
            if record.ran and key not in self._start_reported:
                await self._report(TaskStarted(task, key))
            if record.refused and record.stop_reason is None and key in self._accepted:
                await self._report(BindFailed(task, key, record.reason, cause))
            else:
                await self._report(TaskFinished(task, key, record.exit_code, record.reason, cause))
        for kept in (self._accepted, self._end_unreported, self._start_reported, self._killed):
            kept.discard(key)
        self._orders.pop(key, None)
        if (limit := self._limits.pop(key, None)) is not None:
            limit.cancel()


async def _first_of(*events: asyncio.Event) -> None:
    waiting = [asyncio.create_task(event.wait()) for event in events]
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
