"""What the engine remembers of recoveries: which gangs are broken, which room is kept for whom, what was moved when.

Room that a task will move to is taken out of its node until the task comes (`Cluster.reserve`), so that every filter
and preemption see that it is not there; while those who make way are still on the node, less than nothing is free.
Guarantees: every amount kept is given back once. Left to others: deciding (`recovery`).
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
    """A gang that lost tasks and keeps the nodes of the others. `lost`: by replica, the node. `planned`: every missing
    task has room kept for it."""

    since: float
    lost: dict[int, str] = field(default_factory=dict)
    planned: bool = False
    moved: int = 0
    words: str = ""  # who made way
    near: dict[int, str] = field(default_factory=dict)  # by replica: what speaks for its new node

    def to_json(self) -> dict[str, object]:
        return {"since": self.since, "lost": {str(replica): node for replica, node in self.lost.items()}}

    @staticmethod
    def from_json(found: dict[str, object]) -> "Recovery":
        since, lost = found["since"], found["lost"]
        assert isinstance(since, int | float)
        assert isinstance(lost, dict)
        return Recovery(float(since), {int(replica): str(node) for replica, node in lost.items()})


class KeptCapacity(NamedTuple):
    """Capacity reserved for a task that moves to the node; `explanation`: why there, if somebody chose it."""

    node: str
    column: F8
    explanation: Explanation | None = None


@dataclass(slots=True)
class Recoveries:
    mending: dict[int, None] = field(default_factory=dict)  # broken gangs
    fresh: dict[int, dict[int, str]] = field(default_factory=dict)  # lost in this event: by workload and replica
    kept: dict[TaskId, KeptCapacity] = field(default_factory=dict)
    spares: dict[str, F8] = field(default_factory=dict)  # by node: what of it is kept for recoveries
    silent: dict[str, float] = field(default_factory=dict)  # by node: since when
    moves: deque[float] = field(default_factory=deque)
    notes: list[RecoveryNote] = field(default_factory=list)
    seen: int = -1  # changes of the cluster when broken gangs were last looked at
    look_at: float = 0.0  # not before

    def __bool__(self) -> bool:
        """Something was lost, or is being mended."""
        return bool(self.fresh or self.mending or self.kept)

    def lose(self, task: TaskId, node: str) -> None:
        """A task lost its node; said before its workload hears of it."""
        self.fresh.setdefault(task.workload, {})[task.replica] = node

    # --- room ------------------------------------------------------------------------------------------------

    def keep(
        self, cluster: Cluster, task: TaskId, node: str, column: F8, explanation: Explanation | None = None
    ) -> None:
        self.drop(cluster, task)
        cluster.reserve(node, cluster.resources.amounts(column))
        self.kept[task] = KeptCapacity(node, column, explanation)

    def targets(self, workload: int) -> dict[str, str]:
        """By replica: the node that capacity is kept on. A restart has to know."""
        return {str(task.replica): kept.node for task, kept in self.kept.items() if task.workload == workload}

    def drop(self, cluster: Cluster, task: TaskId) -> int | None:
        """Give back what was kept for a task; the row, if its node is there."""
        kept = self.kept.pop(task, None)
        if kept is None or kept.node not in cluster.rows:
            return None
        cluster.reserve(kept.node, cluster.resources.amounts(kept.column), -1)
        return cluster.rows[kept.node]

    def free_on(self, cluster: Cluster, node: str) -> F8:
        """float64[resource]: what is free on a node, and kept there for anybody."""
        found: F8 = cluster.resources.free[:, cluster.rows[node]].copy()
        for kept in self.kept.values():
            if kept.node == node:
                found[: len(kept.column)] += kept.column
        if node in self.spares:
            found[: len(self.spares[node])] += self.spares[node]
        return found

    def forget_node(self, name: str) -> None:
        """It is about to leave, with all that was kept there."""
        for task in [task for task, kept in self.kept.items() if kept.node == name]:
            del self.kept[task]
        self.spares.pop(name, None)
        self.silent.pop(name, None)

    # --- counting --------------------------------------------------------------------------------------------

    def moved_lately(self, now: float) -> int:
        while self.moves and self.moves[0] <= now - _MINUTE_S:
            self.moves.popleft()
        return len(self.moves)

    def take_notes(self) -> list[RecoveryNote]:
        found, self.notes = self.notes, []
        return found
