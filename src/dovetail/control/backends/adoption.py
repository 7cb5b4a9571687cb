"""Adoption of a backend: start it, ask for its nodes, hand it back the tasks of before a restart, then send commands.

The loop decides meanwhile. Commands wait in the backend's queue until all of its tasks are adopted, so a Stop never
overtakes the adoption of its task. A backend that does not start is retried, and its nodes are unavailable until it
does. No backend waits for another.
"""

import asyncio
import time
from collections.abc import Callable, Sequence

import structlog

from dovetail.backends.contract import Assignment, Report
from dovetail.control.backends.breaker import FIRST_PAUSE_S, LONGEST_PAUSE_S
from dovetail.control.backends.execution import Executor, said
from dovetail.control.loop.store_access import DefinitionCache
from dovetail.engine.questions.workload_questions import HeldTask, WorkloadQuestions
from dovetail.model.backoff import Backoff
from dovetail.model.command import Stop
from dovetail.model.event import BackendHealthChanged, Event
from dovetail.model.node import Node
from dovetail.model.task import TaskState
from dovetail.model.workloads.workload import Workload
from dovetail.store.contract import StoreError

CHUNK = 500  # definitions read and parsed between two turns of the loop

log = structlog.get_logger()


class Adoption:
    """`over`: commands are sent. Until then `trouble` says what is wrong, if anything is. `down`: its nodes count as
    unavailable, so a start must be reported. `named` is called with its nodes."""

    def __init__(
        self,
        executor: Executor,
        specs: DefinitionCache,
        work: WorkloadQuestions,
        report: Report,
        tell: Callable[[list[Event]], None],
        named: Callable[[list[Node]], None],
        *,
        down: bool,
    ) -> None:
        self._backend, self._executor, self._specs = executor.backend, executor, specs
        self._work, self._report, self._tell, self._named = work, report, tell, named
        self._down = down
        self.tried = asyncio.Event()
        self.over = False
        self.trouble = "has not started yet"

    async def adopt(self, held: Sequence[HeldTask]) -> None:
        """Start it, however often that takes; adopt its tasks chunk by chunk; then let commands through."""
        backoff = Backoff(FIRST_PAUSE_S, LONGEST_PAUSE_S)
        while not await self._try_start():  # noqa: ASYNC110 - a backend tells nobody when it is back
            await asyncio.sleep(backoff.next_s())
        nodes = await self._executor.nodes()
        if nodes is not None:
            self._named(nodes)
        for at in range(0, len(held), CHUNK):
            await self._adopt_chunk(held[at : at + CHUNK])
        self._executor.begin()
        self.over = True

    def overdue(self) -> None:
        """It had its time to start and did not: report its nodes as unavailable."""
        if not self.tried.is_set():
            self._report_health(False, self.trouble)

    async def _try_start(self) -> bool:
        name, began = self._backend.name, time.monotonic()
        try:
            await self._backend.start(self._report)
        except Exception as error:  # one backend's failure must not keep the others from starting
            took_s = time.monotonic() - began
            before, self.trouble = self.trouble, self._executor.cleaned(said(error, took_s))
            tell = log.debug if self.trouble == before else log.error  # once, as long as it is the same
            tell("backend did not start; trying again", backend=name, error=self.trouble)
            self._executor.health.failed("start", took_s, self.trouble)
            self._report_health(False, self.trouble)
            self.tried.set()
            return False
        self._executor.health.succeeded("start", time.monotonic() - began)
        self.trouble = ""
        if self._down:
            self._report_health(True, "has started")
        self.tried.set()
        return True

    def _report_health(self, available: bool, reason: str) -> None:
        self._down = not available
        self._tell([BackendHealthChanged(self._backend.name, available, reason)])

    async def _definitions(self, workloads: set[int]) -> dict[int, Workload]:
        """Retried while the store fails: no task can be adopted without its definition."""
        while True:
            try:
                return await self._specs.many(workloads)
            except StoreError as error:
                log.error("definitions cannot be read; trying again", backend=self._backend.name, error=str(error))
                await asyncio.sleep(LONGEST_PAUSE_S)

    async def _adopt_chunk(self, held: Sequence[HeldTask]) -> None:
        specs = await self._definitions({one.task.workload for one in held})
        assignments = [
            Assignment(one.key, one.task, one.node, specs[one.task.workload], one.devices)
            for one in self._still_held(held)
            if one.task.workload in specs
        ]
        try:
            await self._backend.reconcile(assignments)
        except Exception as error:  # it reports unknown tasks when it meets them
            words = self._executor.cleaned(f"{type(error).__name__}: {error}")
            log.error("reconciling failed", backend=self._backend.name, error=words)
        for one in self._still_held(held):
            if one.state is TaskState.STOPPING and self._executor.is_settled(one.key):
                # It accepted the stop but did not finish it before the restart, and may have forgotten it.
                self._executor.put(Stop(one.task, one.node, one.backend, one.key, one.message))

    def _still_held(self, held: Sequence[HeldTask]) -> list[HeldTask]:
        """Their current state, without tasks that ended or began another attempt, which has a command of its own."""
        now = [(one, self._work.held(one.task)) for one in held]
        return [current for one, current in now if current is not None and current.attempt == one.attempt]
