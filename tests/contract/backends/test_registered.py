"""The registered backend keeps the promises of every backend, with a node that speaks its protocol over heartbeats."""

import asyncio
import time
from dataclasses import dataclass, field

import pytest
from tests.contract.backends.conformance import BackendConformance, Subject

from dovetail.backends.contract import Assignment, Report
from dovetail.backends.registered.backend import RegisteredBackend, TaskReport
from dovetail.model.event import NodeJoined
from dovetail.model.node import Node
from dovetail.model.workload import Rehearsal, Run, Workload

NODE = "far-away"
HEARTBEAT_S = 0.01


@dataclass
class Agent:
    """A node that runs nothing but keeps the rules of the protocol; it lives on while the control plane is away."""

    ends_at: dict[str, float] = field(default_factory=dict)
    exit_codes: dict[str, int | None] = field(default_factory=dict)
    started: dict[str, int] = field(default_factory=dict)

    def reports(self) -> list[TaskReport]:
        now = time.monotonic()
        return [
            TaskReport(key, "finished", self.exit_codes[key]) if now >= ends_at else TaskReport(key, "running")
            for key, ends_at in self.ends_at.items()
        ]

    def run(self, order: Assignment) -> None:
        if order.key not in self.ends_at:
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
        await report(NodeJoined(Node(name=NODE)))
        self._beating = asyncio.create_task(self._beat())

    async def _beat(self) -> None:
        while True:
            reply = await self.heartbeat(NODE, self._agent.reports())
            for order in reply.run:
                self._agent.run(order)
            for key in reply.stop:
                self._agent.stop(key)
            await asyncio.sleep(HEARTBEAT_S)

    async def close(self) -> None:
        assert self._beating is not None
        self._beating.cancel()
        await asyncio.wait([self._beating])
        await super().close()


def _workload(run_s: float, exit_code: int, _text: str) -> Workload:
    return Workload(name="work", run=Run(simulate=Rehearsal(run_time=run_s, exit_code=exit_code)))


class TestRegisteredBackend(BackendConformance):
    """A node that lost an attempt says so itself, and keeps the output of its tasks."""

    @pytest.fixture
    def subject(self) -> Subject:
        agent = Agent()
        return Subject(
            lambda: WithAgent(agent),
            _workload,
            times_run=lambda key: agent.started.get(key, 0),
            knows_lost_attempts=False,
            captures_output=False,
        )
