"""Searches for a cheap assignment: grown from several nodes, then improved.

`_descend` moves and exchanges single tasks while that helps. `Improvement` takes out some tasks that belong together
and puts them back elsewhere, again and again, and accepts a slightly worse result now and then ("slack induction by
string removals", Christiaens and Vanden Berghe 2020).
Guarantees: pure; the same problem, seed and effort give the same assignment. Effort is counted in steps, never in time.
Every assignment is valid. One with fewer tasks placed is never preferred.
"""

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from dovetail.cluster.arrays import Rows
from dovetail.placement.applications.assignment import TaskAssignment
from dovetail.placement.applications.construction import grow, pack, starting_nodes
from dovetail.placement.applications.exact import BranchAndBound
from dovetail.placement.applications.problem import UNPLACED, ApplicationProblem

#: Nodes to grow from.
_STARTS = 4
#: Tasks that are taken out at once.
_FEWEST_OUT, _MOST_OUT = 2, 14
#: The chance that a node is passed over, mostly and now and then; and the share of the cost by which a result may be
#: worse at first.
_BLINKS, _WORSE = (0.1, 0.1, 0.4), 0.01
#: How often all tasks are gone through; of large applications fewer times. Exchanges that are tried for one task.
_SWEEPS, _FEWEST_SWEEPS, _SWEPT_TASKS, _MOST_EXCHANGES = 20, 2, 3000, 16
#: Applications of so many tasks are searched exactly at the end, as far as so many steps go.
_SMALL, _EXACT_STEPS = 8, 1500
_STEPS_A_PIECE = 20
_EPSILON = 1e-9


@dataclass(frozen=True, slots=True)
class AssignmentFound:
    """`node_of`: intp[task], UNPLACED for tasks without a node. `cost`: of the placed ones."""

    node_of: Rows
    cost: float

    @property
    def is_complete(self) -> bool:
        return not (self.node_of < 0).any()


def usual_effort(tasks: int) -> int:
    """Steps that pay: enough for small applications to be searched thoroughly, and bounded for large ones."""
    return min(max(20 * tasks, 200), 400)


def solve(
    problem: ApplicationProblem,
    seed: int = 0,
    effort: int | None = None,
    known: Rows | None = None,
    good_enough: float = 0.0,
) -> AssignmentFound:
    """`known`: a valid assignment; the result is not worse. `good_enough`: stop at a cost that is no more than this
    above a lower bound."""
    pieces = solve_in_pieces(problem, seed, effort, known, good_enough)
    while True:
        try:
            next(pieces)
        except StopIteration as end:
            found: AssignmentFound = end.value
            return found


def solve_in_pieces(
    problem: ApplicationProblem,
    seed: int = 0,
    effort: int | None = None,
    known: Rows | None = None,
    good_enough: float = 0.0,
) -> Generator[None, None, AssignmentFound]:
    """The same for those who have other things to do in between: it yields every few milliseconds."""
    steps = usual_effort(problem.tasks) if effort is None else effort
    assignment, best = TaskAssignment(problem), _Best(problem, good_enough)
    if known is not None:
        assignment.set_to(known)
        best.offer(assignment)
    yield from _construct(assignment, best)
    if best.is_optimal:
        return best.found
    assignment.set_to(best.found.node_of)
    yield from _descend(assignment)
    best.offer(assignment)
    if problem.tasks > 1 and not best.is_optimal:
        yield from Improvement(assignment, best, np.random.Generator(np.random.PCG64(seed))).run(steps)
        assignment.set_to(best.found.node_of)
        yield from _descend(assignment)
        best.offer(assignment)
    if problem.tasks <= _SMALL and not best.unplaced and not best.is_optimal:
        exact = BranchAndBound(problem, best.found.cost, _EXACT_STEPS).run()
        if exact is not None:
            assignment.set_to(exact)
            best.offer(assignment)
    return best.found


def _construct(assignment: TaskAssignment, best: "_Best") -> Generator[None, None, None]:
    problem = assignment.problem
    nowhere = np.full(problem.tasks, UNPLACED, dtype=np.intp)
    for start in starting_nodes(problem, _STARTS):
        assignment.set_to(nowhere)
        grow(assignment, np.arange(problem.tasks), start)
        best.offer(assignment)
        if best.is_optimal:
            return
        yield
    if best.unplaced:
        assignment.set_to(nowhere)
        pack(assignment)
        best.offer(assignment)


class _Best:
    """The best assignment so far: most tasks placed, then the lowest cost."""

    def __init__(self, problem: ApplicationProblem, good_enough: float) -> None:
        self._problem = problem
        self.unplaced = problem.tasks + 1
        self.found = AssignmentFound(np.full(problem.tasks, UNPLACED, dtype=np.intp), 0.0)
        self._cost = np.inf
        pull = np.where(problem.feasible, problem.pull, np.inf).min(axis=1, initial=np.inf)
        self._least = float(pull[np.isfinite(pull)].sum()) + good_enough

    def offer(self, assignment: TaskAssignment) -> bool:
        cost, unplaced = assignment.cost, assignment.unplaced
        if (unplaced, cost) < (self.unplaced, self._cost - _EPSILON):
            # Sums that are kept up to date drift by rounding; what is handed out is exact.
            self.found = AssignmentFound(assignment.node_of.copy(), self._problem.cost(assignment.node_of))
            self.unplaced, self._cost = unplaced, cost
            return True
        return False

    @property
    def is_optimal(self) -> bool:
        """Nothing can be cheaper than each task on its cheapest node, with no traffic between nodes."""
        return not self.unplaced and self.found.cost <= self._least + _EPSILON * max(1.0, self._least)


def _descend(assignment: TaskAssignment) -> Generator[None, None, None]:
    """Move tasks, one after the other, until that makes the assignment no cheaper; then exchange them too. Large
    applications are gone through fewer times."""
    tasks = range(len(assignment.node_of))
    for _ in range(max(_FEWEST_SWEEPS, min(_SWEEPS, _SWEPT_TASKS // max(1, len(tasks))))):
        steps = [_relocate(assignment, task) for task in tasks]
        yield
        if not any(steps):
            steps = [_exchange(assignment, task) for task in tasks]
            yield
        if not any(steps):
            return


def _relocate(assignment: TaskAssignment, task: int) -> bool:
    here = int(assignment.node_of[task])
    if here < 0:
        return False
    costs = assignment.cost_on[task]
    if not (costs < costs[here] - _EPSILON).any():
        return False
    assignment.remove(task)
    node = assignment.best_node(task)
    if node != UNPLACED and costs[node] < costs[here] - _EPSILON:
        assignment.place(task, node)
        if assignment.is_even(task):
            return True
        assignment.remove(task)
    assignment.place(task, here)
    return False


def _exchange(assignment: TaskAssignment, task: int) -> bool:
    """With the task that makes the assignment cheapest, if any makes it cheaper."""
    problem, node_of = assignment.problem, assignment.node_of
    here = int(node_of[task])
    if here < 0:
        return False
    others = np.flatnonzero((node_of >= 0) & (node_of != here))
    there = node_of[others]
    costs = assignment.cost_on
    gain = costs[task, here] - costs[task, there] + costs[others, there] - costs[others, here]
    gain -= 2.0 * problem.traffic[task, others] * problem.distance[here, there]
    better = np.flatnonzero(gain > _EPSILON)
    for at in better[np.argsort(-gain[better], kind="stable")][:_MOST_EXCHANGES].tolist():
        if _try_exchange(assignment, task, int(others[at])):
            return True
    return False


def _try_exchange(assignment: TaskAssignment, one: int, other: int) -> bool:
    here, there = int(assignment.node_of[one]), int(assignment.node_of[other])
    asked = assignment.problem.demand[one] - assignment.problem.demand[other]
    if (asked > assignment.free[there]).any() or (-asked > assignment.free[here]).any():
        return False
    assignment.remove(one)
    assignment.remove(other)
    if assignment.may_go(one, there):
        assignment.place(one, there)
        if assignment.may_go(other, here):
            assignment.place(other, here)
            if assignment.is_even(one) and assignment.is_even(other):
                return True
            assignment.remove(other)
        assignment.remove(one)
    assignment.place(one, here)
    assignment.place(other, there)
    return False


class Improvement:
    """Takes tasks out and puts them back, `run` so many times."""

    def __init__(self, assignment: TaskAssignment, best: _Best, rng: np.random.Generator) -> None:
        self._now, self._best, self._rng = assignment, best, rng
        problem = assignment.problem
        self._strength = problem.traffic.sum(axis=1)
        self._size = problem.demand.sum(axis=1)

    def run(self, steps: int) -> Generator[None, None, None]:
        now, rng = self._now, self._rng
        cost, unplaced = now.cost, now.unplaced
        allowance = _WORSE * max(cost, _EPSILON)
        for step in range(steps):
            if step and not step % _STEPS_A_PIECE:
                yield
            saved = now.save()
            self._put_back(self._take_out())
            after, missing = now.cost, now.unplaced
            worse = -allowance * (1.0 - step / steps) * np.log(max(rng.random(), _EPSILON))
            if missing > unplaced or (missing == unplaced and after > cost + worse) or not self._is_even(saved[0]):
                now.restore(saved)
                continue
            cost, unplaced = after, missing
            if self._best.offer(now) and self._best.is_optimal:
                return

    def _take_out(self) -> Rows:
        """A task, and others that it talks to or that share a node with one of those."""
        now, rng = self._now, self._rng
        tasks = len(now.node_of)
        count = int(rng.integers(_FEWEST_OUT, min(_MOST_OUT, tasks) + 1))
        first = int(rng.integers(tasks))
        out = {first: None}
        ripe = [first]
        by_node = rng.random() < 0.4
        while len(out) < count and ripe:
            task = ripe.pop(0)
            if by_node and now.node_of[task] >= 0:
                near = np.flatnonzero(now.node_of == now.node_of[task])
            else:
                near = now.neighbours[task]
            by_node = by_node and rng.random() < 0.7
            for other in rng.permutation(near).tolist():
                if other not in out and len(out) < count:
                    out[other] = None
                    ripe.append(other)
        missing = np.flatnonzero(now.node_of < 0).tolist()
        for task in out:
            if now.node_of[task] >= 0:
                now.remove(task)
        return np.array(list(dict.fromkeys([*out, *missing])), dtype=np.intp)

    def _put_back(self, out: Rows) -> None:
        now, rng = self._now, self._rng
        how = rng.random()
        blink = _BLINKS[int(rng.integers(len(_BLINKS)))]
        if how < 0.4:
            out = out[np.argsort(-self._strength[out], kind="stable")]
        elif how < 0.6:
            out = out[np.argsort(-self._size[out], kind="stable")]
        elif how < 0.8:
            out = rng.permutation(out)
        for task in out.tolist():
            allowed = now.allowed(task)
            passed_over = allowed & (rng.random(len(allowed)) >= blink)
            allowed = passed_over if passed_over.any() else allowed
            costs = np.where(allowed, now.cost_on[task], np.inf)
            node = int(costs.argmin())
            if allowed[node]:
                now.place(task, node)

    def _is_even(self, before: Rows) -> bool:
        changed = np.flatnonzero(before != self._now.node_of).tolist()
        return all(self._now.is_even(task) for task in changed)
