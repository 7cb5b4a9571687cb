"""The simulated backend keeps the promises of every backend, in one process and across two."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from tests.contract.backends.conformance import BackendConformance, Subject

from dovetail.backends.contract import Assignment, Backend
from dovetail.backends.simulated.backend import SimulatedBackend
from dovetail.backends.simulated.settings import NodeGroup, SimulatedSettings
from dovetail.model.node import Node
from dovetail.model.workloads.run import Run, SimulatedRun
from dovetail.model.workloads.workload import Workload


class Wire:
    """What could be between a control plane and a simulated world, if they were not in one process."""

    def __init__(self) -> None:
        self.loses_replies = self.broken = False
        self.held: dict[str, asyncio.Event] = {}

    async def carry(self, key: str, call: Callable[[], "asyncio.Future[None]"]) -> None:
        if self.broken:
            raise ConnectionError("cannot reach the world")
        await call()
        if self.loses_replies:
            raise ConnectionResetError("the reply was lost")
        if key in self.held:
            await self.held[key].wait()

    @asynccontextmanager
    async def cut_replies(self) -> AsyncIterator[None]:
        self.loses_replies = True
        yield
        self.loses_replies = False

    @asynccontextmanager
    async def break_calls(self) -> AsyncIterator[None]:
        self.broken = True
        yield
        self.broken = False

    @asynccontextmanager
    async def hold_reply(self, key: str) -> AsyncIterator[None]:
        self.held[key] = asyncio.Event()
        yield
        self.held.pop(key).set()


class FarAway(SimulatedBackend):
    """The simulated backend at the end of a wire."""

    def __init__(self, wire: Wire) -> None:
        super().__init__("sim", SimulatedSettings(groups=[NodeGroup(count=2)], prices={"sim-*": 1.5}))
        self._wire = wire

    async def bind(self, assignment: Assignment) -> None:
        await self._wire.carry(assignment.key, lambda: asyncio.ensure_future(super(FarAway, self).bind(assignment)))

    async def nodes(self) -> list[Node]:
        if self._wire.broken:
            raise ConnectionError("cannot reach the world")
        return await super().nodes()

    async def stop(self, key: str, reason: str) -> None:
        await self._wire.carry(key, lambda: asyncio.ensure_future(super(FarAway, self).stop(key, reason)))


def _workload(run_s: float, exit_code: int, _text: str) -> Workload:
    return Workload(name="rehearsed", run=Run(simulate=SimulatedRun(run_time=run_s, exit_code=exit_code)))


def _subject(factory: Callable[[Wire], Callable[[], Backend]], *, remembers: bool) -> Subject:
    wire = Wire()
    return Subject(
        factory(wire),
        _workload,
        knows_lost_attempts=False,
        captures_output=False,
        remembers_ends=remembers,
        cut_replies=wire.cut_replies,
        break_calls=wire.break_calls,
        hold_reply=wire.hold_reply,
    )


class TestSimulatedBackendInANewProcess(BackendConformance):
    """A restart finds an empty world and takes everything it is told of to be running; logs are made up."""

    @pytest.fixture
    def subject(self) -> Subject:
        return _subject(lambda wire: lambda: FarAway(wire), remembers=False)


class TestSimulatedBackendClosedAndStartedAgain(BackendConformance):
    """The same object again: its world has gone on meanwhile."""

    @pytest.fixture
    def subject(self) -> Subject:
        def one(wire: Wire) -> Callable[[], Backend]:
            backend = FarAway(wire)
            return lambda: backend

        return _subject(one, remembers=True)
