"""The backend of machines that are launched for work: a registered backend that also makes the machines.

Orders wait for the agent of a machine as they do for any registered node; the fleet sees to it that there is one.
"""

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from dovetail.backends.contract import Assignment, LogChunk, NodeCredentials, Price, Refusal, Report
from dovetail.backends.machines.fleet import Fleet
from dovetail.backends.machines.kept_output import KeptOutput
from dovetail.backends.machines.provider import MachineProvider
from dovetail.backends.machines.settings import JoinSettings, MachineSettings
from dovetail.backends.peer_migration import PeerMove
from dovetail.backends.registered.backend import RegisteredBackend
from dovetail.backends.registered.calls import NodeCall
from dovetail.backends.registered.protocol import HeartbeatReply, TaskReport
from dovetail.model.failure_cause import FailureCause
from dovetail.model.node import Node


class MachineBackend(RegisteredBackend):
    """Implements `dovetail.backends.contract.Backend` and `LaunchingBackend`. One a provider; `join` None: machines
    have their agents already."""

    # To migrate a VM safely, a backend must be able to ask the store where it is.
    capabilities = replace(RegisteredBackend.capabilities, migrate=False)

    def __init__(
        self,
        name: str,
        provider: MachineProvider,
        settings: MachineSettings,
        join: JoinSettings | None,
        folder: Path,
        boot_within_s: float | None = None,
    ) -> None:
        """`boot_within_s`: how long machines may take that have their agents already."""
        super().__init__(name)
        self._heard_at: dict[str, float] = {}
        self._kept = KeptOutput(folder / "output")
        self.fleet = Fleet(name, provider, settings, join, folder, self, boot_within_s=boot_within_s)

    def use_credentials(self, credentials: NodeCredentials) -> None:
        self.fleet.use_credentials(credentials)

    async def start(self, report: Report) -> None:
        await super().start(report)
        await self.fleet.start(report)

    async def nodes(self) -> list[Node]:
        await self.fleet.machines()  # raises if the provider cannot be reached
        return self.fleet.nodes

    async def prices(self) -> dict[str, Price]:
        return self.fleet.prices()

    async def bind(self, assignment: Assignment) -> None:
        if not self.fleet.offers(assignment.node):
            raise Refusal(f"{assignment.node} is not offered any more", FailureCause.BACKEND)
        await super().bind(assignment)
        await self.fleet.want(assignment.node)

    async def heartbeat(
        self, node: str, reports: list[TaskReport], *, answers: bool = False, moves: Sequence[PeerMove] = ()
    ) -> HeartbeatReply:
        self._heard_at[node] = time.monotonic()
        ordered = {one.key for one in self.assigned(node)}
        reply = await super().heartbeat(node, reports, answers=answers, moves=moves)
        for report in reports:
            if report.state == "finished" and report.key in ordered and self.has_agent(node):
                self._kept.fetch(report.key, node, partial(super().logs, report.key))
        return reply

    async def logs(self, key: str, offset: int, limit: int) -> LogChunk:
        return await (self._kept.logs(key, offset, limit) if self._kept.has(key) else super().logs(key, offset, limit))

    async def log_tail(self, key: str, lines: int) -> int:
        return await (self._kept.tail(key, lines) if self._kept.has(key) else super().log_tail(key, lines))

    async def log_since(self, key: str, at: float) -> int | None:
        """Of output that is kept here, nobody knows when it was written."""
        return None if self._kept.has(key) else await super().log_since(key, at)

    def heard_at(self, node: str) -> float | None:
        """When its agent last sent something by itself, by a clock that nobody can set."""
        return self._heard_at.get(node)

    def keeps_offline(self, node: str) -> bool:
        return self.fleet.is_offline(node)

    def _reply(self, node: str, calls: list[NodeCall]) -> HeartbeatReply:
        """A machine that is being ended starts nothing more."""
        if not self.fleet.ends(node):
            return super()._reply(node, calls)
        return HeartbeatReply([], [], [], calls, self.agents.version(node))

    async def reconcile(self, assignments: list[Assignment]) -> None:
        """What ran on machines that are gone is lost; the agents of the others report."""
        await super().reconcile(assignments)
        for node in {one.node for one in assignments}:
            if node in self.fleet:
                await self.fleet.want(node)
            else:
                await self.give_up(node, f"machine {node} is gone")

    async def close(self) -> None:
        await self._kept.close()
        await self.fleet.close()
        await super().close()

    # --- for the fleet -----------------------------------------------------------------------------------------

    def assigned(self, node: str) -> list[Assignment]:
        return self.book.assigned(node)

    def has_agent(self, node: str) -> bool:
        return self.agents.has(node)

    async def give_up(self, node: str, reason: str) -> None:
        await self.book.give_up(node, reason)

    async def refuse(self, node: str, reason: str, cause: FailureCause) -> None:
        await self.book.refuse(node, reason, cause)

    def is_busy(self, node: str) -> bool:
        return bool(self.assigned(node)) or self._kept.is_fetching(node)
