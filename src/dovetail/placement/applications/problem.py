"""The problem: place the tasks of one application so that little data travels far.

    cost = Σ traffic[i, j] × distance[node of i, node of j] over pairs  +  Σ pull[i, node of i]

within the capacity of each node, the nodes that each task may use, and rules about domains. Array shapes:

    demand     float64[task, resource]     what each task takes
    capacity   float64[node, resource]     what each node has left for the application
    feasible   bool[task, node]            where each task may go, capacity and the rules below ignored
    distance   float64[node, node]         symmetric, 0 on the diagonal
    traffic    float64[task, task]         symmetric, 0 on the diagonal
    pull       float64[task, node]         what a task costs on a node by itself: traffic with work that stays where it
                                           is, the cost of a move

Guarantees: pure values. `is_valid` is a second, plain reading of the rules, for tests and for those who doubt.
"""

from dataclasses import dataclass, replace

import numpy as np

from dovetail.cluster.arrays import B1, F8, Rows

#: What a task without a node has instead of one.
UNPLACED = -1
#: Amounts are whole numbers, but sums of measured ones may not be.
TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class DomainLimit:
    """At most `room[d]` of these tasks in each domain, and at most `max_skew` more than in the emptiest one.

    `domains`: intp[node], the domain of each node, below 0 for one that is in none: no such task may go there.
    `held`: float64[domain], tasks of other work that count for the skew. `room` leaves them out already."""

    tasks: Rows
    domains: Rows
    room: F8
    max_skew: float = np.inf
    held: F8 | None = None

    @property
    def already(self) -> F8:
        return np.zeros(len(self.room)) if self.held is None else self.held


@dataclass(frozen=True, slots=True)
class Exclusion:
    """A domain holds tasks of one side only. `sides`: intp[task], beside `tasks`; `domains` as for `DomainLimit`, but a
    node that is in none shares nothing with others."""

    tasks: Rows
    sides: Rows
    domains: Rows


@dataclass(frozen=True, slots=True)
class ApplicationProblem:
    demand: F8
    capacity: F8
    feasible: B1
    distance: F8
    traffic: F8
    pull: F8
    limits: tuple[DomainLimit, ...] = ()
    exclusions: tuple[Exclusion, ...] = ()

    @property
    def tasks(self) -> int:
        return len(self.demand)

    @property
    def nodes(self) -> int:
        return len(self.capacity)

    def cost(self, node_of: Rows) -> float:
        """Of the tasks that have a node."""
        placed = np.flatnonzero(node_of >= 0)
        at = node_of[placed]
        pairs = self.traffic[np.ix_(placed, placed)] * self.distance[np.ix_(at, at)]
        return float(pairs.sum() / 2 + self.pull[placed, at].sum())

    def with_pull(self, pull: F8) -> "ApplicationProblem":
        return replace(self, pull=pull)


def no_pull(tasks: int, nodes: int) -> F8:
    return np.zeros((tasks, nodes))


def is_valid(problem: ApplicationProblem, node_of: Rows) -> bool:
    """Are capacity, feasible nodes and all rules respected? Tasks without a node are left out."""
    placed = np.flatnonzero(node_of >= 0)
    if not problem.feasible[placed, node_of[placed]].all():
        return False
    used = np.zeros_like(problem.capacity)
    np.add.at(used, node_of[placed], problem.demand[placed])
    loaded = used > 0
    if (used[loaded] > problem.capacity[loaded] + TOLERANCE).any():
        return False
    return all(_within(limit, node_of) for limit in problem.limits) and all(
        _apart(exclusion, node_of) for exclusion in problem.exclusions
    )


def _within(limit: DomainLimit, node_of: Rows) -> bool:
    at = node_of[limit.tasks]
    codes = limit.domains[at[at >= 0]]
    if (codes < 0).any():
        return False
    counts = np.bincount(codes, minlength=len(limit.room)).astype(np.float64)
    if (counts > limit.room).any():
        return False
    everybody = counts + limit.already
    added = counts > 0
    return not added.any() or bool(everybody[added].max() - everybody.min() <= limit.max_skew)


def _apart(exclusion: Exclusion, node_of: Rows) -> bool:
    side_of: dict[int, int] = {}
    for task, side in zip(exclusion.tasks.tolist(), exclusion.sides.tolist(), strict=True):
        node = int(node_of[task])
        code = -1 if node < 0 else int(exclusion.domains[node])
        if code >= 0 and side_of.setdefault(code, side) != side:
            return False
    return True
