"""An agent that runs nothing but keeps the rules of the protocol, for conformance of backends whose nodes have one."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from dovetail.backends.contract import Assignment
from dovetail.backends.registered.backend import RegisteredBackend
from dovetail.backends.registered.protocol import TaskReport


@dataclass
class ScriptedAgent:
    """Of one node. It lives on while the control plane is away."""

    node: str
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
            self.node, [report for report in self.reports() if report.key not in self.silent_about], answers=True
        )
        if self.loses_replies:
            return
        for call in backend.agents.calls.take(self.node):
            backend.agents.calls.answer(self.node, call.id, None)  # it keeps no output
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
