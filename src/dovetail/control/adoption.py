"""Taking up with a backend: start it, hand it back what it ran before a restart, and only then send it commands.

The loop decides meanwhile; commands wait in the backend's line until everything it ran is known again, so that a Stop
can never overtake the adoption of what it is to stop. A backend that does not start is tried again and again, and its
nodes count as unavailable until it does. None waits for another.
"""

import asyncio
from collections.abc import Callable, Iterable

import structlog

from dovetail.backends.contract import Assignment, Backend, Report
from dovetail.control.execution import FIRST_PAUSE_S, LONGEST_PAUSE_S, Executor
from dovetail.control.specs import Specs
from dovetail.engine.state import EngineState
from dovetail.engine.work import LiveTask
from dovetail.model.command import Stop, attempt_key
from dovetail.model.event import BackendHealthChanged, Event
from dovetail.model.task import TaskId, TaskState

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
    def __init__(
        self, backend: Backend, executor: Executor, specs: Specs, report: Report, tell: Callable[[list[Event]], None]
    ) -> None:
        self._backend, self._executor, self._specs = backend, executor, specs
        self._report, self._tell = report, tell
        self._started = False

    async def start(self) -> None:
        """The first try, so that nodes are announced before anyone asks."""
        self._started = await self._try_start()

    async def adopt(self, held: Held) -> None:
        """The rest: until it has started, then chunk by chunk what it held, then its commands."""
        pause_s = FIRST_PAUSE_S
        while not self._started:
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
            self._started = await self._try_start()
            if self._started:
                self._tell([BackendHealthChanged(self._backend.name, True, "has started")])
        for at in range(0, len(held), CHUNK):
            await self._adopt_chunk(held[at : at + CHUNK])
        self._executor.begin()

    async def _try_start(self) -> bool:
        name = self._backend.name
        try:
            await self._backend.start(self._report)
        except Exception as error:  # one backend's trouble must not keep the others from starting
            log.error("backend did not start; trying again", backend=name, error=f"{type(error).__name__}: {error}")
            self._tell([BackendHealthChanged(name, False, str(error))])
            return False
        return True

    async def _adopt_chunk(self, held: Held) -> None:
        specs = await self._specs.many({task.workload for task, _ in held})
        assignments = [
            Assignment(attempt_key(task, live.attempt), task, live.node, specs[task.workload], live.devices)
            for task, live in held
            if live.node is not None and live.state.holds_node and task.workload in specs
        ]
        try:
            await self._backend.reconcile(assignments)
        except Exception as error:  # what it does not know it will report as it hears of it
            log.error("reconciling failed", backend=self._backend.name, error=f"{type(error).__name__}: {error}")
        for task, live in held:
            if live.state is TaskState.STOPPING and live.node is not None and live.backend is not None:
                # It took the order to stop but had not carried it out; it may have forgotten by now.
                key = attempt_key(task, live.attempt)
                self._executor.put(Stop(task, live.node, live.backend, key, live.message))
