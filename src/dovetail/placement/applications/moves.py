"""Moves that make a running application cheaper: each has to pay for itself.

A move costs something (`cost_per_move`, in the unit of the application's cost: Mbps × distance), so the search adds
that to every node but the present one. What it finds is then put in an order in which each move fits while the task
still holds its old node, since a live migration needs both. A move that fits at no time, or does not pay without such
a one, is left out.
Guarantees: pure and deterministic. After every single move of the list, capacity and rules hold. All moves together
lower the cost by more than they cost. Left to others: whether now is a good time, disruption budgets, carrying it out.
"""

from dataclasses import dataclass

import numpy as np

from dovetail.cluster.arrays import F8, Rows
from dovetail.placement.applications.assignment import TaskAssignment
from dovetail.placement.applications.problem import ApplicationProblem
from dovetail.placement.applications.search import solve

_EPSILON = 1e-9


@dataclass(frozen=True, slots=True)
class ProposedMove:
    """`saves`: by how much the application's cost falls with this move, after those before it; below 0 where it only
    makes way for others."""

    task: int
    source: int
    target: int
    saves: float


def propose_moves(
    problem: ApplicationProblem, now: Rows, cost_per_move: float | F8, seed: int = 0, most: int | None = None
) -> list[ProposedMove]:
    """`now`: the present node of each task; those without one stay out of it. `problem.capacity` is what the nodes have
    for the application, its own tasks included. `cost_per_move`: one for all, or float64[task]. `most`: so many moves
    at most."""
    placed = np.flatnonzero(now >= 0)
    if not len(placed):
        return []
    feasible = problem.feasible.copy()
    feasible[now < 0] = False
    # A task may stay where it is, whatever has changed about the node since.
    feasible[placed, now[placed]] = True
    price = np.broadcast_to(np.asarray(cost_per_move, dtype=np.float64), (problem.tasks,))
    stays = np.zeros_like(feasible)
    stays[placed, now[placed]] = True
    pull = problem.pull + np.where(stays, 0.0, price[:, None])
    priced = ApplicationProblem(
        *(problem.demand, problem.capacity, feasible, problem.distance, problem.traffic),
        *(pull, problem.limits, problem.exclusions),
    )
    target = solve(priced, seed, known=now).node_of
    return _worthwhile(problem, priced, now, target, most)


def _worthwhile(
    problem: ApplicationProblem, priced: ApplicationProblem, now: Rows, target: Rows, most: int | None
) -> list[ProposedMove]:
    """The moves in an order that can be carried out, without those that do not pay."""
    wanted = target.copy()
    while True:
        moves = _in_order(problem, now, wanted, most)
        reached = now.copy()
        for move in moves:
            reached[move.task] = move.target
        # Without moves that found no time, others may not pay any more: the one that loses most goes first.
        losses = [(priced.cost(_with(reached, move.task, move.source)), move.task) for move in moves]
        whole = priced.cost(reached)
        cheapest = min(losses, default=(np.inf, -1))
        if cheapest[0] >= whole - _EPSILON:
            return moves if whole < priced.cost(now) - _EPSILON else []
        wanted = reached
        wanted[cheapest[1]] = now[cheapest[1]]


def _with(node_of: Rows, task: int, node: int) -> Rows:
    found = node_of.copy()
    found[task] = node
    return found


def _in_order(problem: ApplicationProblem, now: Rows, target: Rows, most: int | None) -> list[ProposedMove]:
    """The move that saves most of those that fit goes next."""
    assignment = TaskAssignment(problem)
    assignment.set_to(now)
    left = np.flatnonzero(now != target).tolist()
    found: list[ProposedMove] = []
    while left and (most is None or len(found) < most):
        costs = assignment.cost_on
        by_gain = sorted(
            left, key=lambda task: (costs[task, target[task]] - costs[task, assignment.node_of[task]], task)
        )
        for task in by_gain:
            source, goal = int(assignment.node_of[task]), int(target[task])
            saves = float(costs[task, source] - costs[task, goal])
            if _moved(assignment, task, goal):
                found.append(ProposedMove(task, source, goal, saves))
                left.remove(task)
                break
        else:
            return found
    return found


def _moved(assignment: TaskAssignment, task: int, goal: int) -> bool:
    """Move the task, if it fits while the old node is still held."""
    source = int(assignment.node_of[task])
    assignment.remove(task)
    if assignment.problem.feasible[task, goal] and assignment.may_go(task, goal):
        assignment.place(task, goal)
        if assignment.is_even(task):
            return True
        assignment.remove(task)
    assignment.place(task, source)
    return False
