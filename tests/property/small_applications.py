"""Random small applications, and the exact optimum of each by trying every assignment."""

from itertools import product

import numpy as np

from dovetail.cluster.arrays import Rows
from dovetail.placement.applications.problem import ApplicationProblem, DomainLimit, Exclusion, is_valid


def random_problem(
    seed: int, most_tasks: int = 5, most_nodes: int = 4, *, with_rules: bool = True
) -> ApplicationProblem:
    """Racks of nodes, or distances without any order; some capacity is scarce, some nodes are refused."""
    chance = np.random.default_rng(seed)
    tasks, nodes = int(chance.integers(1, most_tasks + 1)), int(chance.integers(1, most_nodes + 1))
    demand = chance.integers(0, 5, (tasks, 2)).astype(np.float64)
    capacity = chance.integers(0, 4 + 2 * -(-int(demand.sum(axis=0).max()) // nodes), (nodes, 2)).astype(np.float64)
    racks = chance.integers(0, max(1, nodes // 2), nodes)
    if chance.random() < 0.7:
        distance = np.where(racks[:, None] == racks[None, :], 40.0, 100.0)
    else:
        distance = chance.integers(1, 101, (nodes, nodes)).astype(np.float64)
        distance = np.minimum(distance, distance.T)
    np.fill_diagonal(distance, 0.0)
    traffic = np.where(chance.random((tasks, tasks)) < 0.6, chance.integers(1, 1000, (tasks, tasks)), 0)
    traffic = np.triu(traffic, 1).astype(np.float64)
    pull = np.zeros((tasks, nodes))
    if chance.random() < 0.3:
        pull = chance.integers(0, 2000, (tasks, nodes)).astype(np.float64)
    limits: list[DomainLimit] = []
    exclusions: list[Exclusion] = []
    if with_rules:
        members = np.flatnonzero(chance.random(tasks) < 0.6)
        room = chance.integers(1, 3, int(racks.max()) + 1).astype(np.float64)
        held = chance.integers(0, 2, len(room)).astype(np.float64)
        if chance.random() < 0.4:
            limits.append(DomainLimit(members, racks, room))
        if chance.random() < 0.3:
            limits.append(DomainLimit(members, racks, np.full(len(room), np.inf), float(chance.integers(1, 3)), held))
        if chance.random() < 0.3:
            exclusions.append(Exclusion(members, chance.integers(0, 2, len(members)), racks))
    feasible = chance.random((tasks, nodes)) < 0.9
    both = traffic + traffic.T
    return ApplicationProblem(demand, capacity, feasible, distance, both, pull, tuple(limits), tuple(exclusions))


def optimum(problem: ApplicationProblem) -> float | None:
    """The lowest cost of any assignment of all tasks; None where there is none."""
    allowed = [np.flatnonzero(row).tolist() for row in problem.feasible]
    found = [
        problem.cost(node_of)
        for each in product(*allowed)
        if is_valid(problem, node_of := np.array(each, dtype=np.intp))
    ]
    return min(found, default=None)


def as_greedy(problem: ApplicationProblem) -> Rows:
    """Each task in turn on its cheapest node, given those before it."""
    node_of = np.full(problem.tasks, -1, dtype=np.intp)
    for task in range(problem.tasks):
        tried = []
        for node in range(problem.nodes):
            node_of[task] = node
            if is_valid(problem, node_of):
                tried.append((problem.cost(node_of), node))
        node_of[task] = min(tried)[1] if tried else -1
    return node_of
