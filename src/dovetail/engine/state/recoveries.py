"""The table of recoveries: broken gangs, the capacity held for tasks that will move, spare nodes, recent moves.

Capacity held for a task is taken out of its node (`Cluster.reserve`) until the task arrives, so no filter and no
preemption search can use it. While tasks that move away are still on the node, its free amount is negative.
Guarantees: every held amount is returned exactly once. Decisions belong to `dovetail.engine.recovery`.
"""

from collections import deque
from dataclasses import dataclass, field
from typing import NamedTuple

from dovetail.cluster.arrays import F8
from dovetail.cluster.state import Cluster
from dovetail.model.reason import Explanation
from dovetail.model.recovery import RecoveryNote
from dovetail.model.task import TaskId

_MINUTE_S = 60.0


@dataclass(slots=True)
class Recovery:
    """A gang that lost tasks and keeps the nodes of the others."""

    since: float
    lost: dict[int, str] = field(default_factory=dict)  # by replica: the node it was on
    planned: bool = False  # capacity is held for every missing task
    moved: int = 0
    moves_text: str = ""  # which tasks were moved, for messages
    proximity: dict[int, str] = field(default_factory=dict)  # by replica: how close its new node is to the others


class HeldCapacity(NamedTuple):
    """Capacity reserved for a task that moves to the node; `explanation`: why there, if somebody chose it."""

    node: str
    column: F8
    explanation: Explanation | None = None


@dataclass(slots=True)
class Recoveries:
    cluster: Cluster
    broken_gangs: dict[int, None] = field(default_factory=dict)  # workload ids, in the order they broke
    newly_lost: dict[int, dict[int, str]] = field(default_factory=dict)  # in this event: by workload and replica
    held: dict[TaskId, HeldCapacity] = field(default_factory=dict)
    spares: dict[str, F8] = field(default_factory=dict)  # by node: what is held of it for recoveries
    silent: dict[str, float] = field(default_factory=dict)  # by node: since when
    moves: deque[float] = field(default_factory=deque)
    notes: list[RecoveryNote] = field(default_factory=list)
    seen: int = -1  # the cluster's change count at the last search
    next_search_at: float = 0.0  # no search before this time

    def __bool__(self) -> bool:
        """True while a recovery is under way or a task was just lost."""
        return bool(self.newly_lost or self.broken_gangs or self.held)

    def lose(self, task: TaskId, node: str) -> None:
        """A task lost its node. Call this before the task is retried."""
        self.newly_lost.setdefault(task.workload, {})[task.replica] = node

    def hold(self, task: TaskId, node: str, column: F8, explanation: Explanation | None = None) -> None:
        self.release(task)
        self.cluster.reserve(node, self.cluster.resources.amounts(column))
        self.held[task] = HeldCapacity(node, column, explanation)

    def targets(self, workload: int) -> dict[int, str]:
        """By replica: the node that capacity is kept on. A restart has to know."""
        return {task.replica: held.node for task, held in self.held.items() if task.workload == workload}

    def release(self, task: TaskId) -> int | None:
        """Release what is held for a task. Returns the row if the node still exists."""
        cluster, held = self.cluster, self.held.pop(task, None)
        if held is None or held.node not in cluster.rows:
            return None
        cluster.reserve(held.node, cluster.resources.amounts(held.column), -1)
        return cluster.rows[held.node]

    def free_on(self, node: str) -> F8:
        """float64[resource]: what is free on a node, plus everything held there."""
        found: F8 = self.cluster.resources.free[:, self.cluster.rows[node]].copy()
        for held in self.held.values():
            if held.node == node:
                found[: len(held.column)] += held.column
        if node in self.spares:
            found[: len(self.spares[node])] += self.spares[node]
        return found

    def forget_node(self, name: str) -> None:
        """The node is about to leave, and with it what is held there."""
        for task in [task for task, held in self.held.items() if held.node == name]:
            del self.held[task]
        self.spares.pop(name, None)
        self.silent.pop(name, None)

    def recent_moves(self, now: float) -> int:
        while self.moves and self.moves[0] <= now - _MINUTE_S:
            self.moves.popleft()
        return len(self.moves)
