"""Keeps the orders of each registered node until the node reports that they are done.

Guarantees: an attempt is ordered from exactly one node, and is given up only when that node has reported its end or
never received the order. A node that runs something that was not ordered from it is told to stop it. No call waits for
a node: orders are sent with the reply to the node's next heartbeat.

Orders live in memory: after a restart, `reconcile` and repeated commands restore them. For `SETTLE_S` after a start,
work without an order is left alone and not stopped. The control plane detects silent nodes, and the nodes keep the
output of tasks.
"""

import asyncio
import contextlib
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dovetail.backends.contract import (
    Assignment,
    Capabilities,
    CommandInput,
    LogChunk,
    NoOutput,
    Phase,
    Price,
    Refusal,
    Report,
    Status,
    TerminalSize,
)
from dovetail.backends.peer_migration import PeerMove
from dovetail.backends.registered.calls import AgentCalls, CallKind, NodeCall
from dovetail.backends.registered.protocol import HeartbeatReply, NotStarted, TaskReport
from dovetail.backends.registered.sessions import AgentSessions
from dovetail.backends.registered.vm_calls import VmsOfAgents
from dovetail.backends.registered.vm_moves import VmMoves
from dovetail.model.command import task_of_key
from dovetail.model.event import BindFailed, Event, TaskFinished, TaskMoved, TaskStarted
from dovetail.model.failure_cause import FailureCause
from dovetail.model.node import Node
from dovetail.model.task_use import TaskUse

SETTLE_S = 15.0
HEARTBEAT_S = 10.0
FORGOTTEN_AFTER_S = 60.0  # an agent that has not asked for its orders for so long is not asked either
ENDS_KEPT = 100_000  # ends that may be asked for again; nobody waits for older ones
FIRST_SIGNAL_STATUS = 128  # shells add the signal's number to this for a process that a signal ended


@dataclass(slots=True)
class _Order:
    assignment: Assignment
    sent: bool  # the node may have received it
    running: bool = False  # the node has reported it
    stop_reason: str | None = None
    killed: bool = False  # it gets no grace
    use: TaskUse | None = None  # as last measured, at `used_at`
    used_at: float = 0.0


@dataclass(slots=True)
class _Changes:
    """Changes of the orders of a node, for its agent to wait for."""

    version: int
    changed: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(frozen=True, slots=True)
class _End:
    """How an attempt ended. `node` None: it was stopped before any node received it, and must never run."""

    node: str | None
    exit_code: int | None
    reason: str


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
        self._monotonic_s, self._now, self._node_of = monotonic_s, now, node_of
        self.calls = AgentCalls(self._ring)
        self.sessions = AgentSessions()
        self.moves = VmMoves(self)
        self._changes: dict[str, _Changes] = {}
        self._agent_seen_at: dict[str, float] = {}  # when an agent was last heard of that answers questions
        self._settled_at = 0.0
        self._first_version = 0
        self._report: Report | None = None
        self._orders: dict[str, _Order] = {}
        self._by_node: dict[str, dict[str, _Order]] = {}
        self._ends: OrderedDict[str, _End] = OrderedDict()

    async def start(self, report: Report) -> None:
        """The control plane registers its nodes, and restores them with the rest of the cluster."""
        self._report = report
        self._first_version = time.time_ns() // 1000  # after a restart no agent waits for a change that was before
        self._settled_at = self._monotonic_s() + SETTLE_S

    async def nodes(self) -> list[Node]:
        return []

    async def prices(self) -> dict[str, Price]:
        return {}

    async def status(self, key: str) -> Status:
        order, end = self._orders.get(key), self._ends.get(key)
        if order is not None:
            return Status(Phase.RUNNING if order.running else Phase.ACCEPTED, reason=order.stop_reason or "")
        if end is None:
            raise KeyError(key)
        return Status(Phase.ENDED, end.exit_code, end.reason)

    async def bind(self, assignment: Assignment) -> None:
        await self._order(assignment, sent=False)

    async def stop(self, key: str, reason: str) -> None:
        order = self._orders.get(key)
        if order is not None and order.sent:
            order.stop_reason = order.stop_reason or reason
            self._ring(order.assignment.node)
            return
        if order is not None:
            self._drop(order)
        end = self._ends.get(key)
        if end is None:
            end = self._remember(key, _End(None, None, reason))
        await self._send(TaskFinished(task_of_key(key), key, end.exit_code, end.reason))

    async def kill(self, key: str, reason: str) -> None:
        await self.stop(key, reason)
        if (order := self._orders.get(key)) is not None:
            order.killed = True
            self._ring(order.assignment.node)

    async def reconcile(self, assignments: list[Assignment]) -> None:
        """Order each again: the node reports its state, or starts what it never received."""
        for assignment in assignments:
            try:
                await self._order(assignment, sent=True)
            except Refusal as refusal:
                await self._send(TaskFinished(assignment.task, assignment.key, None, str(refusal)))

    async def logs(self, key: str, offset: int, limit: int) -> LogChunk:
        found = await self._ask(key, "logs", offset=offset, limit=limit)
        return LogChunk(found["text"], found["next_offset"], found["ended"])

    async def log_tail(self, key: str, lines: int) -> int:
        return int((await self._ask(key, "log_tail", lines=lines))["offset"])

    async def log_since(self, key: str, at: float) -> int | None:
        found = (await self._ask(key, "log_since", at=at))["offset"]
        return None if found is None else int(found)

    def use_of(self, key: str) -> tuple[TaskUse, float] | None:
        """What the attempt used when its node last reported, and when that was."""
        order = self._orders.get(key)
        return None if order is None or order.use is None else (order.use, order.used_at)

    async def _ask(self, key: str, kind: CallKind, **asked: Any) -> dict[str, Any]:
        """Raises KeyError for a node without an agent that can be asked."""
        node = await self._node(key)
        if not self.has_agent(node):
            raise NoOutput(f"node {node} has no agent that could be asked for it; look there")
        return await self.calls.ask(node, kind, key, **asked)

    async def ask_agent(self, node: str, kind: CallKind, key: str, within_s: float, **asked: Any) -> dict[str, Any]:
        if not self.has_agent(node):
            raise Refusal(f"node {node} has no agent that could be asked; go there")
        found = await self.calls.ask(node, kind, key, within_s, **asked)
        if found["refused"]:
            raise Refusal(found["refused"])
        return found

    def running_on(self, key: str) -> str:
        order = self._orders[key]
        if not order.running:
            raise KeyError(key)
        return order.assignment.node

    def has_agent(self, node: str) -> bool:
        """Whether an agent that answers questions was heard of lately."""
        seen_at = self._agent_seen_at.get(node)
        return seen_at is not None and self._monotonic_s() - seen_at <= FORGOTTEN_AFTER_S

    async def execute(
        self, key: str, command: Sequence[str], given: CommandInput | None = None, terminal: TerminalSize | None = None
    ) -> AsyncGenerator[bytes | int]:
        size = None if terminal is None else {"rows": terminal.rows, "columns": terminal.columns}
        session = self._session(key, "execute", given, command=list(command), terminal=size)
        async with contextlib.aclosing(session) as blocks:
            async for block in blocks:
                yield block

    async def attach(self, key: str, given: CommandInput | None = None) -> AsyncGenerator[bytes | int]:
        async with contextlib.aclosing(self._session(key, "attach", given)) as blocks:
            async for block in blocks:
                yield block

    async def _session(
        self, key: str, kind: CallKind, given: CommandInput | None, **asked: Any
    ) -> AsyncGenerator[bytes | int]:
        node = self.running_on(key)
        if not self.has_agent(node):
            raise Refusal(f"node {node} has no agent that could do it; go there")
        async with self.sessions.opened(node, given) as session:
            self.calls.tell(node, kind, key, session=session.id, input=given is not None, **asked)
            async with contextlib.aclosing(session.blocks()) as blocks:
                async for block in blocks:
                    yield block

    async def _node(self, key: str) -> str:
        order, end = self._orders.get(key), self._ends.get(key)
        if order is not None:
            return order.assignment.node
        node = end.node if end is not None else None if self._node_of is None else await self._node_of(key)
        if node is None:
            raise KeyError(key)
        return node

    async def close(self) -> None:
        await self.moves.close()
        self._report = None

    async def heartbeat(
        self, node: str, reports: list[TaskReport], *, answers: bool = False, moves: Sequence[PeerMove] = ()
    ) -> HeartbeatReply:
        """Record what the node reports, and answer with its orders. `answers`: its agent answers questions. `moves`:
        migrations whose outcome it waits for; it may have an attempt that is ordered from another node until then."""
        if answers:
            self._agent_seen_at[node] = self._monotonic_s()
        unordered = {report.key: None for report in reports if not await self._record_report(node, report)}
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
        changes = self._changes_of(node)
        self._agent_seen_at[node] = self._monotonic_s()
        if changes.version == after:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await changes.changed.wait()
        self._agent_seen_at[node] = self._monotonic_s()
        return self._reply(node, self.calls.take(node, after, self._changes_of(node).version))

    def _reply(self, node: str, calls: list[NodeCall]) -> HeartbeatReply:
        run, stop, kill = [], [], []
        for key, order in self._by_node.get(node, {}).items():
            if order.stop_reason is not None:
                stop.append(key)
                if order.killed:
                    kill.append(key)
            elif not order.running:
                order.sent = True
                run.append(order.assignment)
        return HeartbeatReply(run, stop, kill, calls, self._changes_of(node).version)

    def keeps_offline(self, node: str) -> bool:  # noqa: ARG002 - others know more of their nodes
        """Whether the node takes no work although its agent is heard."""
        return False

    def forget(self, node: str) -> None:
        """It was removed, and nobody waits for its orders any more."""
        self._changes.pop(node, None)
        self._agent_seen_at.pop(node, None)

    def _changes_of(self, node: str) -> _Changes:
        found = self._changes.get(node)
        if found is None:
            found = self._changes[node] = _Changes(self._first_version)
        return found

    def _ring(self, node: str) -> None:
        """Something changed for the node: its agent, if it waits, is answered."""
        changes = self._changes_of(node)
        changes.version += 1
        changes.changed.set()
        changes.changed = asyncio.Event()

    # --- orders ----------------------------------------------------------------------------------------------

    async def _order(self, assignment: Assignment, *, sent: bool) -> None:
        key = assignment.key
        end = self._ends.get(key)
        if end is not None and end.node is None:
            raise Refusal(f"it was stopped before it began: {end.reason}")
        if end is not None and end.node == assignment.node:
            await self._send(TaskFinished(assignment.task, key, end.exit_code, end.reason))
        elif key not in self._orders:
            self._ends.pop(key, None)  # the report of another node does not count
            order = self._orders[key] = _Order(assignment, sent)
            self._by_node.setdefault(assignment.node, {})[key] = order
            self._ring(assignment.node)

    def _drop(self, order: _Order) -> None:
        node, key = order.assignment.node, order.assignment.key
        self._orders.pop(key, None)
        orders = self._by_node.get(node, {})
        orders.pop(key, None)
        if not orders:
            self._by_node.pop(node, None)

    def _remember(self, key: str, end: _End) -> _End:
        self._ends[key] = end
        if len(self._ends) > ENDS_KEPT:
            self._ends.popitem(last=False)
        return end

    # --- migrations --------------------------------------------------------------------------------------------

    @property
    def all_known(self) -> bool:
        return self._monotonic_s() >= self._settled_at

    def ordered(self, key: str) -> Assignment | None:
        order = self._orders.get(key)
        return None if order is None else order.assignment

    def last_node(self, key: str) -> str | None:
        order, end = self._orders.get(key), self._ends.get(key)
        return order.assignment.node if order is not None else None if end is None else end.node

    async def hand_to(self, key: str, node: str) -> None:
        before = self._orders[key]
        await self._send(TaskMoved(before.assignment.task, key, node))
        self._drop(before)
        order = self._orders[key] = replace(before, assignment=replace(before.assignment, node=node), running=False)
        self._by_node.setdefault(node, {})[key] = order
        self._ring(node)

    async def stored_node(self, key: str) -> str | None:
        return None if self._node_of is None else await self._node_of(key)

    # --- nodes that end --------------------------------------------------------------------------------------

    def assigned(self, node: str) -> list[Assignment]:
        """What is ordered from the node and has not ended."""
        return [order.assignment for order in self._by_node.get(node, {}).values()]

    async def give_up(self, node: str, reason: str) -> None:
        """The machine is gone for certain: nothing runs there any more."""
        for order in list(self._by_node.get(node, {}).values()):
            key = order.assignment.key
            await self._send(TaskFinished(order.assignment.task, key, None, order.stop_reason or reason))
            self._drop(order)
            self._remember(key, _End(node, None, reason))

    async def refuse(self, node: str, reason: str, cause: FailureCause) -> None:
        """The machine never came to be: nothing that was ordered from it has run."""
        for order in list(self._by_node.get(node, {}).values()):
            await self._send(BindFailed(order.assignment.task, order.assignment.key, reason, cause))
            self._drop(order)
            self._remember(order.assignment.key, _End(None, None, reason))

    # --- reports ---------------------------------------------------------------------------------------------

    async def _record_report(self, node: str, report: TaskReport) -> bool:
        """False if the node runs something that was not ordered from it and must stop it."""
        order = self._orders.get(report.key)
        if order is None or order.assignment.node != node:
            return self._take_unordered(node, report, ordered_elsewhere=order is not None)
        task, key = order.assignment.task, report.key
        if report.state == "running":
            if not order.running:
                await self._send(TaskStarted(task, key))
                order.running = order.sent = True
            if report.use is not None:
                order.use, order.used_at = report.use, self._now()
            return True
        exit_code, reason = _outcome(report, order.stop_reason)
        await self._send(TaskFinished(task, key, exit_code, reason))  # first: if this fails, the node reports again
        self._drop(order)
        self._remember(key, _End(node, exit_code, reason))
        return True

    def _take_unordered(self, node: str, report: TaskReport, *, ordered_elsewhere: bool) -> bool:
        known = ordered_elsewhere or report.key in self._ends
        if report.state == "running":
            return not known and self._monotonic_s() < self._settled_at
        if not known:
            # After a restart the node may report before its orders are restored. The end is reported only when the
            # order is restored: a node cannot end an attempt that was not ordered from it.
            self._remember(report.key, _End(node, *_outcome(report, None)))
        return True

    async def _send(self, event: Event) -> None:
        if self._report is None:
            raise NotStarted(f"backend {self.name} is not started; ask again when it is")
        await self._report(event)


def _outcome(report: TaskReport, stop_reason: str | None) -> tuple[int | None, str]:
    """Exit code and reason for the engine.

    An attempt that a signal ended after the order to stop was stopped, also if the node reports an exit status.
    """
    code = report.exit_code
    by_signal = code is not None and (code < 0 or code >= FIRST_SIGNAL_STATUS)
    if stop_reason is not None and (code is None or by_signal):
        return None, f"{stop_reason} ({report.reason})" if report.reason else stop_reason
    if code is None:
        return None, report.reason or "the node lost it"
    return code, report.reason or f"exit status {code}"
