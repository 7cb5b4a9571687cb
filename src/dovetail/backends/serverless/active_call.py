"""Drives one call to its end, and reports its states.

Guarantees: the next step is decided from the journal and the service alone, so an interrupted step is continued;
reports are in order and are repeated if they fail. Time limits count from the first time that this process saw the call
run.
"""

import asyncio
import contextlib
import logging
import time
from dataclasses import dataclass

from dovetail.asyncio_tasks import cancel
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
)
from dovetail.backends.serverless.deciding import LOST, CallDo, CallStep, decide_call
from dovetail.backends.serverless.journal import CallJournal, CallRecord, CallState
from dovetail.backends.serverless.own_calls import OwnCalls
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


class ActiveCall:
    """`order`: None after a restart, until the caller repeats the bind, or reconciles."""

    def __init__(self, key: str, calls: OwnCalls, journal: CallJournal, report: Report, pace: PollPace) -> None:
        self.wake = asyncio.Event()
        self.order: CallOrder | None = None
        self.start_reported = False
        self._key, self._calls, self._journal, self._report, self._pace = key, calls, journal, report, pace
        self._opened: asyncio.Task[CallAccepted | CallResult] | None = None
        self._throttled = Backoff(FIRST_PAUSE_S, LONGEST_THROTTLE_S)
        self._polled: Backoff | None = None
        self._unknown_since: float | None = None
        self._accepted_at: float | None = None
        self._running_since: float | None = None
        self._beat: int | None = None
        self._beat_at = 0.0
        self._waits_for = ""
        self._cancelled = False

    async def run(self) -> None:
        """Until its end was reported, and nobody has woken it since."""
        backoff = Backoff(FIRST_PAUSE_S, LONGEST_PAUSE_S)
        while True:
            self.wake.clear()
            try:
                pause_s = await self._step()
                backoff.reset()
            except Exception as error:  # of the receiver, the disk or the service: it must not end the task
                pause_s = backoff.next_s()
                _log.warning("call %s: %s: %s; trying again in %.1f s", self._key, type(error).__name__, error, pause_s)
            if pause_s is None and not self.wake.is_set():
                return
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause_s or 0.0):
                    await self.wake.wait()

    async def close(self) -> None:
        """The call itself runs on."""
        await cancel(self._opened)

    async def _step(self) -> float | None:
        """Take one step. The seconds until the next one; None at the end."""
        if self._opened is not None and self._opened.done():
            opened, self._opened = self._opened, None
            return await self._take_answer(opened)
        record = await self._journal.get(self._key)
        if record is None:
            return None
        findable, seen = self._calls.findable(record), None
        if record.state in (CallState.SENT, CallState.ADOPTED) and findable and self._opened is None:
            seen = await self._calls.seen(record)
        step = decide_call(record, seen, findable=findable, open_here=self._opened is not None)
        match step.do:
            case CallDo.SEND:
                if record.state is CallState.SENT and not self._long_unknown():
                    return self._pause(time.monotonic())
                return await self._send()
            case CallDo.WAIT:
                return await self._wait(record, seen)
            case CallDo.CANCEL:
                return await self._cancel(record)
            case CallDo.END:
                await self._end(record, step)
                return 0.0
            case CallDo.REPORT:
                await self._report_end(record)
                return None

    def _long_unknown(self) -> bool:
        """A call that may have been sent was looked for long enough."""
        now = time.monotonic()
        if self._unknown_since is None:
            self._unknown_since = now
        return now - self._unknown_since >= SEND_AGAIN_AFTER_S

    async def _send(self) -> float:
        order = self.order
        if order is None:
            return LONGEST_PAUSE_S
        if (await self._journal.sent(self._key)).state is not CallState.SENT:
            return 0.0
        self._opened = asyncio.create_task(self._calls.begin(order), name=f"call {self._key} is open")
        self._opened.add_done_callback(lambda _: self.wake.set())
        if self._calls.recorded(order):  # an answer comes at once
            await asyncio.wait([self._opened])
            return 0.0
        return STARTED_AFTER_S

    async def _take_answer(self, opened: asyncio.Task[CallAccepted | CallResult]) -> float:
        try:
            answer = opened.result()
        except (CallThrottled, CallNotSent) as error:
            await self._journal.not_sent(self._key)
            await self._say_waiting(str(error))
            return self._throttled.next_s()
        except CallRefused as error:
            await self._journal.end(self._key, CallResult(None, str(error), cause=error.cause), ran=False)
            return 0.0
        except Exception as error:
            record = await self._journal.get(self._key)
            if record is not None and self._calls.findable(record):
                _log.info("call %s: its answer was lost (%s); looking for it", self._key, error)
                return SETTLE_S
            await self._journal.end(self._key, CallResult(None, f"{LOST} ({error})"), ran=True)
            return 0.0
        if isinstance(answer, CallAccepted):
            self._accepted_at = time.monotonic()
            await self._journal.accepted(self._key, answer.handle)
        else:
            await self._journal.end(self._key, answer, ran=True)
        return 0.0

    async def _wait(self, record: CallRecord, seen: CallSeen | None) -> float:
        now = time.monotonic()
        if self._opened is not None or (seen is not None and seen.phase is CallPhase.RUNNING):
            if self._running_since is None:
                self._running_since = now
            self._accepted_at = None
            await self._say_started()
            if await self._over_limit(now) or await self._silent(record, seen, now):
                return 0.0
        else:
            if self._accepted_at is None:
                self._accepted_at = now
            if now - self._accepted_at > self._pace.start_within_s:
                within = format_duration(self._pace.start_within_s)
                never = f"the service did not begin it within {within}"
                gone = f"lost: the service has known nothing of it for {within}"
                await self._journal.stop(self._key, never if self._running_since is None else gone)
                return 0.0
        return self._pause(now)

    def _pause(self, now: float) -> float:
        if self._polled is None:
            self._polled = Backoff(self._pace.poll_s, self._pace.poll_most_s, factor=1.5)
        pause_s = self._polled.next_s() if self._opened is None else LONGEST_PAUSE_S
        order = self.order
        if order is not None and order.timeout_s is not None and self._running_since is not None:
            pause_s = min(pause_s, max(0.0, self._running_since + order.timeout_s - now))
        return pause_s

    async def _over_limit(self, now: float) -> bool:
        order = self.order
        if order is None or order.timeout_s is None or self._running_since is None:
            return False
        if now - self._running_since < order.timeout_s:
            return False
        words = f"stopped: it ran longer than its time limit of {format_duration(order.timeout_s)}"
        await self._journal.stop(self._key, words, TIME_LIMIT_EXIT)
        return True

    async def _silent(self, record: CallRecord, seen: CallSeen | None, now: float) -> bool:
        """Whether it was given up, because its function has not shown a sign of life for too long."""
        if seen is None or seen.beat is None:
            return False
        if seen.beat != self._beat:
            self._beat, self._beat_at = seen.beat, now
        if now - self._beat_at < self._pace.lost_after_s:
            return False
        silent = format_duration(self._pace.lost_after_s)
        words = f"lost: its function has shown no sign of life for {silent}; it crashed, or ran out of memory or time"
        await self._calls.cancel(record, words)
        await self._journal.end(self._key, CallResult(None, words), ran=True)
        return True

    async def _cancel(self, record: CallRecord) -> float:
        assert record.stop_reason is not None
        if not self._cancelled:
            self._polled = None
            if not await self._calls.cancel(record, record.stop_reason):
                step = decide_call(record, None, findable=False, open_here=False)
                await self._end(record, step)
                return 0.0
            self._cancelled = True
            return 0.0
        seen = await self._calls.seen(record)
        if await self._silent(record, seen, time.monotonic()):
            return 0.0
        return self._pause(time.monotonic())

    async def _end(self, record: CallRecord, step: CallStep) -> None:
        assert step.result is not None
        if step.forbid and record.node is not None:
            await self._calls.cancel(record, step.result.reason)
            seen = await self._calls.seen(record)
            if seen is not None and seen.phase is not CallPhase.ENDED:
                return  # it began meanwhile, and is told to stop
        if self._opened is not None:
            self._calls.give_up(record, self._opened, step.result.reason)
            self._opened = None
        await self._journal.end(self._key, step.result, ran=step.ran)

    # --- reports ---------------------------------------------------------------------------------------------

    async def _say_waiting(self, why: str) -> None:
        if why != self._waits_for:
            await self._report(TaskWaiting(task_of_key(self._key), self._key, why))
            self._waits_for = why

    async def _say_started(self) -> None:
        if not self.start_reported:
            await self._report(TaskStarted(task_of_key(self._key), self._key))
            self.start_reported = True

    async def _report_end(self, record: CallRecord) -> None:
        if record.ran:
            await self._say_started()
        if record.refused and record.stop_reason is None:
            await self._report(BindFailed(task_of_key(self._key), self._key, record.reason, record.cause))
        else:
            await self._report(
                TaskFinished(task_of_key(self._key), self._key, record.exit_code, record.reason, record.cause)
            )
