"""The control loop: take events, decide for a slice of time, write one durable step, then send commands and answer.

Guarantees: nothing leaves the control plane before the step behind it is durable. The engine may be one step ahead of
the store. If the store fails, the step is retried until it succeeds; meanwhile nothing is accepted or sent. If the
process dies first, the step never happened.
"""

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import structlog

from dovetail.control.errors import Conflict
from dovetail.control.loop.giving_way import give_way
from dovetail.control.loop.history import BackendLines, lines_of
from dovetail.control.loop.idempotency import AcceptedSubmission, IdempotencyKey
from dovetail.control.loop.inbox import Inbox, InboxEvents, PendingSubmission
from dovetail.control.loop.pace import FEWEST_ROWS, REST, TurnPace
from dovetail.control.loop.store_access import on_store_thread
from dovetail.control.settings import LoopSettings
from dovetail.control.telemetry.metrics import Metrics
from dovetail.engine.admission.admission import Admission, AdmissionConflict, Admitted
from dovetail.engine.engine import Engine
from dovetail.model.batch import Batch, HeardTurn
from dovetail.model.command import Bind, Command, Stop, Wake
from dovetail.model.event import BackendHealthChanged, Event, Submitted, Tick
from dovetail.model.record import NewWorkload
from dovetail.model.text.complaint import Invalid
from dovetail.model.workloads.workload import Workload
from dovetail.store.contract import Store, StoreError

SENT_AT_ONCE = 50  # commands, between two turns of others
HEARING = 0.5  # of a turn; the rest is for decisions, so that what comes in is decided in the same turn if it can be
COMMIT_S = 0.003  # a disk that takes longer for a step is not waited for
RETRY_STORE_S = 1.0
ANSWERS_KEPT = 1000
REMEMBER_EVERY_S = 60.0

log = structlog.get_logger()


@dataclass(slots=True)
class LoopStep:
    """The result of one turn: written first, then sent."""

    batch: Batch = field(default_factory=Batch)
    promises: list[tuple[asyncio.Future[Any], Any]] = field(default_factory=list)
    specs: list[tuple[int, Workload]] = field(default_factory=list)
    next_may_begin: asyncio.Event = field(default_factory=asyncio.Event)  # written, or only a slow disk is waited for

    @property
    def rows(self) -> int:
        """Of tasks and workloads: how much there is to write."""
        return len(self.batch.changes.tasks) + len(self.batch.submitted)


class ControlLoop:
    def __init__(
        self,
        engine: Engine,
        admission: Admission,
        store: Store,
        metrics: Metrics,
        settings: LoopSettings,
        next_workload: int,
        send: Callable[[Bind | Stop], None],
        written: Callable[[Batch, list[tuple[int, Workload]]], None],
        ring: Callable[[], None],
        collect_garbage: Callable[[], None],
    ) -> None:
        self.inbox = Inbox()
        self._backend_lines = BackendLines()
        self.trouble = ""  # why the store cannot be written now
        self._engine = engine
        self._store = store
        self._metrics = metrics
        self._pace = TurnPace(settings.slice)
        self._next_workload = next_workload
        self._send = send
        self._written = written
        self._ring = ring  # new history was written
        self._collect_garbage = collect_garbage
        self._wakes: list[float] = [0.0]  # the first Tick is due at once: restored timers may have passed
        self._admission = admission
        self._remembered_at = time.time()
        self._unwritten: deque[float] = deque()  # when the steps were decided that are not durable yet
        self._turn_events: list[Event] = []  # what the engine heard in this turn
        self._heard: list[HeardTurn] = []  # turns that are in no step yet
        self._put_off = False  # the last turn only listened: to a large submission
        self._learned = False  # something was learned since memory was last written
        # Latest answers by idempotency key, for a key that arrives twice before the first is durable.
        self._answered: OrderedDict[str, tuple[IdempotencyKey, list[AcceptedSubmission]]] = OrderedDict()

    @property
    def settled_at(self) -> float:
        """Everything that happened before this moment is durable. Ask on the thread of the loop."""
        return self._unwritten[0] if self._unwritten else time.time()

    async def run(self) -> None:
        """Until cancelled. The next step is decided when the last one is written, or while a slow disk commits it.
        Writing rows and deciding both need the interpreter: at the same time they take longer than in turn."""
        steps: asyncio.Queue[LoopStep] = asyncio.Queue(maxsize=1)
        async with asyncio.TaskGroup() as both:
            both.create_task(self._decide_steps(steps))
            both.create_task(self._write_steps(steps))

    async def _decide_steps(self, steps: asyncio.Queue[LoopStep]) -> None:
        last, took_s = LoopStep(), 0.0
        last.next_may_begin.set()
        while True:
            if len(self.inbox) or self._engine.busy:
                await give_way(took_s * REST)
            else:
                await self.inbox.wait(self._seconds_to_wake())
            await last.next_may_begin.wait()
            began = time.perf_counter()
            step = self._turn()
            took_s = time.perf_counter() - began
            if step.batch:
                self._unwritten.append(step.batch.at)
            if step.batch or step.promises:
                last = step
                await steps.put(step)

    async def _write_steps(self, steps: asyncio.Queue[LoopStep]) -> None:
        """In order: a sender is answered only when everything before its request is durable too."""
        while True:
            step = await steps.get()
            if step.rows < FEWEST_ROWS:  # written so soon that nothing is gained by waiting
                step.next_may_begin.set()
            if step.batch:
                await self._write(step)
                self._unwritten.popleft()
            step.next_may_begin.set()
            await self._hand_over(step)
            self._collect_garbage()  # now nobody waits for this step any more

    def _turn(self) -> LoopStep:
        began = time.perf_counter()
        hears_until, until = began + self._pace.turn_s * HEARING, began + self._pace.turn_s
        now = time.time()
        step = LoopStep(Batch(at=now))
        commands: list[Command] = []
        for item in self.inbox.taken():
            if isinstance(item, PendingSubmission):
                commands += self._accept(item, now, step)
            else:
                commands += self._hear(item, now, step)
            if time.perf_counter() > hears_until or self._engine.changed >= self._pace.most_rows:
                break  # the next turn takes the others
        self._put_off = time.perf_counter() > until and not self._put_off
        if not self._put_off:
            commands += self._decide(now, until)
        batch = step.batch
        batch.changes = self._engine.take_changes(now)
        self._admission.counts.update(batch.changes.workloads)
        self._remember(batch, now)
        batch.outbox = [command for command in commands if not isinstance(command, Wake)]
        self._wakes += [command.at for command in commands if isinstance(command, Wake)]
        batch.history += lines_of(batch, now)
        self._keep_heard(batch, now)
        took_s = time.perf_counter() - began
        batch.decided_at = now + took_s
        self._metrics.slice_s.labels("decide").observe(took_s)
        return step

    def _keep_heard(self, batch: Batch, now: float) -> None:
        """Turns that changed nothing are kept with the next step that does: only all of them make decisions
        repeatable."""
        if self._turn_events:
            self._heard.append(HeardTurn(now, self._turn_events))
            self._turn_events = []
        batch.heard = self._heard
        if batch:
            self._heard = []

    def _handle(self, event: Event, now: float) -> list[Command]:
        self._turn_events.append(event)
        return self._engine.handle(event, now)

    async def _hand_over(self, step: LoopStep) -> None:
        """To all who follow the steps, to backends and to senders. Senders wait for no more than the first commands."""
        outbox = step.batch.outbox
        if step.batch:
            self._metrics.count(step.batch, time.time())
            self._written(step.batch, step.specs)
        for command in outbox[:SENT_AT_ONCE]:
            self._send(command)
        if step.batch.history:
            self._ring()
        for promise, result in step.promises:
            if not promise.done():
                promise.set_exception(result) if isinstance(result, Exception) else promise.set_result(result)
        for first in range(SENT_AT_ONCE, len(outbox), SENT_AT_ONCE):
            await asyncio.sleep(0)
            for command in outbox[first : first + SENT_AT_ONCE]:
                self._send(command)

    # --- one turn's parts ------------------------------------------------------------------------------------

    def _accept(self, item: PendingSubmission, now: float, step: LoopStep) -> list[Command]:
        """All workloads of a submission or none."""
        try:
            if item.key is not None and item.key.name in self._answered:
                first, accepted = self._answered[item.key.name]
                item.key.check_same(first.request)
                step.promises.append((item.promise, accepted))
                return []
            specs = [one.spec for one in item.workloads]
            admitted = self._admission.admit(specs, self._next_workload, item.ended, now)
        except AdmissionConflict as conflict:
            step.promises.append((item.promise, Conflict(str(conflict))))
            return []
        except Invalid as invalid:
            step.promises.append((item.promise, invalid))
            return []
        self._next_workload += len(specs)
        accepted = [AcceptedSubmission(id_, s.namespace, s.name) for id_, s in zip(admitted.ids, specs, strict=True)]
        commands = self._admit(item, admitted, now, step)
        if item.key is not None:
            step.batch.idempotency.append((item.key.name, item.key.answer_text(accepted), now))
            self._answered[item.key.name] = item.key, accepted
            if len(self._answered) > ANSWERS_KEPT:
                self._answered.popitem(last=False)
        step.promises.append((item.promise, accepted))
        return commands

    def _admit(self, item: PendingSubmission, admitted: Admitted, now: float, step: LoopStep) -> list[Command]:
        commands: list[Command] = []
        for index in admitted.order:
            id_, one = admitted.ids[index], item.workloads[index]
            commands += self._handle(Submitted(id_, one.spec, admitted.after[index], one.terms), now)
            self._admission.counts.joined(id_)
            queue = self._engine.queue_path(id_)
            new = NewWorkload.of(id_, one.spec, one.terms_json, now, queue, one.spec_json, item.trace)
            step.batch.submitted.append(new)
            step.specs.append((id_, one.spec))
        return commands

    def _hear(self, item: InboxEvents, now: float, step: LoopStep) -> list[Command]:
        commands: list[Command] = []
        for event in item.events:
            commands += self._handle(event, now)
            if isinstance(event, BackendHealthChanged):
                step.batch.history += self._backend_lines.of(event, now)
        step.batch.outbox_done += item.done
        step.batch.announced += item.announced
        step.batch.history += item.history
        if item.promise is not None:
            step.promises.append((item.promise, None))
        return commands

    def _remember(self, batch: Batch, now: float) -> None:
        """Write what the engine learned once a minute, with a step. Losing the last minute does no harm."""
        self._learned = self._learned or bool(batch)
        if self._learned and now - self._remembered_at >= REMEMBER_EVERY_S:
            batch.changes.memory |= self._engine.memory(now)
            self._remembered_at, self._learned = now, False

    def remember_soon(self) -> None:
        """With the next step, instead of up to a minute later."""
        self._remembered_at = 0.0

    async def remember(self) -> None:
        """When the loop has stopped: write what was learned since the last time."""
        if not self._learned:
            return
        batch = Batch()
        batch.changes.memory = self._engine.memory(time.time())
        try:
            await on_store_thread(self._store.write, batch)
        except StoreError as error:
            log.warning("learned values of the last minute are lost", error=str(error))

    def _decide(self, now: float, until: float) -> list[Command]:
        """At least one Tick, if there is anything to decide. Ticks are far shorter than a slice, so that the turn ends
        in time whatever a decision costs, and as much can be written as was decided."""
        due = [at for at in self._wakes if at <= now]
        if not self._engine.busy and not due:
            return []
        self._wakes = [at for at in self._wakes if at > now]
        commands: list[Command] = []
        ended = time.perf_counter()
        while True:
            began, before = ended, len(self._engine.decisions)
            commands += self._handle(Tick(self._pace.limit, by_effort=True), now)
            ended = time.perf_counter()
            elapsed_s = ended - began
            if len(self._engine.decisions) > before:
                self._metrics.decided(self._engine.decisions[before:], elapsed_s)
            self._pace.ticked(self._engine.spent, elapsed_s)
            if not self._engine.busy or ended + elapsed_s > until or self._engine.changed >= self._pace.most_rows:
                return commands

    async def _write(self, step: LoopStep) -> None:
        began, loop = time.perf_counter(), asyncio.get_running_loop()

        def committing() -> None:
            loop.call_soon_threadsafe(self._committing, step, time.perf_counter() - began)

        while True:
            try:
                await on_store_thread(self._store.write, step.batch, committing)
            except StoreError as error:
                if str(error) != self.trouble:
                    log.error("the store cannot be written; trying again", error=str(error))
                self.trouble = str(error)
                await asyncio.sleep(RETRY_STORE_S)
            else:
                break
        if self.trouble:
            log.info("the store can be written again")
            self.trouble = ""
        self._metrics.slice_s.labels("write").observe(time.perf_counter() - began)

    def _committing(self, step: LoopStep, elapsed_s: float) -> None:
        """The rows of the step are handed to the database, after so long; the disk has yet to take them."""
        self._pace.wrote(step.rows, elapsed_s)
        asyncio.get_running_loop().call_later(COMMIT_S, step.next_may_begin.set)

    def _seconds_to_wake(self) -> float | None:
        moments = [*self._wakes, self._remembered_at + REMEMBER_EVERY_S] if self._learned else self._wakes
        return max(0.0, min(moments) - time.time()) if moments else None
