"""Asks backends now and then what became of attempts of which nothing was heard for a while: a report may be lost.

A backend promises to repeat its reports, but the system behind it may forget, restart or lie. So every attempt is
looked at in turn, a few a second. An end or a start that was not reported is taken from the answer. An attempt that the
backend does not know at two looks in a row is stopped: by the contract that ends it, and nothing can run under its key
later.
"""

import asyncio
import time
from collections.abc import Callable, Mapping

import structlog

from dovetail.asyncio_tasks import cancel
from dovetail.backends.contract import Phase, Status
from dovetail.control.backends.breaker import Circuit
from dovetail.control.backends.member import Member
from dovetail.engine.questions.node_questions import NodeQuestions
from dovetail.engine.questions.workload_questions import HeldTask, WorkloadQuestions
from dovetail.model.command import Stop
from dovetail.model.event import Event, TaskFinished, TaskStarted
from dovetail.model.task import TaskState

QUESTIONS_PER_S = 10.0  # asked of one backend
NODES_AT_ONCE = 200
UNKNOWN = "the backend does not know it any more"

log = structlog.get_logger()


class Relisting:
    """`every_s`: an attempt is asked about at most so often, and only if it has been as it is for that long."""

    def __init__(
        self,
        members: Mapping[str, Member],
        nodes: NodeQuestions,
        work: WorkloadQuestions,
        tell: Callable[[list[Event]], None],
        every_s: float,
    ) -> None:
        self._members, self._nodes, self._work, self._tell = members, nodes, work, tell
        self._every_s = every_s

    async def run(self) -> None:
        """Until cancelled. Each backend has a task of its own: none waits for another."""
        tasks: dict[str, asyncio.Task[None]] = {}
        try:
            while True:
                await asyncio.sleep(min(self._every_s, 1.0))
                for name in list(self._members):
                    if name not in tasks or tasks[name].done():
                        tasks[name] = asyncio.create_task(self._look_through(name), name=f"{name}: relisting")
        finally:
            await cancel(*tasks.values())

    async def _look_through(self, backend: str) -> None:
        """All attempts of a backend, again and again, until it is removed."""
        seen: dict[str, _Seen] = {}
        while backend in self._members:
            began = time.monotonic()
            seen = await self._look_once(backend, seen)
            await asyncio.sleep(max(0.05, self._every_s - (time.monotonic() - began)))

    async def _look_once(self, backend: str, before: Mapping[str, "_Seen"]) -> "dict[str, _Seen]":
        there: dict[str, _Seen] = {}
        for position, node in enumerate(self._nodes.of_backend(backend)):
            if position % NODES_AT_ONCE == 0:
                await asyncio.sleep(0)  # decisions have their turn
            for held in self._work.held_on(node):
                known = before.get(held.key)
                if known is None or known.state is not held.state:
                    there[held.key] = _Seen(held.state, time.monotonic())
                    continue
                there[held.key] = known
                if time.monotonic() - known.since >= self._every_s and self._may_ask(backend, held):
                    await self._ask(self._members[backend], held, known)
                    await asyncio.sleep(1.0 / QUESTIONS_PER_S)
        return there

    def _may_ask(self, backend: str, held: HeldTask) -> bool:
        """Whether the backend answers and has accepted the attempt, and no command about it is on its way."""
        member = self._members.get(backend)
        if member is None or member.executor is None or member.state != Circuit.CLOSED or held.backend != backend:
            return False
        return held.state is not TaskState.PLACED and member.executor.is_settled(held.key)

    async def _ask(self, member: Member, held: HeldTask, seen: "_Seen") -> None:
        executor = member.executor
        assert executor is not None
        seen.since = time.monotonic()
        try:
            status = await executor.status(held.key)
        except KeyError:
            seen.unknown += 1
            if seen.unknown > 1 and self._is_still(held):
                log.warning("an attempt is not known any more", backend=member.name, key=held.key)
                executor.put(Stop(held.task, held.node, held.backend, held.key, UNKNOWN))
        except Exception as error:  # its probes tell; this is asked again
            words = executor.cleaned(f"{type(error).__name__}: {error}")
            log.debug("an attempt could not be asked about", backend=member.name, key=held.key, error=words)
        else:
            seen.unknown = 0
            if self._is_still(held) and (event := _news(held, status)) is not None:
                log.warning("a report was missing", backend=member.name, key=held.key, missing=type(event).__name__)
                self._tell([event])

    def _is_still(self, held: HeldTask) -> bool:
        now = self._work.held(held.task)
        return now is not None and (now.attempt, now.state, now.node) == (held.attempt, held.state, held.node)


class _Seen:
    """An attempt as it was seen: its state, since when or when it was last asked about, how often it was unknown."""

    __slots__ = ("since", "state", "unknown")

    def __init__(self, state: TaskState, since: float) -> None:
        self.state, self.since, self.unknown = state, since, 0


def _news(held: HeldTask, status: Status) -> Event | None:
    """The event that the engine has not heard, if there is one."""
    if status.phase is Phase.ENDED:
        return TaskFinished(held.task, held.key, status.exit_code, status.reason)
    if status.phase is Phase.RUNNING and held.state is TaskState.BOUND:
        return TaskStarted(held.task, held.key)
    return None
