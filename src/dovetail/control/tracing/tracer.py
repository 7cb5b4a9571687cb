"""The subsystem `tracing`: hears durable steps, keeps open traces in tables, and sends those that are complete.

A trace is complete when its first tasks have started, or its workload has ended. Guarantees: it is sent whole, so no
span of ours is ever without its parent; a trace is noted before anything of it is sent and forgotten after the receiver
has it, so a kill loses none, and one that is sent twice has the same ids both times. What was missed meanwhile is asked
of the engine at the next start. While the receiver is away, the oldest traces beyond `MOST_OPEN` are given up.
"""

import asyncio
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

import structlog

from dovetail.control.subsystems.contract import DurableStep, Subsystem, SubsystemContext
from dovetail.control.tracing.board import TraceBoard
from dovetail.control.tracing.identity import identified
from dovetail.control.tracing.metrics import TracingMetrics
from dovetail.control.tracing.open_trace import OpenTrace, first_tasks
from dovetail.control.tracing.settings import TracingSettings
from dovetail.control.tracing.spans import PlannedSpan, spans_of
from dovetail.control.tracing.tables import TraceTables
from dovetail.engine.questions.questions import Questions
from dovetail.engine.questions.workload_questions import TracedWorkload
from dovetail.model.batch import Changes

if TYPE_CHECKING:
    from dovetail.control.tracing.exporter import SpanSender

MOST_OPEN = 20_000
AT_ONCE = 100  # traces of one message
FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 60.0

log = structlog.get_logger()


class Tracer(Subsystem):
    def __init__(self, context: SubsystemContext) -> None:
        super().__init__(context)
        assert context.tables is not None
        self._settings: TracingSettings = context.settings
        self._metrics: TracingMetrics = context.metrics
        self._board: TraceBoard = context.shared
        self._tables = TraceTables(context.tables)
        self._sender: SpanSender | None = None  # until something is to be sent: it takes long to import
        self._open: dict[int, OpenTrace] = {}
        self._complete: dict[int, OpenTrace] = {}  # of the open ones, those that can be sent
        self._newest = 0
        self._arrived = asyncio.Event()

    async def start(self) -> None:
        known, newest = self._tables.load()
        for trace in known:
            self._open[trace.workload] = trace
            self._board.remember(trace.workload, trace.identity)
        most = self._settings.tasks
        asked = [trace.workload for trace in known]

        def looked(questions: Questions) -> tuple[list[TracedWorkload], list[TracedWorkload], int]:
            work = questions.workloads
            return work.traced(asked, most), work.traced(work.ids_after(newest or 0), most), work.newest

        live, unheard, now_newest = await self.context.ask(looked)
        self._newest = max(newest or 0, now_newest)
        for one in unheard:
            # At the first start of tracing, work that runs already has no trace any more.
            is_late = newest is None and one.all_started
            if one.id not in self._open and not is_late and (opened := self._opened(one)) is not None:
                self._open[one.id] = opened
        states = {one.id: one for one in (*live, *unheard)}
        for id_, trace in self._open.items():
            _catch_up(trace, states.get(id_))
        self._note(self._open.values())

    def _opened(self, one: TracedWorkload) -> OpenTrace | None:
        """Of a live workload whose submission was not heard: its request is unknown."""
        identity = self._board.identity(one.id) or identified(None, self._settings.sample)
        if identity is None:
            return None
        self._board.remember(one.id, identity)
        tasks = first_tasks(one.replicas, self._settings.tasks, one.submitted_at)
        names = (one.namespace, one.name, one.kind, one.queue)
        return OpenTrace(
            one.id, *identity, *names, one.replicas, one.submitted_at, durable_at=None, requested_at=None, tasks=tasks
        )

    async def take(self, step: DurableStep) -> None:
        batch, written_at = step.batch, step.written_at or time.time()
        changed: dict[int, OpenTrace] = {}
        for new in batch.submitted:
            self._newest = max(self._newest, new.id)
            identity = self._board.identity(new.id)
            if identity is not None:
                trace = OpenTrace.of(new, identity, written_at, self._settings.tasks)
                self._open[new.id] = changed[new.id] = trace
        if self._open:
            changed.update(self._heard(batch.changes, batch.at, batch.decided_at or batch.at, written_at))
        for record in batch.changes.workloads:
            if record.state.finished:
                self._board.forget(record.id)
        if changed:
            self._note(changed.values())

    def _heard(self, changes: Changes, at: float, decided_at: float, written_at: float) -> dict[int, OpenTrace]:
        changed: dict[int, OpenTrace] = {}
        for decision in changes.decisions:
            trace = self._going_on(decision.task.workload)
            task = None if trace is None else trace.tasks.get(decision.task.replica)
            if trace is not None and task is not None and not task.done:
                if decision.node is None:
                    task.refused(decision)
                else:
                    task.placed(decision, decided_at, written_at)
                changed[trace.workload] = trace
        for record in changes.tasks:
            trace = self._going_on(record.task.workload)
            task = None if trace is None else trace.tasks.get(record.task.replica)
            if trace is not None and task is not None and not task.done:
                task.changed(record, at)
                changed[trace.workload] = trace
        for workload in changes.workloads:
            trace = self._going_on(workload.id)
            if trace is not None and workload.state.finished:
                trace.ended_at = at
                trace.outcome = "" if workload.state == "succeeded" else str(workload.message or workload.state)
                changed[trace.workload] = trace
        return changed

    def _going_on(self, workload: int) -> OpenTrace | None:
        return None if workload in self._complete else self._open.get(workload)

    def _note(self, traces: Iterable[OpenTrace]) -> None:
        """Write them down; those that are complete can be sent."""
        listed = list(traces)
        self._tables.write(listed, self._newest)
        self._complete.update({one.workload: one for one in listed if one.complete})
        while len(self._open) > MOST_OPEN:
            self._give_up(next(iter(self._complete or self._open)))
        self._metrics.open.set(len(self._open))
        if self._complete:
            self._arrived.set()

    def _give_up(self, workload: int) -> None:
        self._forget([workload])
        self._metrics.dropped.inc()

    def _forget(self, workloads: list[int]) -> None:
        self._tables.remove(workloads)
        for workload in workloads:
            self._open.pop(workload, None)
            self._complete.pop(workload, None)
        self._metrics.open.set(len(self._open))

    async def run(self) -> None:
        pause_s = FIRST_PAUSE_S
        while True:
            await self._arrived.wait()
            if await self._send():
                pause_s = FIRST_PAUSE_S
            else:
                if pause_s == FIRST_PAUSE_S:
                    log.warning("traces cannot be sent; trying again", endpoint=self._settings.endpoint)
                await asyncio.sleep(pause_s)
                pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    async def _send(self) -> bool:
        """One message."""
        sent = list(self._complete.values())[:AT_ONCE]
        spans = [span for trace in sent for span in spans_of(trace)]
        if spans and not await asyncio.to_thread(self._deliver, spans):
            self._metrics.failures.inc()
            return False
        self._forget([trace.workload for trace in sent])
        self._metrics.sent.inc(len(sent))
        if not self._complete:
            self._arrived.clear()
        return True

    def _deliver(self, spans: list[PlannedSpan]) -> bool:
        if self._sender is None:
            from dovetail.control.tracing.exporter import SpanSender

            self._sender = SpanSender(self._settings)
        return self._sender.send(spans)

    async def stop(self) -> None:
        """What is not sent yet is sent after the next start."""
        if self._sender is not None:
            await asyncio.to_thread(self._sender.close)


def _catch_up(trace: OpenTrace, live: TracedWorkload | None) -> None:
    """`live` None: it has ended meanwhile, and nobody knows how."""
    if live is None:
        reached = [trace.submitted_at, *(task.reached_at for task in trace.tasks.values())]
        trace.ended_at = max(reached) if trace.ended_at is None else trace.ended_at
        return
    for record in live.tasks:
        task = trace.tasks.get(record.task.replica)
        if task is not None and not task.done:
            task.caught_up(record)
