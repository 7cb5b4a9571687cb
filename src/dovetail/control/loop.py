"""The loop: events in, a slice of deciding, one durable step, then commands out. Nothing is told before it is durable.

The engine may be one step ahead of the store, never of what anybody was told.

If the store fails, the step is kept and tried again until it succeeds; meanwhile nothing new is accepted and nobody
is told anything. If the process dies first, the step never happened, and no one was told that it did.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import orjson
import structlog

from dovetail.control.errors import Conflict
from dovetail.control.history import Bell, lines_of
from dovetail.control.inbox import Accepted, Inbox, News, Submission
from dovetail.control.metrics import Metrics
from dovetail.control.settings import Loop as LoopSettings
from dovetail.engine.engine import Engine
from dovetail.model.command import Bind, Command, Stop, Wake
from dovetail.model.event import Submitted, Tick
from dovetail.model.record import Batch, NewWorkload
from dovetail.model.workload import Workload
from dovetail.store.contract import Store, StoreError

MOST_ITEMS = 2000  # of the inbox in one turn
FEWEST, MOST_DECISIONS = 16, 20_000
RETRY_STORE_S = 1.0
ANSWERS_KEPT = 1000

log = structlog.get_logger()


@dataclass(slots=True)
class Step:
    """What one turn came to: to be made durable, and then told."""

    batch: Batch = field(default_factory=Batch)
    promises: list[tuple[asyncio.Future[Any], Any]] = field(default_factory=list)
    specs: list[tuple[int, Workload]] = field(default_factory=list)


class Loop:
    def __init__(
        self,
        engine: Engine,
        store: Store,
        metrics: Metrics,
        settings: LoopSettings,
        next_workload: int,
        carry_out: Callable[[Bind | Stop], None],
        written: Callable[[Batch, list[tuple[int, Workload]]], None],
    ) -> None:
        self.inbox = Inbox()
        self.bell = Bell()
        self.trouble = ""  # why the store cannot be written, while that is so
        self._engine = engine
        self._store = store
        self._metrics = metrics
        self._slice_s = settings.slice
        self._next_workload = next_workload
        self._carry_out = carry_out
        self._written = written
        self._limit = 512
        self._wakes: list[float] = []
        # The newest answers by idempotency key, for a key that is sent twice at once.
        self._answered: OrderedDict[str | None, list[Accepted]] = OrderedDict()

    async def run(self) -> None:
        """Until cancelled. While one step is written, the next is decided."""
        steps: asyncio.Queue[Step] = asyncio.Queue(maxsize=1)
        async with asyncio.TaskGroup() as both:
            both.create_task(self._decide_steps(steps))
            both.create_task(self._write_steps(steps))

    async def _decide_steps(self, steps: asyncio.Queue[Step]) -> None:
        while True:
            if len(self.inbox) or self._engine.busy:
                await asyncio.sleep(0)  # others speak between two turns
            else:
                await self.inbox.wait(self._seconds_to_wake())
            step = self._turn()
            if step.batch or step.promises:
                await steps.put(step)

    async def _write_steps(self, steps: asyncio.Queue[Step]) -> None:
        """In the order decided, so that a promise is kept only when everything before it is durable too."""
        while True:
            step = await steps.get()
            if step.batch:
                await self._write(step.batch)
                self._after_write(step)
            for promise, result in step.promises:
                if not promise.done():
                    promise.set_exception(result) if isinstance(result, Exception) else promise.set_result(result)

    def _turn(self) -> Step:
        began = time.perf_counter()
        now = time.time()
        step = Step()
        commands: list[Command] = []
        for item in self.inbox.take(MOST_ITEMS):
            if isinstance(item, Submission):
                self._accept(item, now, step)
            else:
                commands += self._hear(item, now, step)
        commands += self._decide(now)
        batch = step.batch
        batch.changes = self._engine.take_changes(now)
        batch.outbox = [command for command in commands if not isinstance(command, Wake)]
        self._wakes += [command.at for command in commands if isinstance(command, Wake)]
        batch.history = lines_of(batch, now)
        self._metrics.slice_s.labels("decide").observe(time.perf_counter() - began)
        return step

    def _after_write(self, step: Step) -> None:
        self._metrics.count(step.batch)
        self._written(step.batch, step.specs)
        for command in step.batch.outbox:
            self._carry_out(command)
        if step.batch.history:
            self.bell.ring()

    # --- one turn's parts ------------------------------------------------------------------------------------

    def _accept(self, item: Submission, now: float, step: Step) -> None:
        """All workloads of a submission or none."""
        if item.idempotency_key in self._answered:
            step.promises.append((item.promise, self._answered[item.idempotency_key]))
            return
        directory = self._engine.state.cluster.placements.directory
        taken = [f"{s.namespace}/{s.name} (id {directory[s.namespace, s.name][0]})"
                 for s in item.specs if (s.namespace, s.name) in directory]  # fmt: skip
        if taken:
            shown = ", ".join(taken[:5]) + (f" and {len(taken) - 5} more" if len(taken) > 5 else "")
            words = f"already there and not finished: {shown}; choose another name"
            step.promises.append((item.promise, Conflict(words)))
            return
        accepted = []
        for spec in item.specs:
            id_ = self._next_workload
            self._next_workload += 1
            self._engine.handle(Submitted(id_, spec), now)
            accepted.append(Accepted(id_, spec.namespace, spec.name))
            step.batch.submitted.append(NewWorkload.of(id_, spec, self._engine.terms_json(id_), now))
            step.specs.append((id_, spec))
        if item.idempotency_key is not None:
            answer = orjson.dumps([[a.id, a.namespace, a.name] for a in accepted]).decode()
            step.batch.idempotency.append((item.idempotency_key, answer, now))
            self._answered[item.idempotency_key] = accepted
            if len(self._answered) > ANSWERS_KEPT:
                self._answered.popitem(last=False)
        step.promises.append((item.promise, accepted))

    def _hear(self, item: News, now: float, step: Step) -> list[Command]:
        commands: list[Command] = []
        for event in item.events:
            commands += self._engine.handle(event, now)
        step.batch.outbox_done += item.done
        if item.promise is not None:
            step.promises.append((item.promise, None))
        return commands

    def _decide(self, now: float) -> list[Command]:
        due = [at for at in self._wakes if at <= now]
        if not self._engine.busy and not due:
            return []
        self._wakes = [at for at in self._wakes if at > now]
        began = time.perf_counter()
        before = len(self._engine.state.decisions)
        commands = self._engine.handle(Tick(self._limit), now)
        elapsed_s = time.perf_counter() - began
        made = len(self._engine.state.decisions) - before
        if made:
            self._metrics.decision_s.observe(elapsed_s / made)
        if made >= self._limit or elapsed_s > self._slice_s:
            wanted = self._limit * self._slice_s / max(elapsed_s, 1e-6)
            self._limit = int(min(max(wanted, self._limit / 2, FEWEST), 2 * self._limit, MOST_DECISIONS))
        return commands

    async def _write(self, batch: Batch) -> None:
        began = time.perf_counter()
        while True:
            try:
                await asyncio.to_thread(self._store.write, batch)
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

    def _seconds_to_wake(self) -> float | None:
        return max(0.0, min(self._wakes) - time.time()) if self._wakes else None
