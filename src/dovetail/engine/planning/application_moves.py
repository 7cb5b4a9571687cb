"""Moves of running tasks that bring workloads that exchange traffic nearer to each other.

Each application, that is workloads connected by traffic, is looked at by itself: its running tasks are taken off their
nodes in a trial, so that filters and capacity answer as if they were to be placed, and the search begins where they are
(`placement.applications.moves`).
Guarantees: nothing is changed. Moves come in an order in which each fits when those before it are done, and together
they save more than they cost. Gangs, groups and pods stay where they are. Left to others: disruption budgets, how
often, and asking for the moves (`MoveAsked`).
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dovetail.engine.applications.arrays import arrays_of
from dovetail.engine.applications.parts import MOST_TASKS, ApplicationPart, peers_of, size_of
from dovetail.engine.gangs.group_trial import attempts
from dovetail.engine.pieces import Pieces
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.work import GroupPart, Work
from dovetail.model.task import TaskId, TaskState
from dovetail.placement.applications.moves import propose_moves


@dataclass(frozen=True, slots=True)
class ApplicationMove:
    """`saves`: by how much Mbps × distance fall with this move, after those before it; below 0 where it makes way."""

    task: TaskId
    namespace: str
    name: str
    source: str
    target: str
    saves: float


def application_moves(state: EngineState, cost_per_move: float, now: float) -> Pieces[list[ApplicationMove]]:
    """Moves that pay, application by application; `cost_per_move` in Mbps × distance."""
    found: list[ApplicationMove] = []
    for members in list(_running_applications(state)):
        found += _moves(state, members, cost_per_move, now)
        yield
    return found


def _running_applications(state: EngineState) -> Iterator[list[Work]]:
    seen: set[int] = set()
    for first in state.work.values():
        if first.id in seen or not first.shape.traffic or not _movable(first):
            continue
        reached, ripe = {first.id: first}, [first]
        while ripe:
            for other in peers_of(state, ripe.pop()):
                if other.id not in reached and _movable(other):
                    reached[other.id] = other
                    ripe.append(other)
        seen |= set(reached)
        tasks = sum(len(_movable(work)) for work in reached.values())
        if tasks <= MOST_TASKS:
            yield [reached[id_] for id_ in sorted(reached)]


def _movable(work: Work) -> list[int]:
    if work.is_pod or work.group is not None or work.cancelled:
        return []
    return sorted(replica for replica, live in work.tasks.items() if live.state is TaskState.RUNNING)


def _moves(state: EngineState, members: list[Work], cost_per_move: float, now: float) -> list[ApplicationMove]:
    tasks = [TaskId(work.id, replica) for work in members for replica in _movable(work)]
    placed = state.cluster.placements.by_task
    rows = np.array([placed[task].row for task in tasks], dtype=np.intp)
    with state.cluster.trial():
        for task in tasks:
            state.cluster.remove(task)
        trials = attempts(state, [GroupPart(work, _movable(work)) for work in members], now)
        sizes = [size_of(state, (work.namespace, work.known_as)) for work in members]
        parts = [ApplicationPart(trial, size) for trial, size in zip(trials, sizes, strict=True)]
        found = arrays_of(state, parts, rows)
    if found is None:
        return []
    moves = propose_moves(found.problem, found.nodes_at(rows), cost_per_move, state.settings.seed)
    names = state.cluster.names
    return [
        ApplicationMove(
            *(task := tasks[move.task], state.work[task.workload].namespace, state.work[task.workload].name),
            names[int(found.rows[move.source])],
            names[int(found.rows[move.target])],
            move.saves,
        )
        for move in moves
    ]
