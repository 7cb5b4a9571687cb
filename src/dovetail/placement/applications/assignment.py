"""An assignment in the making: which task is where, what is left, and what each task would cost on each node.

`cost_on` is kept up to date for the neighbours of each task that comes or goes, so that looking for the best node of a
task is one minimum over a row.
Guarantees: `place` and `remove` are inverse up to rounding; `allowed` is exact for capacity, limits and exclusions.
"""

import numpy as np

from dovetail.cluster.arrays import B1, F8, Rows
from dovetail.placement.applications.problem import TOLERANCE, UNPLACED, ApplicationProblem, DomainLimit, Exclusion


class TaskAssignment:
    """Shapes: `node_of` intp[task], `free` float64[node, resource], `cost_on` float64[task, node]."""

    def __init__(self, problem: ApplicationProblem) -> None:
        self.problem = problem
        self.node_of: Rows = np.full(problem.tasks, UNPLACED, dtype=np.intp)
        self.free: F8 = problem.capacity + TOLERANCE
        self.cost_on: F8 = problem.pull.copy()
        self.neighbours: list[Rows] = [np.flatnonzero(row) for row in problem.traffic]
        self._rates: list[F8] = [problem.traffic[i, near] for i, near in enumerate(self.neighbours)]
        self._rules, self._counts = _rules(problem)
        self._farthest = float(problem.distance.max(initial=0.0))
        self._asked = [np.flatnonzero(row) for row in problem.demand]

    def place(self, task: int, node: int) -> None:
        self._shift(task, node, 1.0)
        self.node_of[task] = node
        self.free[node] -= self.problem.demand[task]
        for rule in self._rules[task]:
            rule.count(task, node, 1)

    def remove(self, task: int) -> None:
        node = int(self.node_of[task])
        self._shift(task, node, -1.0)
        self.node_of[task] = UNPLACED
        self.free[node] += self.problem.demand[task]
        for rule in self._rules[task]:
            rule.count(task, node, -1)

    def _shift(self, task: int, node: int, sign: float) -> None:
        near = self.neighbours[task]
        if len(near):
            self.cost_on[near] += np.outer(sign * self._rates[task], self.problem.distance[node])

    def allowed(self, task: int) -> B1:
        """bool[node]: where the task may go, as the others are placed now. It must have no node itself."""
        found: B1 = self.problem.feasible[task].copy()
        demand = self.problem.demand[task]
        for resource in self._asked[task]:
            found &= self.free[:, resource] >= demand[resource]
        for rule in self._rules[task]:
            found &= rule.allowed(task)
        return found

    def may_go(self, task: int, node: int) -> bool:
        """The same for one node."""
        asked = self._asked[task]
        return (
            bool(self.problem.feasible[task, node])
            and bool((self.free[node, asked] >= self.problem.demand[task, asked]).all())
            and all(rule.allowed_on(task, node) for rule in self._rules[task])
        )

    def is_even(self, task: int) -> bool:
        """Do limits on the skew hold that the task counts for? Removing a task may break them: another domain is the
        emptiest then."""
        return all(rule.is_even() for rule in self._rules[task])

    def best_node(self, task: int) -> int:
        """The cheapest node that it may go to, the first of equal ones; UNPLACED if there is none."""
        allowed = self.allowed(task)
        costs = np.where(allowed, self.cost_on[task], np.inf)
        best = int(costs.argmin())
        return best if allowed[best] else UNPLACED

    @property
    def cost(self) -> float:
        """Each pair counts in both rows, `pull` once. A task without a node is as far from the others as can be:
        otherwise leaving out those that talk most would look cheap."""
        placed = np.flatnonzero(self.node_of >= 0)
        at = self.node_of[placed]
        here, alone = self.cost_on[placed, at].sum(), self.problem.pull[placed, at].sum()
        found = float((here + alone) / 2)
        if len(placed) < len(self.node_of):
            out = np.flatnonzero(self.node_of < 0)
            rates = self.problem.traffic[out]
            found += self._farthest * float(rates.sum() - rates[:, out].sum() / 2)
        return found

    @property
    def unplaced(self) -> int:
        return int(np.count_nonzero(self.node_of < 0))

    def save(self) -> tuple[Rows, F8, F8, list[F8]]:
        """Everything that changes, for `restore`."""
        return self.node_of.copy(), self.free.copy(), self.cost_on.copy(), [rule.save() for rule in self._counts]

    def restore(self, saved: tuple[Rows, F8, F8, list[F8]]) -> None:
        """Use what was saved once: it is not copied again."""
        self.node_of, self.free, self.cost_on, counts = saved
        for rule, count in zip(self._counts, counts, strict=True):
            rule.restore(count)

    def set_to(self, node_of: Rows) -> None:
        """Move whatever differs."""
        differ = np.flatnonzero(self.node_of != node_of).tolist()
        for task in differ:
            if self.node_of[task] >= 0:
                self.remove(task)
        for task in differ:
            if node_of[task] >= 0:
                self.place(task, int(node_of[task]))


class _LimitCounts:
    def __init__(self, limit: DomainLimit) -> None:
        self._limit = limit
        self._own = np.zeros(len(limit.room))
        self._all = limit.already.copy()
        self._is_even = np.isfinite(limit.max_skew)
        self._outside = limit.domains < 0
        self._codes = np.where(self._outside, 0, limit.domains)

    def count(self, task: int, node: int, change: int) -> None:  # noqa: ARG002 (all tasks of a limit are equal)
        code = self._limit.domains[node]
        self._own[code] += change
        self._all[code] += change

    def _domains(self) -> B1:
        found: B1 = self._own + 1 <= self._limit.room
        if self._is_even:
            found &= self._all + 1 - self._all.min() <= self._limit.max_skew
        return found

    def allowed(self, task: int) -> B1:  # noqa: ARG002
        found: B1 = self._domains()[self._codes]
        found[self._outside] = False
        return found

    def allowed_on(self, task: int, node: int) -> bool:  # noqa: ARG002
        return not self._outside[node] and bool(self._domains()[self._codes[node]])

    def save(self) -> F8:
        return self._own.copy()

    def restore(self, saved: F8) -> None:
        self._own, self._all = saved, saved + self._limit.already

    def is_even(self) -> bool:
        if not self._is_even:
            return True
        added = self._all[self._own > 0]
        return not len(added) or bool(added.max() - self._all.min() <= self._limit.max_skew)


class _ExclusionCounts:
    def __init__(self, exclusion: Exclusion) -> None:
        inside = exclusion.domains >= 0
        # A node in no domain is one of its own.
        domains = exclusion.domains.copy()
        first = int(domains.max(initial=-1)) + 1
        domains[~inside] = np.arange(first, first + int((~inside).sum()))
        self._domains = domains
        self._side = dict(zip(exclusion.tasks.tolist(), exclusion.sides.tolist(), strict=True))
        sides = int(exclusion.sides.max(initial=-1)) + 1
        self._counts = np.zeros((sides, int(domains.max(initial=-1)) + 1))

    def count(self, task: int, node: int, change: int) -> None:
        self._counts[self._side[task], self._domains[node]] += change

    def _others(self, task: int) -> F8:
        found: F8 = self._counts.sum(axis=0) - self._counts[self._side[task]]
        return found

    def allowed(self, task: int) -> B1:
        found: B1 = (self._others(task) == 0)[self._domains]
        return found

    def allowed_on(self, task: int, node: int) -> bool:
        return bool(self._others(task)[self._domains[node]] == 0)

    def save(self) -> F8:
        return self._counts.copy()

    def restore(self, saved: F8) -> None:
        self._counts = saved

    def is_even(self) -> bool:
        return True


_Rule = _LimitCounts | _ExclusionCounts


def _rules(problem: ApplicationProblem) -> tuple[list[list[_Rule]], list[_Rule]]:
    """The rules of each task, and all of them."""
    found: list[list[_Rule]] = [[] for _ in range(problem.tasks)]
    every: list[_Rule] = []
    for limit in problem.limits:
        every.append(_LimitCounts(limit))
        for task in limit.tasks.tolist():
            found[task].append(every[-1])
    for exclusion in problem.exclusions:
        every.append(_ExclusionCounts(exclusion))
        for task in exclusion.tasks.tolist():
            found[task].append(every[-1])
    return found, every
