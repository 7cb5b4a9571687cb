"""Drives calls to their end, each on its own, and reports their states.

Guarantees: the next step of an attempt is decided from the journal and the service alone, so an interrupted step is
continued; reports of one attempt are in order and are repeated if they fail; an attempt that hangs delays no other.
Time limits count from the first time that this process saw the call run.
"""

import asyncio
import contextlib
import logging
import time
from dataclasses import dataclass, field

from dovetail.backends.contract import Report
from dovetail.backends.serverless.calls import (
    TIME_LIMIT_EXIT,
    CallAccepted,
    CallNotSent,
    CallOrder,
    CallPhase,
    CallRefused,
    CallResult,
    CallSeen,
    CallThrottled,
    FunctionService,
)
from dovetail.backends.serverless.deciding import LOST, CallDo, CallStep, decide_call
from dovetail.backends.serverless.journal import CallJournal, CallRecord, CallState
from dovetail.model.backoff import Backoff
from dovetail.model.command import task_of_key
from dovetail.model.event import BindFailed, TaskFinished, TaskStarted, TaskWaiting
from dovetail.model.text.quantity import format_duration

STARTED_AFTER_S = 0.25  # a call that was not throttled by then has begun
SETTLE_S = 1.0  # a request whose answer was lost may still be on its way
SEND_AGAIN_AFTER_S = 3.0  # a call that was taken may not be known at once
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.2, 10.0
LONGEST_THROTTLE_S = 30.0
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PollPace:
    """How often calls are looked at, how long one may wait to begin, and after how long without a beat it is lost."""

    poll_s: float
    poll_most_s: float
    start_within_s: float
    lost_after_s: float


@dataclass(slots=True)
class _ActiveCall:
    """An attempt that has not ended, or whose end was not reported."""

    wake: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None
    opened: asyncio.Task[CallAccepted | CallResult] | None = None
    throttled: Backoff = field(default_factory=lambda: Backoff(FIRST_PAUSE_S, LONGEST_THROTTLE_S))
    polled: Backoff | None = None
    unknown_since: float | None = None
    accepted_at: float | None = None
    running_since: float | None = None
    beat: int | None = None
    beat_at: float = 0.0
    waits_for: str = ""
    start_reported: bool = False
    cancelled: bool = False


class CallAttempts:
    def __init__(
        self,
        service: FunctionService,
        journal: CallJournal,
        report: Report,
        cluster: str,
        pace: PollPace,
        parallel: int,
    ) -> None:
        self._service, self._journal, self._report = service, journal, report
        self._cluster, self._pace = cluster, pace
        self._slots = asyncio.Semaphore(parallel)
        self._active: dict[str, _ActiveCall] = {}
        self._orders: dict[str, CallOrder] = {}
        self._given_up: set[asyncio.Task[None]] = set()

    def service_key(self, key: str) -> str:
        """The idempotency key: several control planes may call the same functions."""
        return f"{self._cluster}.{key}"

    def wake(self, key: str, order: CallOrder | None = None) -> None:
        """Something is to be done, or to be reported again."""
        if order is not None:
            self._orders[key] = order
        active = self._active.get(key)
        if active is None:
            active = self._active[key] = _ActiveCall()
            active.task = asyncio.create_task(self._drive(key, active), name=f"call {key}")
        active.start_reported = False
        active.wake.set()

    async def seen(self, record: CallRecord) -> CallSeen | None:
        assert record.node is not None
        return await self._service.find(record.node, self.service_key(record.key), record.handle)

    def findable(self, record: CallRecord) -> bool:
        return bool(record.handle) or (record.node is not None and self._service.records(record.node))

    def runs_here(self, key: str) -> bool:
        active = self._active.get(key)
        return active is not None and active.start_reported

    async def close(self) -> None:
        found = (one for active in self._active.values() for one in (active.task, active.opened))
        tasks = [*(one for one in found if one is not None), *self._given_up]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._active.clear()

    # --- one attempt -----------------------------------------------------------------------------------------

    async def _drive(self, key: str, active: _ActiveCall) -> None:
        backoff = Backoff(FIRST_PAUSE_S, LONGEST_PAUSE_S)
        while True:
            active.wake.clear()
            try:
                pause_s = await self._step(key, active)
                backoff.reset()
            except Exception as error:  # of the receiver, the disk or the service: it must not end the task
                pause_s = backoff.next_s()
                _log.warning("call %s: %s: %s; trying again in %.1f s", key, type(error).__name__, error, pause_s)
            if pause_s is None and not active.wake.is_set():
                del self._active[key]
                self._orders.pop(key, None)
                return
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause_s or 0.0):
                    await active.wake.wait()

    async def _step(self, key: str, active: _ActiveCall) -> float | None:
        """Take one step. The seconds until the next one; None at the end."""
        if active.opened is not None and active.opened.done():
            opened, active.opened = active.opened, None
            return await self._take_answer(key, active, opened)
        record = await self._journal.get(key)
        if record is None:
            return None
        findable, seen = self.findable(record), None
        if record.state in (CallState.SENT, CallState.ADOPTED) and findable and active.opened is None:
            seen = await self.seen(record)
        step = decide_call(record, seen, findable=findable, open_here=active.opened is not None)
        match step.do:
            case CallDo.SEND:
                if record.state is CallState.SENT and not self._long_unknown(active):
                    return self._pause(key, active, time.monotonic())
                return await self._send(key, active)
            case CallDo.WAIT:
                return await self._wait(record, active, seen)
            case CallDo.CANCEL:
                return await self._cancel(record, active)
            case CallDo.END:
                await self._end(record, active, step)
                return 0.0
            case CallDo.REPORT:
                await self._report_end(record, active)
                return None

    def _long_unknown(self, active: _ActiveCall) -> bool:
        """A call that may have been sent was looked for long enough."""
        now = time.monotonic()
        if active.unknown_since is None:
            active.unknown_since = now
        return now - active.unknown_since >= SEND_AGAIN_AFTER_S

    async def _send(self, key: str, active: _ActiveCall) -> float:
        order = self._orders.get(key)
        if order is None:  # ordered before a restart; the caller repeats the bind, or reconciles
            return LONGEST_PAUSE_S
        if (await self._journal.sent(key)).state is not CallState.SENT:
            return 0.0
        active.opened = asyncio.create_task(self._begin(order), name=f"call {key} is open")
        active.opened.add_done_callback(lambda _: active.wake.set())
        if self._service.records(order.node):  # an answer comes at once
            await asyncio.wait([active.opened])
            return 0.0
        return STARTED_AFTER_S

    async def _begin(self, order: CallOrder) -> CallAccepted | CallResult:
        if not self._service.records(order.node):
            return await self._service.begin(order)
        async with self._slots:
            return await self._service.begin(order)

    async def _take_answer(
        self, key: str, active: _ActiveCall, opened: asyncio.Task[CallAccepted | CallResult]
    ) -> float:
        try:
            answer = opened.result()
        except (CallThrottled, CallNotSent) as error:
            await self._journal.not_sent(key)
            await self._say_waiting(key, active, str(error))
            return active.throttled.next_s()
        except CallRefused as error:
            await self._journal.end(key, CallResult(None, str(error), cause=error.cause), ran=False)
            return 0.0
        except Exception as error:
            record = await self._journal.get(key)
            if record is not None and self.findable(record):
                _log.info("call %s: its answer was lost (%s); looking for it", key, error)
                return SETTLE_S
            await self._journal.end(key, CallResult(None, f"{LOST} ({error})"), ran=True)
            return 0.0
        if isinstance(answer, CallAccepted):
            active.accepted_at = time.monotonic()
            await self._journal.accepted(key, answer.handle)
        else:
            await self._journal.end(key, answer, ran=True)
        return 0.0

    async def _wait(self, record: CallRecord, active: _ActiveCall, seen: CallSeen | None) -> float:
        now = time.monotonic()
        if active.opened is not None or (seen is not None and seen.phase is CallPhase.RUNNING):
            if active.running_since is None:
                active.running_since = now
            active.accepted_at = None
            await self._say_started(record.key, active)
            if await self._over_limit(record, active, now) or await self._silent(record, active, seen, now):
                return 0.0
        else:
            if active.accepted_at is None:
                active.accepted_at = now
            if now - active.accepted_at > self._pace.start_within_s:
                within = format_duration(self._pace.start_within_s)
                never = f"the service did not begin it within {within}"
                gone = f"lost: the service has known nothing of it for {within}"
                await self._journal.stop(record.key, never if active.running_since is None else gone)
                return 0.0
        return self._pause(record.key, active, now)

    def _pause(self, key: str, active: _ActiveCall, now: float) -> float:
        if active.polled is None:
            active.polled = Backoff(self._pace.poll_s, self._pace.poll_most_s, factor=1.5)
        pause_s = active.polled.next_s() if active.opened is None else LONGEST_PAUSE_S
        order = self._orders.get(key)
        if order is not None and order.timeout_s is not None and active.running_since is not None:
            pause_s = min(pause_s, max(0.0, active.running_since + order.timeout_s - now))
        return pause_s

    async def _over_limit(self, record: CallRecord, active: _ActiveCall, now: float) -> bool:
        order = self._orders.get(record.key)
        if order is None or order.timeout_s is None or active.running_since is None:
            return False
        if now - active.running_since < order.timeout_s:
            return False
        words = f"stopped: it ran longer than its time limit of {format_duration(order.timeout_s)}"
        await self._journal.stop(record.key, words, TIME_LIMIT_EXIT)
        return True

    async def _silent(self, record: CallRecord, active: _ActiveCall, seen: CallSeen | None, now: float) -> bool:
        """Whether it was given up, because its function has not shown a sign of life for too long."""
        if seen is None or seen.beat is None:
            return False
        if seen.beat != active.beat:
            active.beat, active.beat_at = seen.beat, now
        if now - active.beat_at < self._pace.lost_after_s:
            return False
        silent = format_duration(self._pace.lost_after_s)
        words = f"lost: its function has shown no sign of life for {silent}; it crashed, or ran out of memory or time"
        assert record.node is not None
        await self._service.cancel(record.node, self.service_key(record.key), record.handle, words)
        await self._journal.end(record.key, CallResult(None, words), ran=True)
        return True

    async def _cancel(self, record: CallRecord, active: _ActiveCall) -> float:
        assert record.node is not None
        assert record.stop_reason is not None
        key = self.service_key(record.key)
        if not active.cancelled:
            active.polled = None
            if not await self._service.cancel(record.node, key, record.handle, record.stop_reason):
                step = decide_call(record, None, findable=False, open_here=False)
                await self._end(record, active, step)
                return 0.0
            active.cancelled = True
            return 0.0
        seen = await self.seen(record)
        if await self._silent(record, active, seen, time.monotonic()):
            return 0.0
        return self._pause(record.key, active, time.monotonic())

    async def _end(self, record: CallRecord, active: _ActiveCall, step: CallStep) -> None:
        assert step.result is not None
        if step.forbid and record.node is not None:
            await self._service.cancel(record.node, self.service_key(record.key), record.handle, step.result.reason)
            seen = await self.seen(record)
            if seen is not None and seen.phase is not CallPhase.ENDED:
                return  # it began meanwhile, and is told to stop
        if active.opened is not None:
            self._cancel_when_accepted(record, active.opened, step.result.reason)
            active.opened = None
        await self._journal.end(record.key, step.result, ran=step.ran)

    def _cancel_when_accepted(
        self, record: CallRecord, opened: asyncio.Task[CallAccepted | CallResult], reason: str
    ) -> None:
        """An open call was given up. The service may still answer that it goes on, and how to stop it: do that."""

        async def cancel() -> None:
            assert record.node is not None
            try:
                answer = await opened
                if isinstance(answer, CallAccepted):
                    await self._service.cancel(record.node, self.service_key(record.key), answer.handle, reason)
            except Exception as error:
                _log.info("call %s was given up; its answer: %s: %s", record.key, type(error).__name__, error)

        task = asyncio.create_task(cancel(), name=f"call {record.key} was given up")
        self._given_up.add(task)
        task.add_done_callback(self._given_up.discard)

    # --- reports ---------------------------------------------------------------------------------------------

    async def _say_waiting(self, key: str, active: _ActiveCall, why: str) -> None:
        if why != active.waits_for:
            await self._report(TaskWaiting(task_of_key(key), key, why))
            active.waits_for = why

    async def _say_started(self, key: str, active: _ActiveCall) -> None:
        if not active.start_reported:
            await self._report(TaskStarted(task_of_key(key), key))
            active.start_reported = True

    async def _report_end(self, record: CallRecord, active: _ActiveCall) -> None:
        task, key = task_of_key(record.key), record.key
        if record.ran:
            await self._say_started(key, active)
        if record.refused and record.stop_reason is None:
            await self._report(BindFailed(task, key, record.reason, record.cause))
        else:
            await self._report(TaskFinished(task, key, record.exit_code, record.reason, record.cause))
