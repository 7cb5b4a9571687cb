"""The optimum of a small application, by branch and bound.

Each task in turn is tried on every node, cheapest first; a branch ends where the placed tasks, and the cheapest node
of each of the others, already cost as much as the best assignment known.
Guarantees: pure; at most so many steps. An answer is valid and cheaper than what was known.
"""

import numpy as np

from dovetail.cluster.arrays import Rows
from dovetail.placement.applications.assignment import TaskAssignment
from dovetail.placement.applications.problem import ApplicationProblem

_EPSILON = 1e-9


class BranchAndBound:
    def __init__(self, problem: ApplicationProblem, below: float, steps: int) -> None:
        self._now = TaskAssignment(problem)
        self._order = np.argsort(-problem.traffic.sum(axis=1), kind="stable")
        self._below = below
        self._left = steps
        self.found: Rows | None = None

    def run(self) -> Rows | None:
        """The cheapest assignment that costs less than `below`, as far as the steps allow."""
        self._branch(0, 0.0)
        return self.found

    def _branch(self, depth: int, cost: float) -> None:
        """`cost`: of the tasks that are placed."""
        now = self._now
        if depth == len(self._order):
            if all(now.is_even(task) for task in self._order.tolist()):
                self._below, self.found = cost, now.node_of.copy()
            return
        task = int(self._order[depth])
        others = self._order[depth + 1 :]
        allowed = np.flatnonzero(now.allowed(task))
        costs = now.cost_on[task, allowed]
        for at in np.argsort(costs, kind="stable").tolist():
            if cost + float(costs[at]) >= self._below - _EPSILON or not self._left:
                return
            self._left -= 1
            now.place(task, int(allowed[at]))
            rest = float(now.cost_on[others].min(axis=1, initial=np.inf).sum()) if len(others) else 0.0
            if cost + float(costs[at]) + rest < self._below - _EPSILON:
                self._branch(depth + 1, cost + float(costs[at]))
            now.remove(task)
