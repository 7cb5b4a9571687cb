"""A backend with trouble, around one without: slow, failing, lying or silent, as long as it is told to be.

The backend inside keeps its promises, and what it reports is recorded as the truth before it is distorted. `TrueEvents`
compares it with what a control plane made of it.
"""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise
from random import Random
from typing import TypeVar

from dovetail.backends.contract import Assignment, Backend, LogChunk, Price, Report, Status
from dovetail.model.command import task_of_key
from dovetail.model.event import Event, TaskFinished, TaskStarted
from dovetail.model.node import Node
from dovetail.model.task import TaskId

T = TypeVar("T")


class Fault(StrEnum):
    NONE = "none"
    SLOW = "slow"  # every call takes long
    FAILING = "failing"  # half of all calls fail, some of them after they were carried out
    LYING = "lying"  # reports are forgotten, repeated and reordered; attempts are denied
    SILENT = "silent"  # no call returns, nothing is reported


@dataclass(slots=True)
class AttemptTruth:
    """When an attempt really ran."""

    started: list[float] = field(default_factory=list)
    ended: list[tuple[float, int | None]] = field(default_factory=list)


@dataclass(slots=True)
class TrueEvents:
    """What really happened, by key."""

    attempts: dict[str, AttemptTruth] = field(default_factory=dict)

    def heard(self, event: Event, now: float) -> None:
        if isinstance(event, TaskStarted):
            self.attempts.setdefault(event.key, AttemptTruth()).started.append(now)
        elif isinstance(event, TaskFinished):
            self.attempts.setdefault(event.key, AttemptTruth()).ended.append((now, event.exit_code))

    def orphans(self) -> list[str]:
        """Attempts that run and have not ended."""
        return [key for key, truth in self.attempts.items() if truth.started and not truth.ended]

    def doubled(self) -> list[str]:
        """Tasks of which two attempts ran at the same time, or one attempt ran to its end twice."""
        by_task: dict[TaskId, list[tuple[float, float]]] = {}
        for key, truth in self.attempts.items():
            if truth.started:
                end = truth.ended[0][0] if truth.ended else float("inf")
                by_task.setdefault(task_of_key(key), []).append((truth.started[0], end))
        found = []
        for task, spans in by_task.items():
            spans.sort()
            if any(later[0] < earlier[1] for earlier, later in pairwise(spans)):
                found.append(str(task))
        return found

    def succeeded(self) -> set[TaskId]:
        return {task_of_key(key) for key, truth in self.attempts.items() if any(code == 0 for _, code in truth.ended)}


class FaultyBackend:
    """Implements `dovetail.backends.contract.Backend`."""

    def __init__(self, inner: Backend, chance: Random, slow_s: float = 30.0) -> None:
        self.name, self.capabilities = inner.name, inner.capabilities
        self.fault = Fault.NONE
        self.truth = TrueEvents()
        self.bound_at: dict[str, float] = {}  # when the first call to bind an attempt came
        self._inner, self._chance, self._slow_s = inner, chance, slow_s
        self._changed = asyncio.Event()
        self._held_back: list[Event] = []
        self._report: Report | None = None
        self._late: set[asyncio.Task[None]] = set()

    async def become(self, fault: Fault) -> None:
        """From now on it has this trouble. What silence held back is reported now."""
        self.fault = fault
        self._changed.set()
        self._changed = asyncio.Event()
        held, self._held_back = self._held_back, []
        for event in held:
            await self._pass_on(event)

    # --- calls -------------------------------------------------------------------------------------------------

    async def nodes(self) -> list[Node]:
        return await self._call(self._inner.nodes)

    async def prices(self) -> Mapping[str, Price]:
        return await self._call(self._inner.prices)

    async def status(self, key: str) -> Status:
        found = await self._call(lambda: self._inner.status(key))
        if self.fault is Fault.LYING and self._chance.random() < 0.1:
            raise KeyError(key)
        return found

    async def start(self, report: Report) -> None:
        self._report = report
        await self._inner.start(self._heard)

    async def bind(self, assignment: Assignment) -> None:
        self.bound_at.setdefault(assignment.key, time.monotonic())
        await self._call(lambda: self._inner.bind(assignment))

    async def stop(self, key: str, reason: str) -> None:
        await self._call(lambda: self._inner.stop(key, reason))

    async def reconcile(self, assignments: list[Assignment]) -> None:
        await self._call(lambda: self._inner.reconcile(assignments))

    async def logs(self, key: str, offset: int, limit: int) -> LogChunk:
        return await self._call(lambda: self._inner.logs(key, offset, limit))

    async def close(self) -> None:
        for task in self._late:
            task.cancel()
        await self._inner.close()

    async def _call(self, call: Callable[[], Awaitable[T]]) -> T:
        if self.fault is Fault.SILENT:
            await self._changed.wait()
            raise ConnectionError("the answer was lost")
        if self.fault is Fault.SLOW:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._slow_s):
                    await self._changed.wait()
        if self.fault is Fault.FAILING:
            luck = self._chance.random()
            if luck < 0.25:
                raise ConnectionError("the call was lost")
            if luck < 0.5:
                await call()
                raise ConnectionError("the answer was lost")
        return await call()

    # --- reports -----------------------------------------------------------------------------------------------

    async def _heard(self, event: Event) -> None:
        self.truth.heard(event, time.monotonic())
        if self.fault is Fault.SILENT:
            self._held_back.append(event)
        elif self.fault is Fault.LYING and isinstance(event, TaskStarted | TaskFinished):
            await self._distort(event)
        else:
            await self._pass_on(event)

    async def _distort(self, event: Event) -> None:
        luck = self._chance.random()
        if luck < 0.1:
            return  # forgotten
        if luck < 0.3:
            self._pass_on_later(event)  # reordered
            return
        await self._pass_on(event)
        if luck < 0.5:
            self._pass_on_later(event)  # repeated

    def _pass_on_later(self, event: Event) -> None:
        async def wait() -> None:
            await asyncio.sleep(self._chance.uniform(0.01, 1.0))
            await self._pass_on(event)

        task = asyncio.create_task(wait())
        self._late.add(task)
        task.add_done_callback(self._late.discard)

    async def _pass_on(self, event: Event) -> None:
        assert self._report is not None
        await self._report(event)
