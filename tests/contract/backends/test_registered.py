"""The registered backend keeps the promises of every backend, with a node that speaks its protocol over heartbeats."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
from tests.contract.backends.conformance import BackendConformance, Subject

from dovetail.backends.contract import Assignment, Report
from dovetail.backends.registered.backend import RegisteredBackend
from dovetail.backends.registered.protocol import TaskReport
from dovetail.model.event import NodeJoined
from dovetail.model.node import Node
from dovetail.model.resources import Capacity
from dovetail.model.workloads.workload import Run, SimulatedRun, Workload

NODE = "far-away"
HEARTBEAT_S = 0.01


@dataclass
class Agent:
    """A node that runs nothing but keeps the rules of the protocol; it lives on while the control plane is away."""

    ends_at: dict[str, float] = field(default_factory=dict)
    exit_codes: dict[str, int | None] = field(default_factory=dict)
    started: dict[str, int] = field(default_factory=dict)
    loses_replies: bool = False
    cut_off: bool = False
    silent_about: set[str] = field(default_factory=set)
    begun: set[str] = field(default_factory=set)  # what it has said to run: that it says before anything else

    @asynccontextmanager
    async def losing_replies(self) -> AsyncIterator[None]:
        """Its heartbeats arrive, and what is ordered with the replies does not."""
        self.loses_replies = True
        yield
        self.loses_replies = False

    @asynccontextmanager
    async def away(self, _key: str = "") -> AsyncIterator[None]:
        """It runs what it runs and is heard of by nobody."""
        self.cut_off = True
        yield
        self.cut_off = False

    @asynccontextmanager
    async def silence_about(self, key: str) -> AsyncIterator[None]:
        self.silent_about.add(key)
        yield
        self.silent_about.remove(key)

    def runs(self, key: str) -> bool:
        return time.monotonic() < self.ends_at.get(key, 0.0)

    async def beat(self, backend: RegisteredBackend) -> None:
        if self.cut_off:
            return
        reply = await backend.heartbeat(
            NODE, [report for report in self.reports() if report.key not in self.silent_about]
        )
        if self.loses_replies:
            return
        for order in reply.run:
            self.run(order)
        for key in reply.stop:
            self.stop(key)

    def reports(self) -> list[TaskReport]:
        now = time.monotonic()
        ended = {key for key, ends_at in self.ends_at.items() if now >= ends_at and key in self.begun}
        self.begun |= self.ends_at.keys()
        return [
            TaskReport(key, "finished", self.exit_codes[key]) if key in ended else TaskReport(key, "running")
            for key in self.ends_at
        ]

    def run(self, order: Assignment) -> None:
        if order.key not in self.ends_at and order.key not in self.silent_about:
            assert order.spec.run.simulate is not None
            self.started[order.key] = self.started.get(order.key, 0) + 1
            self.ends_at[order.key] = time.monotonic() + (order.spec.run.simulate.run_time or 0.0)
            self.exit_codes[order.key] = order.spec.run.simulate.exit_code

    def stop(self, key: str) -> None:
        if self.ends_at.get(key, float("inf")) > time.monotonic():
            self.ends_at[key], self.exit_codes[key] = time.monotonic(), None


class WithAgent(RegisteredBackend):
    """The backend with its one node registered, and the node's heartbeats while the backend is there to hear them."""

    def __init__(self, agent: Agent) -> None:
        super().__init__("registered")
        self._agent = agent
        self._beating: asyncio.Task[None] | None = None

    async def start(self, report: Report) -> None:
        await super().start(report)
        await report(NodeJoined(Node(name=NODE, backend=self.name, capacity=Capacity(cpu=4, memory=2**33))))
        self._beating = asyncio.create_task(self._beat())

    async def _beat(self) -> None:
        while True:
            with contextlib.suppress(ConnectionError):  # it tries again with its next heartbeat
                await self._agent.beat(self)
            await asyncio.sleep(HEARTBEAT_S)

    async def close(self) -> None:
        if self._beating is not None:
            self._beating.cancel()
            await asyncio.wait([self._beating])
        await super().close()


def _workload(run_s: float, exit_code: int, _text: str) -> Workload:
    return Workload(name="work", run=Run(simulate=SimulatedRun(run_time=run_s, exit_code=exit_code)))


class TestRegisteredBackend(BackendConformance):
    """A node that lost an attempt says so itself, and keeps the output of its tasks."""

    @pytest.fixture
    def subject(self) -> Subject:
        agent = Agent()
        return Subject(
            lambda: WithAgent(agent),
            _workload,
            times_run=lambda key: agent.started.get(key, 0),
            runs_now=agent.runs,
            knows_lost_attempts=False,
            captures_output=False,
            owns_its_nodes=False,
            cut_replies=agent.losing_replies,
            break_calls=agent.away,
            hold_reply=agent.silence_about,
            cut_off=agent.away,
        )
