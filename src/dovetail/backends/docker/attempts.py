"""Drives the attempts of one host to their desired state, each on its own, and reports their states.

Guarantees: whatever wakes an attempt (an order, an event, a poll), its next step is decided from the journal and the
engine alone, so an interrupted step is continued; reports of one attempt are in order and are repeated if they fail;
an attempt that hangs delays no other; attempts at rest cost nothing.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from dovetail.backends.attempt_journal import Journal, Record, State
from dovetail.backends.contract import Assignment, Refusal, Report
from dovetail.backends.docker.connection import DockerUnreachable
from dovetail.backends.docker.container import Identity
from dovetail.backends.docker.deciding import AttemptStep, Do, Seen, could_not_start, decide, seen_in
from dovetail.backends.docker.engine_api import DockerApiError, EngineApi
from dovetail.backends.docker.failures import FAILURES
from dovetail.backends.docker.images import Images
from dovetail.model.backoff import Backoff
from dovetail.model.command import task_of_key
from dovetail.model.event import BindFailed, TaskFinished, TaskStarted
from dovetail.model.text.quantity import format_duration

BIND_PATIENCE_S = 20.0  # a bind that takes longer, to pull its image, is accepted
TIME_LIMIT_EXIT = 124  # as timeout(1) uses it
SETTLE_S = 1.0
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.2, 10.0
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Active:
    """An attempt that is not at rest."""

    wake: asyncio.Event = field(default_factory=asyncio.Event)
    settled: asyncio.Event = field(default_factory=asyncio.Event)
    binds: int = 0  # how many wait for the outcome; one that is cancelled is repeated, and counts
    task: asyncio.Task[None] | None = None


class DockerAttempts:
    def __init__(
        self,
        identity: Identity,
        api: EngineApi,
        journal: Journal,
        images: Images,
        report: Report,
        body_of: Callable[[Assignment], dict[str, Any]],
        parallel: int,
        trouble: Callable[[], None],
    ) -> None:
        self.reachable = asyncio.Event()
        self._identity, self._api, self._journal, self._images = identity, api, journal, images
        self._report, self._body_of, self._trouble = report, body_of, trouble
        self._slots = asyncio.Semaphore(parallel)
        self._active: dict[str, _Active] = {}
        self._orders: dict[str, Assignment] = {}
        self._accepted: set[str] = set()  # bound before it was started: a refusal has to be reported
        self._start_reported: set[str] = set()
        self._end_unreported: set[str] = set()  # whose end is to be reported
        self._limits: dict[str, asyncio.TimerHandle] = {}
        self._clock_ahead_s = 0.0

    def set_clock(self, host_now_s: float) -> None:
        """The host's current time: its containers' times are in its clock."""
        self._clock_ahead_s = host_now_s - time.time()

    async def seen(self, key: str) -> Seen | None:
        """Its container, asked of the engine; None if there is none."""
        inspected = await self._api.inspect(self._identity.name(key))
        return None if inspected is None else seen_in(inspected)

    def rests(self, key: str) -> bool:
        """It runs, its start was reported, and no step is in progress."""
        return key in self._start_reported and key not in self._active

    def wake(self, key: str) -> _Active:
        """Something may have happened to it. An end that was reported is not reported again."""
        active = self._active.get(key)
        if active is None:
            active = self._active[key] = _Active()
            active.task = asyncio.create_task(self._drive(key, active), name=f"docker: attempt {key}")
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

    async def kill(self, key: str) -> None:
        """Its container, if it runs. The driver that waits for its end goes on then."""
        await self._api.kill(self._identity.name(key))

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
            record = await self._journal.refuse(assignment.key, "the host fell silent before it was started")
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

    async def _drive(self, key: str, active: _Active) -> None:
        backoff = Backoff(FIRST_PAUSE_S, LONGEST_PAUSE_S)
        while True:
            active.wake.clear()
            try:
                at_rest = await self._step(key, active)
                backoff.reset()
            except DockerUnreachable:
                self._trouble()
                await asyncio.sleep(SETTLE_S)  # a request may still be in flight
                await _done_before(active.wake, self.reachable.wait())  # an end can be reported without the host
                continue
            except Exception:  # an error of the receiver, the disk or the engine must not end the task
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
        name = self._identity.name(key)
        seen = None
        if record.state is not State.ENDED:
            self._end_unreported.add(key)
            seen = await self.seen(key)
        step = decide(record, seen)
        match step.do:
            case Do.CREATE:
                return await self._create(key, name, active)
            case Do.START:
                await self._start(record, name)
            case Do.STOP:
                assert seen is not None
                await self._journal.stop_sent(key)
                await self._api.stop(name, seen.grace_s)
            case Do.REST:
                assert seen is not None
                return await self._rest(key, seen)
            case Do.END:
                await self._end(key, name, step)
            case Do.REPORT:
                await self._report_end(record, active)
                return True
        return False

    async def _create(self, key: str, name: str, active: _Active) -> bool:
        assignment = self._orders.get(key)
        if assignment is None:  # ordered before a restart; the caller repeats the bind
            return True
        try:
            if not await _done_before(active.wake, self._images.fetch(assignment.spec.run.image or "")):
                return False  # something happened meanwhile, such as a stop
            async with self._slots:
                record = await self._journal.get(key)
                if record is None or record.state is not State.ORDERED:
                    return False
                await self._api.create(name, self._body_of(assignment))
        except DockerApiError as error:
            words = FAILURES.advised(f"its container could not be created: {error}")
            await self._journal.end(key, None, words, ran=False)
            return False
        if (await self._journal.created(key)).state is State.ENDED:
            await self._api.remove(name)  # it was stopped while it was created
        return False

    async def _start(self, record: Record, name: str) -> None:
        async with self._slots:
            if (await self._journal.created(record.key)).state is not State.ORDERED:
                return
            try:
                await self._api.start(name)
            except DockerApiError as error:
                if decide(record, await self.seen(record.key)).do is Do.START:  # unchanged: only this error says why
                    await self._end(record.key, name, could_not_start(0, str(error)))

    async def _end(self, key: str, name: str, step: AttemptStep) -> None:
        await self._journal.end(key, step.exit_code, step.reason, ran=step.ran)
        if step.remove:
            await self._api.remove(name)

    async def _rest(self, key: str, seen: Seen) -> bool:
        """False if its time limit has passed."""
        if key not in self._start_reported:
            await self._report(TaskStarted(task_of_key(key), key))
            self._start_reported.add(key)
        if seen.run_for_s is not None and seen.started_at is not None and key not in self._limits:
            left_s = seen.started_at + seen.run_for_s - (time.time() + self._clock_ahead_s)
            if left_s <= 0:
                reason = f"stopped: it ran longer than its time limit of {format_duration(seen.run_for_s)}"
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
        self._accepted.discard(key)
        self._end_unreported.discard(key)
        self._start_reported.discard(key)
        self._orders.pop(key, None)
        if (limit := self._limits.pop(key, None)) is not None:
            limit.cancel()


async def _done_before(wake: asyncio.Event, work: Awaitable[object]) -> bool:
    """Whether the work was done. False if the event came first; the work is then cancelled."""
    doing = asyncio.ensure_future(work)
    waking = asyncio.create_task(wake.wait())
    try:
        await asyncio.wait({doing, waking}, return_when=asyncio.FIRST_COMPLETED)
        if doing.done():
            await doing
            return True
        return False
    finally:
        for task in (doing, waking):
            task.cancel()
        await asyncio.gather(doing, waking, return_exceptions=True)
