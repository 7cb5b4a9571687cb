"""First assignments: from a node outwards, the task that is drawn most to those already placed goes next.

Guarantees: pure and deterministic; what has no node when it is its turn stays without one.
"""

import numpy as np

from dovetail.cluster.arrays import B1, F8, Rows
from dovetail.placement.applications.assignment import TaskAssignment
from dovetail.placement.applications.problem import UNPLACED, ApplicationProblem

#: A start needs this much of the distance between nodes as a tie-break only.
_SLIGHT = 1e-9


def starting_nodes(problem: ApplicationProblem, most: int) -> list[int]:
    """Nodes to begin at, best first: those around which the whole application finds capacity nearest. Of nodes that
    look alike one is enough."""
    total = problem.demand.sum(axis=0)
    asked = total > 0
    wanted: B1 = np.logical_or.reduce(problem.feasible, axis=0)
    usable = np.where(wanted[:, None], np.maximum(problem.capacity, 0.0), 0.0)
    share = (usable[:, asked] / total[asked]).min(axis=1) if asked.any() else np.ones(problem.nodes)
    order = np.argsort(problem.distance, axis=1, kind="stable")
    filled = np.minimum(np.cumsum(share[order], axis=1), 1.0)
    taken = np.diff(filled, axis=1, prepend=0.0)
    away = (taken * np.take_along_axis(problem.distance, order, axis=1)).sum(axis=1)
    rates = problem.traffic.sum() / 2
    points = away * max(rates, 1.0) + np.where(problem.feasible, problem.pull, 0.0).sum(axis=0)
    points[share <= 0.0] = np.inf
    found: list[int] = []
    seen: set[tuple[float, float]] = set()
    for node in np.argsort(points, kind="stable").tolist():
        alike = round(float(points[node]), 6), round(float(share[node]), 6)
        if len(found) == most or points[node] == np.inf:
            break
        if alike not in seen:
            seen.add(alike)
            found.append(node)
    return found


def grow(assignment: TaskAssignment, tasks: Rows, start: int) -> None:
    """Place the tasks around a node. Tasks that are drawn to none of the others begin near it."""
    problem = assignment.problem
    strength = problem.traffic.sum(axis=1)
    size = _sizes(problem)
    drawn = problem.traffic[:, assignment.node_of >= 0].sum(axis=1)
    left = np.zeros(problem.tasks, dtype=np.bool_)
    left[tasks] = True
    near_start = _SLIGHT * problem.distance[start]
    while left.any():
        waiting = np.flatnonzero(left)
        # Of those drawn alike the one that talks most, then the largest.
        task = int(waiting[np.lexsort((-size[waiting], -strength[waiting], -drawn[waiting]))[0]])
        left[task] = False
        allowed = assignment.allowed(task)
        if not allowed.any():
            continue
        costs = assignment.cost_on[task] + near_start
        node = int(np.where(allowed, costs, np.inf).argmin())
        assignment.place(task, node)
        drawn += problem.traffic[:, task]


def pack(assignment: TaskAssignment) -> None:
    """Place large tasks first, each on its cheapest node: for what is too tight to grow."""
    size = _sizes(assignment.problem)
    for task in np.argsort(-size, kind="stable").tolist():
        if assignment.node_of[task] < 0 and (node := assignment.best_node(task)) != UNPLACED:
            assignment.place(task, node)


def _sizes(problem: ApplicationProblem) -> F8:
    """float64[task]: the largest share of all capacity that each takes."""
    total = np.maximum(problem.capacity, 0.0).sum(axis=0)
    found: F8 = (problem.demand / np.where(total > 0, total, 1.0)).max(axis=1, initial=0.0)
    return found
