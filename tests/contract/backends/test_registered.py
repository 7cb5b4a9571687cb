"""The registered backend keeps the promises of every backend, with a node that speaks its protocol over heartbeats."""

import asyncio
import contextlib

import pytest
from tests.contract.backends.conformance import BackendConformance, Subject
from tests.contract.backends.scripted_agent import ScriptedAgent

from dovetail.backends.contract import Report
from dovetail.backends.registered.backend import RegisteredBackend
from dovetail.model.event import NodeJoined
from dovetail.model.node import Node
from dovetail.model.resources import Capacity
from dovetail.model.workloads.run import Run, SimulatedRun
from dovetail.model.workloads.workload import Workload

NODE = "far-away"
HEARTBEAT_S = 0.01


class WithAgent(RegisteredBackend):
    """The backend with its one node registered, and the node's heartbeats while the backend is there to hear them."""

    def __init__(self, agent: ScriptedAgent) -> None:
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
        agent = ScriptedAgent(NODE)
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
