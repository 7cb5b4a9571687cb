"""Which attempt is ordered from which node, and how those that were ordered have ended.

Guarantees: an attempt is ordered from exactly one node, and is given up only when that node has reported its end or
never received the order. A node that runs something that was not ordered from it is told to stop it.

Orders live in memory: after a restart they are made again. For `SETTLE_S` after a start, work without an order is left
alone and not stopped.
"""

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from dovetail.backends.contract import Assignment, Phase, Refusal, Report, Status
from dovetail.backends.registered.protocol import TaskReport
from dovetail.model.command import task_of_key
from dovetail.model.event import BindFailed, TaskFinished, TaskMoved, TaskStarted
from dovetail.model.failure_cause import FailureCause
from dovetail.model.task_use import TaskUse

SETTLE_S = 15.0
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


@dataclass(frozen=True, slots=True)
class _End:
    """How an attempt ended. `node` None: it was stopped before any node received it, and must never run."""

    node: str | None
    exit_code: int | None
    reason: str


class OrderBook:
    """`ring`: the orders of a node have changed. `stored_node`: the node of an attempt as the store knows it."""

    def __init__(
        self,
        report: Report,
        ring: Callable[[str], None],
        monotonic_s: Callable[[], float],
        now: Callable[[], float],
        stored_node: Callable[[str], Awaitable[str | None]],
    ) -> None:
        self._report, self._ring, self.stored_node = report, ring, stored_node
        self._monotonic_s, self._now = monotonic_s, now
        self._settled_at = 0.0
        self._orders: dict[str, _Order] = {}
        self._by_node: dict[str, dict[str, _Order]] = {}
        self._ends: OrderedDict[str, _End] = OrderedDict()

    def start(self) -> None:
        self._settled_at = self._monotonic_s() + SETTLE_S

    # --- asking ------------------------------------------------------------------------------------------------

    @property
    def all_known(self) -> bool:
        """Every attempt that is wanted is ordered by now, and every agent that is there was heard."""
        return self._monotonic_s() >= self._settled_at

    def status(self, key: str) -> Status:
        order, end = self._orders.get(key), self._ends.get(key)
        if order is not None:
            return Status(Phase.RUNNING if order.running else Phase.ACCEPTED, reason=order.stop_reason or "")
        if end is None:
            raise KeyError(key)
        return Status(Phase.ENDED, end.exit_code, end.reason)

    def use_of(self, key: str) -> tuple[TaskUse, float] | None:
        """What the attempt used when its node last reported, and when that was."""
        order = self._orders.get(key)
        return None if order is None or order.use is None else (order.use, order.used_at)

    def ordered(self, key: str) -> Assignment | None:
        order = self._orders.get(key)
        return None if order is None else order.assignment

    def assigned(self, node: str) -> list[Assignment]:
        """What is ordered from the node and has not ended."""
        return [order.assignment for order in self._by_node.get(node, {}).values()]

    def running_on(self, key: str) -> str:
        """The node of an attempt that runs. Raises KeyError."""
        order = self._orders[key]
        if not order.running:
            raise KeyError(key)
        return order.assignment.node

    def last_node(self, key: str) -> str | None:
        """Of an attempt that is ordered or has ended."""
        order, end = self._orders.get(key), self._ends.get(key)
        return order.assignment.node if order is not None else None if end is None else end.node

    async def node_of(self, key: str) -> str:
        """The same, also for an attempt that is forgotten here. Raises KeyError."""
        known = key in self._orders or key in self._ends
        node = self.last_node(key) if known else await self.stored_node(key)
        if node is None:
            raise KeyError(key)
        return node

    def take(self, node: str) -> tuple[list[Assignment], list[str], list[str]]:
        """What the node is to start, to stop, and of that to kill. It may have received this from now on."""
        run, stop, kill = [], [], []
        for key, order in self._by_node.get(node, {}).items():
            if order.stop_reason is not None:
                stop.append(key)
                if order.killed:
                    kill.append(key)
            elif not order.running:
                order.sent = True
                run.append(order.assignment)
        return run, stop, kill

    # --- ordering ----------------------------------------------------------------------------------------------

    async def order(self, assignment: Assignment, *, sent: bool) -> None:
        key = assignment.key
        end = self._ends.get(key)
        if end is not None and end.node is None:
            raise Refusal(f"it was stopped before it began: {end.reason}")
        if end is not None and end.node == assignment.node:
            await self._report(TaskFinished(assignment.task, key, end.exit_code, end.reason))
        elif key not in self._orders:
            self._ends.pop(key, None)  # the report of another node does not count
            self._keep(_Order(assignment, sent))

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
        await self._report(TaskFinished(task_of_key(key), key, end.exit_code, end.reason))

    def kill(self, key: str) -> None:
        """It was told to stop, and gets no grace."""
        if (order := self._orders.get(key)) is not None:
            order.killed = True
            self._ring(order.assignment.node)

    async def hand_to(self, key: str, node: str) -> None:
        """It is ordered from this node from now on."""
        before = self._orders[key]
        await self._report(TaskMoved(before.assignment.task, key, node))
        self._drop(before)
        self._keep(replace(before, assignment=replace(before.assignment, node=node), running=False))

    async def give_up(self, node: str, reason: str) -> None:
        """The machine is gone for certain: nothing runs there any more."""
        for order in list(self._by_node.get(node, {}).values()):
            key = order.assignment.key
            await self._report(TaskFinished(order.assignment.task, key, None, order.stop_reason or reason))
            self._end(order, _End(node, None, reason))

    async def refuse(self, node: str, reason: str, cause: FailureCause) -> None:
        """The machine never came to be: nothing that was ordered from it has run."""
        for order in list(self._by_node.get(node, {}).values()):
            await self._report(BindFailed(order.assignment.task, order.assignment.key, reason, cause))
            self._end(order, _End(None, None, reason))

    def _keep(self, order: _Order) -> None:
        node, key = order.assignment.node, order.assignment.key
        self._orders[key] = self._by_node.setdefault(node, {})[key] = order
        self._ring(node)

    def _drop(self, order: _Order) -> None:
        node, key = order.assignment.node, order.assignment.key
        self._orders.pop(key, None)
        orders = self._by_node.get(node, {})
        orders.pop(key, None)
        if not orders:
            self._by_node.pop(node, None)

    def _end(self, order: _Order, end: _End) -> None:
        self._drop(order)
        self._remember(order.assignment.key, end)

    def _remember(self, key: str, end: _End) -> _End:
        self._ends[key] = end
        if len(self._ends) > ENDS_KEPT:
            self._ends.popitem(last=False)
        return end

    # --- reports of nodes --------------------------------------------------------------------------------------

    async def record(self, node: str, report: TaskReport) -> bool:
        """False if the node runs something that was not ordered from it and must stop it."""
        order = self._orders.get(report.key)
        if order is None or order.assignment.node != node:
            return self._take_unordered(node, report, ordered_elsewhere=order is not None)
        task, key = order.assignment.task, report.key
        if report.state == "running":
            if not order.running:
                await self._report(TaskStarted(task, key))
                order.running = order.sent = True
            if report.use is not None:
                order.use, order.used_at = report.use, self._now()
            return True
        exit_code, reason = _outcome(report, order.stop_reason)
        await self._report(TaskFinished(task, key, exit_code, reason))  # first: if this fails, the node reports again
        self._end(order, _End(node, exit_code, reason))
        return True

    def _take_unordered(self, node: str, report: TaskReport, *, ordered_elsewhere: bool) -> bool:
        known = ordered_elsewhere or report.key in self._ends
        if report.state == "running":
            return not known and not self.all_known
        if not known:
            # After a restart the node may report before its orders are restored. The end is reported only when the
            # order is restored: a node cannot end an attempt that was not ordered from it.
            self._remember(report.key, _End(node, *_outcome(report, None)))
        return True


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
