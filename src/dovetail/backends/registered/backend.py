"""The backend of registered nodes: their agents, or programs of others, fetch orders and report what became of them.

No call waits for a node: orders are sent with the reply to the node's next heartbeat. The control plane detects silent
nodes, and the nodes keep the output of tasks.
"""

import contextlib
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import Any

from dovetail.backends.contract import (
    Assignment,
    Capabilities,
    CommandInput,
    LogChunk,
    NoOutput,
    Price,
    Refusal,
    Report,
    Status,
    TerminalSize,
)
from dovetail.backends.peer_migration import PeerMove
from dovetail.backends.registered.agents import NodeAgents
from dovetail.backends.registered.calls import CallKind, NodeCall
from dovetail.backends.registered.order_book import OrderBook
from dovetail.backends.registered.protocol import HeartbeatReply, NotStarted, TaskReport
from dovetail.backends.registered.vm_calls import VmsOfAgents
from dovetail.backends.registered.vm_moves import VmMoves
from dovetail.model.event import Event, TaskFinished
from dovetail.model.node import Node
from dovetail.model.task_use import TaskUse

HEARTBEAT_S = 10.0


class RegisteredBackend(VmsOfAgents):
    """Implements `dovetail.backends.contract.Backend`, and `heartbeat` and `orders` for the nodes. VMs: `vm_calls`.

    `node_of`: the node of an attempt that this backend has forgotten, as the store knows it."""

    # Nodes report with heartbeats. They choose the interval; this is what they are asked for.
    capabilities = Capabilities(
        processes=True,
        containers=True,
        gpus=True,
        observes=True,
        logs=True,
        executes=True,
        attaches=True,
        machines=True,
        migrate=True,  # VMs; other work is stopped and started elsewhere
        stale_for_s=HEARTBEAT_S,
    )

    def __init__(
        self,
        name: str,
        monotonic_s: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
        node_of: Callable[[str], Awaitable[str | None]] | None = None,
    ) -> None:
        self.name = name
        self._node_of = node_of
        self.agents = NodeAgents(monotonic_s)
        self.book = OrderBook(self._send, self.agents.ring, monotonic_s, now, self._stored_node)
        self.moves = VmMoves(self.book, self.agents)
        self._report: Report | None = None

    async def start(self, report: Report) -> None:
        """The control plane registers its nodes, and restores them with the rest of the cluster."""
        self._report = report
        self.agents.start()
        self.book.start()

    async def nodes(self) -> list[Node]:
        return []

    async def prices(self) -> dict[str, Price]:
        return {}

    async def status(self, key: str) -> Status:
        return self.book.status(key)

    async def bind(self, assignment: Assignment) -> None:
        await self.book.order(assignment, sent=False)

    async def stop(self, key: str, reason: str) -> None:
        await self.book.stop(key, reason)

    async def kill(self, key: str, reason: str) -> None:
        await self.stop(key, reason)
        self.book.kill(key)

    async def reconcile(self, assignments: list[Assignment]) -> None:
        """Order each again: the node reports its state, or starts what it never received."""
        for assignment in assignments:
            try:
                await self.book.order(assignment, sent=True)
            except Refusal as refusal:
                await self._send(TaskFinished(assignment.task, assignment.key, None, str(refusal)))

    async def close(self) -> None:
        await self.moves.close()
        self._report = None

    def use_of(self, key: str) -> tuple[TaskUse, float] | None:
        """What the attempt used when its node last reported, and when that was."""
        return self.book.use_of(key)

    async def _stored_node(self, key: str) -> str | None:
        return None if self._node_of is None else await self._node_of(key)

    async def _send(self, event: Event) -> None:
        if self._report is None:
            raise NotStarted(f"backend {self.name} is not started; ask again when it is")
        await self._report(event)

    # --- what agents keep and do -------------------------------------------------------------------------------

    async def logs(self, key: str, offset: int, limit: int) -> LogChunk:
        found = await self._ask(key, "logs", offset=offset, limit=limit)
        return LogChunk(found["text"], found["next_offset"], found["ended"])

    async def log_tail(self, key: str, lines: int) -> int:
        return int((await self._ask(key, "log_tail", lines=lines))["offset"])

    async def log_since(self, key: str, at: float) -> int | None:
        found = (await self._ask(key, "log_since", at=at))["offset"]
        return None if found is None else int(found)

    async def _ask(self, key: str, kind: CallKind, **asked: Any) -> dict[str, Any]:
        """Raises KeyError for a node without an agent that can be asked."""
        node = await self.book.node_of(key)
        if not self.agents.has(node):
            raise NoOutput(f"node {node} has no agent that could be asked for it; look there")
        return await self.agents.calls.ask(node, kind, key, **asked)

    def execute(
        self, key: str, command: Sequence[str], given: CommandInput | None = None, terminal: TerminalSize | None = None
    ) -> AsyncGenerator[bytes | int]:
        size = None if terminal is None else {"rows": terminal.rows, "columns": terminal.columns}
        return self._session(key, "execute", given, command=list(command), terminal=size)

    def attach(self, key: str, given: CommandInput | None = None) -> AsyncGenerator[bytes | int]:
        return self._session(key, "attach", given)

    async def _session(
        self, key: str, kind: CallKind, given: CommandInput | None, **asked: Any
    ) -> AsyncGenerator[bytes | int]:
        node = self.book.running_on(key)
        if not self.agents.has(node):
            raise Refusal(f"node {node} has no agent that could do it; go there")
        async with self.agents.sessions.opened(node, given) as session:
            self.agents.calls.tell(node, kind, key, session=session.id, input=given is not None, **asked)
            async with contextlib.aclosing(session.blocks()) as blocks:
                async for block in blocks:
                    yield block

    # --- for the nodes -----------------------------------------------------------------------------------------

    async def heartbeat(
        self, node: str, reports: list[TaskReport], *, answers: bool = False, moves: Sequence[PeerMove] = ()
    ) -> HeartbeatReply:
        """Record what the node reports, and answer with its orders. `answers`: its agent answers questions. `moves`:
        migrations whose outcome it waits for; it may have an attempt that is ordered from another node until then."""
        if answers:
            self.agents.heard(node)
        unordered = {report.key: None for report in reports if not await self.book.record(node, report)}
        for move in moves:
            unordered.pop(move.key, None)
        self.moves.heard(node, moves)
        reply = self._reply(node, [])
        reply.stop.extend([key for key in unordered if key not in reply.stop])
        return reply

    async def orders(self, node: str, after: int, wait_s: float) -> HeartbeatReply:
        """The orders of the node, as soon as they have changed since `after`, or when the time is over."""
        if self._report is None:
            raise NotStarted(f"backend {self.name} is not started; ask again when it is")
        await self.agents.wait(node, after, wait_s)
        return self._reply(node, self.agents.calls.take(node, after, self.agents.version(node)))

    def _reply(self, node: str, calls: list[NodeCall]) -> HeartbeatReply:
        run, stop, kill = self.book.take(node)
        return HeartbeatReply(run, stop, kill, calls, self.agents.version(node))

    def keeps_offline(self, node: str) -> bool:  # noqa: ARG002 - others know more of their nodes
        """Whether the node takes no work although its agent is heard."""
        return False

    def forget(self, node: str) -> None:
        """It was removed, and nobody waits for its orders any more."""
        self.agents.forget(node)
