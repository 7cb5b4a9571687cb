"""Taking up with a backend: start it, see which nodes it has, hand it back what it ran before a restart, and only then
send it commands.

The loop decides meanwhile; commands wait in the backend's line until everything it ran is known again, so that a Stop
can never overtake the adoption of what it is to stop. A backend that does not start is tried again and again, and its
nodes count as unavailable until it does. None waits for another.
"""

import asyncio
import time
from collections.abc import Callable, Iterable

import structlog

from dovetail.backends.contract import Assignment, Report
from dovetail.control.execution import FIRST_PAUSE_S, LONGEST_PAUSE_S, Executor, said
from dovetail.control.specs import Specs
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.work import LiveTask
from dovetail.model.backoff import Backoff
from dovetail.model.command import Stop, attempt_key
from dovetail.model.event import BackendHealthChanged, Event
from dovetail.model.node import Node
from dovetail.model.task import TaskId, TaskState
from dovetail.model.workloads.workload import Workload
from dovetail.store.contract import StoreError

CHUNK = 500  # definitions read and parsed between two turns of the loop

log = structlog.get_logger()

Held = list[tuple[TaskId, LiveTask]]


def held_by_backend(state: EngineState, unsent: Iterable[str]) -> dict[str, Held]:
    """Every task that holds a node and whose backend has confirmed it: those not in the outbox."""
    waiting = set(unsent)
    found: dict[str, Held] = {}
    for work in state.work.values():
        for replica, live in work.tasks.items():
            task = TaskId(work.id, replica)
            if live.state.holds_node and live.backend is not None and attempt_key(task, live.attempt) not in waiting:
                found.setdefault(live.backend, []).append((task, live))
    return found


class Adoption:
    """`over` is true when commands are sent; until then `trouble` says why not, if anything is wrong. `down`: its nodes
    count as unavailable, so that it has to be said when it starts. `named` is told which nodes it has."""

    def __init__(
        self,
        executor: Executor,
        specs: Specs,
        report: Report,
        tell: Callable[[list[Event]], None],
        named: Callable[[list[Node]], None],
        *,
        down: bool,
    ) -> None:
        self._backend, self._executor, self._specs = executor.backend, executor, specs
        self._report, self._tell, self._named = report, tell, named
        self._down = down
        self.tried = asyncio.Event()
        self.over = False
        self.trouble = "has not started yet"

    async def adopt(self, held: Held) -> None:
        """Until it has started, then chunk by chunk what it held, then its commands."""
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
        """It has been given time to start, and nobody waits for it any longer. What it had before may not be there."""
        if not self.tried.is_set():
            self._say(False, self.trouble)

    async def _try_start(self) -> bool:
        name, began = self._backend.name, time.monotonic()
        try:
            await self._backend.start(self._report)
        except Exception as error:  # one backend's trouble must not keep the others from starting
            took_s = time.monotonic() - began
            self.trouble = self._executor.cleaned(said(error, took_s))
            log.error("backend did not start; trying again", backend=name, error=self.trouble)
            self._executor.health.failed("start", took_s, self.trouble)
            self._say(False, self.trouble)
            self.tried.set()
            return False
        self._executor.health.succeeded("start", time.monotonic() - began)
        self.trouble = ""
        if self._down:
            self._say(True, "has started")
        self.tried.set()
        return True

    def _say(self, available: bool, reason: str) -> None:
        self._down = not available
        self._tell([BackendHealthChanged(self._backend.name, available, reason)])

    async def _definitions(self, workloads: set[int]) -> dict[int, Workload]:
        """However long the store is in trouble: without them nothing could be handed back."""
        while True:
            try:
                return await self._specs.many(workloads)
            except StoreError as error:
                log.error("definitions cannot be read; trying again", backend=self._backend.name, error=str(error))
                await asyncio.sleep(LONGEST_PAUSE_S)

    async def _adopt_chunk(self, held: Held) -> None:
        specs = await self._definitions({task.workload for task, _ in held})
        assignments = [
            Assignment(attempt_key(task, live.attempt), task, live.node, specs[task.workload], live.devices)
            for task, live in held
            if live.node is not None and live.state.holds_node and task.workload in specs
        ]
        try:
            await self._backend.reconcile(assignments)
        except Exception as error:  # what it does not know it will report as it hears of it
            words = self._executor.cleaned(f"{type(error).__name__}: {error}")
            log.error("reconciling failed", backend=self._backend.name, error=words)
        for task, live in held:
            if live.state is TaskState.STOPPING and live.node is not None and live.backend is not None:
                # It took the order to stop but had not carried it out; it may have forgotten by now.
                key = attempt_key(task, live.attempt)
                self._executor.put(Stop(task, live.node, live.backend, key, live.message))
