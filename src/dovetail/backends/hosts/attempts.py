"""Drives the attempts of one host to their desired state, each on its own, and reports their states.

Guarantees: whatever wakes an attempt (an order, an event, a poll), its next step is decided from the journal and the
host alone, so an interrupted step is continued; reports of one attempt are in order and are repeated if they fail;
an attempt that hangs delays no other; attempts at rest cost nothing.
"""

import asyncio
import contextlib
import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

from dovetail.asyncio_tasks import cancel
from dovetail.backends.attempt_journal import Journal, Record, State
from dovetail.backends.contract import Assignment, Refusal, Report
from dovetail.backends.failure_rules import FailureRules
from dovetail.backends.hosts.attempt_step import AttemptAction, AttemptStep
from dovetail.model.backoff import Backoff
from dovetail.model.command import task_of_key
from dovetail.model.event import BindFailed, TaskFinished, TaskStarted
from dovetail.model.text.quantity import format_duration

BIND_PATIENCE_S = 20.0  # a bind that takes longer, to pull an image or make disks, is accepted
TIME_LIMIT_EXIT = 124  # as timeout(1) uses it
SETTLE_S = 1.0
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.2, 10.0
_log = logging.getLogger(__name__)
Seen = TypeVar("Seen")


class HostUnreachable(Exception):
    """The host did not answer; the call may or may not have had an effect."""


class RunLimit(NamedTuple):
    """An attempt runs since then, by the clock of this machine, and may run for so long."""

    since: float
    run_for_s: float


@dataclass(slots=True)
class ActiveAttempt:
    """An attempt that is not at rest."""

    wake: asyncio.Event = field(default_factory=asyncio.Event)
    settled: asyncio.Event = field(default_factory=asyncio.Event)
    binds: int = 0  # how many wait for the outcome; one that is cancelled is repeated, and counts
    task: asyncio.Task[None] | None = None
    asked_at: float | None = None  # when it was asked to stop, by a clock that nobody sets


class HostAttempts(ABC, Generic[Seen]):
    """`Seen`: a container or VM as its host shows it."""

    #: What drives attempts, for names of tasks, and what it calls a host.
    kind: str
    host_word: str
    failures: FailureRules

    def __init__(self, journal: Journal, report: Report, parallel: int, trouble: Callable[[], None]) -> None:
        """`trouble` is called when the host does not answer."""
        self.reachable = asyncio.Event()
        self._journal, self._report, self._trouble = journal, report, trouble
        self._slots = asyncio.Semaphore(parallel)
        self._active: dict[str, ActiveAttempt] = {}
        self._orders: dict[str, Assignment] = {}
        self._accepted: set[str] = set()  # bound before it was started: a refusal has to be reported
        self._start_reported: set[str] = set()
        self._end_unreported: set[str] = set()  # whose end is to be reported
        self._limits: dict[str, asyncio.TimerHandle] = {}

    # --- what a backend adds ---------------------------------------------------------------------------------

    @abstractmethod
    async def seen(self, key: str) -> Seen | None:
        """As its host shows it now; None if there is none. Raises HostUnreachable."""

    @abstractmethod
    def decide(self, record: Record, seen: Seen | None) -> AttemptStep:
        """The next step. Pure."""

    @abstractmethod
    async def make(self, assignment: Assignment, active: ActiveAttempt) -> None:
        """Make it while the journal says that it is ordered; say so in the journal, or end it there."""

    @abstractmethod
    async def start(self, record: Record) -> None:
        """Start what was made, while the journal says that it is ordered."""

    @abstractmethod
    async def stop(self, record: Record, seen: Seen, active: ActiveAttempt) -> None: ...

    @abstractmethod
    async def remove(self, key: str) -> None:
        """What was made for it."""

    @abstractmethod
    def limit(self, seen: Seen) -> RunLimit | None:
        """How long it may run, if that is limited and it runs."""

    async def is_elsewhere(self, key: str, seen: Seen | None) -> bool:  # noqa: ARG002 - for those that migrate
        """Whether it is on its way to another host, or there: whoever moves it decides."""
        return False

    def forget(self, key: str) -> None:
        """Its end was reported."""

    # --- orders ----------------------------------------------------------------------------------------------

    def rests(self, key: str) -> bool:
        """It runs, its start was reported, and no step is in progress."""
        return key in self._start_reported and key not in self._active

    def wake(self, key: str) -> ActiveAttempt:
        """Something may have happened to it. An end that was reported is not reported again."""
        active = self._active.get(key)
        if active is None:
            active = self._active[key] = ActiveAttempt()
            active.task = asyncio.create_task(self._drive(key, active), name=f"{self.kind}: attempt {key}")
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
            words = f"the {self.host_word} fell silent before it was started"
            record = await self._journal.refuse(assignment.key, words)
        active.binds -= 1
        if record is not None and record.refused:
            self._end_unreported.discard(assignment.key)
            raise Refusal(record.reason, self.failures.cause(record.reason))
        if not active.settled.is_set():
            self._accepted.add(assignment.key)

    async def close(self) -> None:
        for handle in self._limits.values():
            handle.cancel()
        await cancel(*(active.task for active in self._active.values()))

    # --- one attempt -----------------------------------------------------------------------------------------

    async def _drive(self, key: str, active: ActiveAttempt) -> None:
        backoff = Backoff(FIRST_PAUSE_S, LONGEST_PAUSE_S)
        while True:
            active.wake.clear()
            try:
                at_rest = await self._step(key, active)
                backoff.reset()
            except HostUnreachable:
                self._trouble()
                await asyncio.sleep(SETTLE_S)  # a request may still be in flight
                await done_before(active.wake, self.reachable.wait())  # an end can be reported without the host
                continue
            except Exception:  # an error of the receiver, the disk or the host must not end the task
                _log.exception("attempt %s: trying again in %.1f s", key, backoff.pause_s)
                await asyncio.sleep(backoff.next_s())
                continue
            if at_rest and not active.wake.is_set():
                active.settled.set()
                del self._active[key]
                return

    async def _step(self, key: str, active: ActiveAttempt) -> bool:
        """Take one step. True at rest."""
        record = await self._journal.get(key)
        if record is None:
            self._end_unreported.discard(key)
            return True
        seen = None
        if record.state is not State.ENDED:
            self._end_unreported.add(key)
            seen = await self.seen(key)
            if await self.is_elsewhere(key, seen):
                return True
        step = self.decide(record, seen)
        match step.action:
            case AttemptAction.MAKE:
                assignment = self._orders.get(key)
                if assignment is None:  # ordered before a restart; the caller repeats the bind
                    return True
                await self.make(assignment, active)
            case AttemptAction.START:
                await self.start(record)
            case AttemptAction.STOP:
                assert seen is not None
                await self.stop(record, seen, active)
            case AttemptAction.REST:
                assert seen is not None
                return await self._rest(key, seen)
            case AttemptAction.END:
                await self.finish(key, step)
            case AttemptAction.REPORT:
                await self._report_end(record, active)
                return True
        return False

    async def is_ordered(self, key: str) -> bool:
        """Whether nobody has stopped it meanwhile."""
        record = await self._journal.get(key)
        return record is not None and record.state is State.ORDERED

    async def finish(self, key: str, step: AttemptStep) -> None:
        """The journal knows its end first; then what was made may go."""
        await self._journal.end(key, step.exit_code, step.reason, ran=step.ran)
        if step.remove:
            await self.remove(key)

    async def _rest(self, key: str, seen: Seen) -> bool:
        """False if its time limit has passed."""
        if key not in self._start_reported:
            await self._report(TaskStarted(task_of_key(key), key))
            self._start_reported.add(key)
        limit = None if key in self._limits else self.limit(seen)
        if limit is not None:
            left_s = limit.since + limit.run_for_s - time.time()
            if left_s <= 0:
                reason = f"stopped: it ran longer than its time limit of {format_duration(limit.run_for_s)}"
                await self._journal.stop(key, reason, TIME_LIMIT_EXIT)
                return False
            self._limits[key] = asyncio.get_running_loop().call_later(left_s, self._limit_reached, key)
        return True

    def _limit_reached(self, key: str) -> None:
        del self._limits[key]
        self.wake(key)

    async def _report_end(self, record: Record, active: ActiveAttempt) -> None:
        key = record.key
        reported_by_bind = record.refused and record.stop_reason is None and active.binds > 0
        if key in self._end_unreported and not reported_by_bind:
            task, cause = task_of_key(key), self.failures.cause(record.reason)
            if record.ran and key not in self._start_reported:
                await self._report(TaskStarted(task, key))
            if record.refused and record.stop_reason is None and key in self._accepted:
                await self._report(BindFailed(task, key, record.reason, cause))
            else:
                await self._report(TaskFinished(task, key, record.exit_code, record.reason, cause))
        self._accepted.discard(key)
        self.let_go(key)
        self.forget(key)

    def let_go(self, key: str) -> Assignment | None:
        """It ended, or is another host's now. Returns its order, if that is known."""
        self._start_reported.discard(key)
        self._end_unreported.discard(key)
        if (limit := self._limits.pop(key, None)) is not None:
            limit.cancel()
        return self._orders.pop(key, None)


async def done_before(wake: asyncio.Event, work: Awaitable[object]) -> bool:
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
        await cancel(doing, waking)
