"""Builds the input of the recovery search: broken gangs, tasks that can be moved, and free capacity.

A task can be moved if it belongs to no gang, is preemptible, has no higher priority than the least urgent broken gang,
needs only node-local filters, and has run for its minimum time. Gangs never move for other gangs.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import itemgetter

import numpy as np

from dovetail.cluster.arrays import B1, F8
from dovetail.cluster.network.domains import domain_codes
from dovetail.cluster.selector_counts import concerns
from dovetail.cluster.views.view import View
from dovetail.engine.recovery.wording import levels_of
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.work import Work
from dovetail.model.requests.asks import Layout, Relation
from dovetail.model.requests.shape import Shape
from dovetail.model.task import TaskId, TaskState
from dovetail.model.workloads.affinity import HOST
from dovetail.placement.recovery.problem import LOST, BrokenGang, Movables, RecoveryGroup, RecoveryProblem, no_movables


@dataclass(frozen=True, slots=True)
class Case:
    """The problem, and what its indices mean: the workload and replicas of each gang, the movable tasks."""

    problem: RecoveryProblem
    works: tuple[Work, ...]
    replicas: tuple[tuple[int, ...], ...]
    movables: tuple[TaskId, ...]


def missing(work: Work) -> list[int]:
    """Replicas that need a node to complete the gang: lost ones first, then others that wait or are stopping."""
    stopping = [replica for replica, live in work.tasks.items() if live.is_evicted]
    lost = work.recovery.lost if work.recovery is not None else {}
    waiting = sorted([*work.waiting, *stopping], key=lambda replica: (replica not in lost, replica))
    return sorted(waiting[: work.gang_short])


def build_case(state: EngineState, works: Sequence[Work], excluded: dict[int, set[int]], now: float) -> Case:
    """`excluded`: by workload, rows that a trial refused."""
    cluster = state.cluster
    n = cluster.width
    free = np.maximum(cluster.resources.free[:, :n], 0.0)
    soon = cluster.resources.free[:, :n].copy()
    for task in state.stopping:
        placement = cluster.placements.by_task[task]
        soon[: len(placement.column), placement.row] += placement.column
    spare = np.zeros(n, dtype=np.bool_)
    for name, column in state.recoveries.spares.items():
        soon[: len(column), cluster.rows[name]] += column
        spare[cluster.rows[name]] = True
    gangs, replicas = [], []
    for work in works:
        gang, numbers = _broken_gang(state, work, excluded.get(work.id, set()), now)
        gangs.append(gang)
        replicas.append(numbers)
    movables, tasks = _movables(state, max(work.rank for work in works), now)
    problem = RecoveryProblem(free, np.maximum(soon, 0.0), gangs, movables, spare)
    return Case(problem, tuple(works), tuple(replicas), tasks)


def _broken_gang(state: EngineState, work: Work, excluded: set[int], now: float) -> tuple[BrokenGang, tuple[int, ...]]:
    cluster = state.cluster
    wanting = set(missing(work))
    staying = [
        replica
        for replica, live in work.tasks.items()
        if live.state.holds_node and live.state is not TaskState.STOPPING
    ]
    replicas = tuple(sorted({*staying, *wanting}))
    by_task = cluster.placements.by_task
    rows = tuple(LOST if replica in wanting else by_task[TaskId(work.id, replica)].row for replica in replicas)
    request = state.asked(shape_without_own_rules(work), work.identity)
    evaluator = state.pipelines[work.shape.profile].evaluator
    allowed = evaluator.run_filters(request, View(cluster)).feasible_ignoring_capacity
    allowed = allowed & ~promised_to_others(state, work, now)
    allowed[sorted(excluded)] = False
    own = [rule for rule in work.shape.workload_affinity if rule.weight is None and concerns(rule, work.identity)]
    alone = any(rule.relation is Relation.APART and rule.level == HOST for rule in own)
    near = [rule.level for rule in own if rule.relation is Relation.NEAR and rule.distance is None]
    nearness = tuple([domain_codes(cluster, level) for level in levels_of(state, work)])
    groups = _groups(state, work.shape.layout or Layout(), near, replicas, rows)
    return BrokenGang(request.column, allowed, rows, groups, alone, nearness), replicas


def shape_without_own_rules(work: Work) -> Shape:
    """Its shape without affinity rules about its own tasks: the plan itself decides their layout."""
    shape = work.shape.least
    others = tuple([rule for rule in shape.workload_affinity if not concerns(rule, work.identity)])
    return shape if others == shape.workload_affinity else replace(shape, workload_affinity=others)


def promised_to_others(state: EngineState, work: Work, now: float) -> B1:
    """Rows that are being cleared for other work, or that others reserved while this one would run."""
    found = np.zeros(state.cluster.width, dtype=np.bool_)
    found[sorted(state.promises.rows_reserved(work.namespace, now, state.expected_end(work, now)))] = True
    for owner, promise in state.promises.of_work.items():
        if owner != work.id and promise.clearing:
            found[[row for row, _ in promise.rows]] = True
    return found


def _groups(
    state: EngineState, layout: Layout, near: list[str], replicas: tuple[int, ...], rows: tuple[int, ...]
) -> tuple[RecoveryGroup, ...]:
    """Required levels and slices by rank. A group already spread over several domains is left out."""
    all_tasks = tuple(range(len(replicas)))
    required = [level for level in dict.fromkeys([*near, layout.required]) if level is not None]
    found = [RecoveryGroup(domain_codes(state.cluster, level), all_tasks) for level in required]
    for size, level in layout.slices:
        codes = domain_codes(state.cluster, level)
        slices: dict[int, list[int]] = {}
        for place, replica in enumerate(replicas):
            slices.setdefault(replica // size, []).append(place)
        found += [RecoveryGroup(codes, tuple(members)) for members in slices.values()]
    return tuple([group for group in found if len(_domains(group, rows)) <= 1])


def _domains(group: RecoveryGroup, rows: tuple[int, ...]) -> set[int]:
    return {int(group.codes[rows[member]]) for member in group.members if rows[member] != LOST}


def _movables(state: EngineState, rank: int, now: float) -> tuple[Movables, tuple[TaskId, ...]]:
    cluster = state.cluster
    budgets: dict[int, int] = {}
    kinds: dict[Shape, int] = {}
    columns: list[F8] = []
    allowed: list[B1] = []
    found: list[tuple[tuple[float, ...], TaskId, int, int]] = []
    # By id: the order of the table depends on trials and restarts.
    for task, placement in sorted(cluster.placements.by_task.items(), key=itemgetter(0)):
        victim_info = placement.victim_info
        ran_s = now - victim_info.since
        if victim_info.unit >= 0 or not victim_info.preemptible or victim_info.rank < rank or task in state.stopping:
            continue
        if ran_s < victim_info.min_run_s:
            continue
        work = state.work[task.workload]
        if work.cancelled or work.terminal_reason or (work.terms.max_unavailable and not _budget_left(work, budgets)):
            continue
        kind = kinds.get(work.shape)
        if kind is None:
            request = state.asked(work.shape.least, work.identity)
            kind = kinds[work.shape] = -1 if request.non_local else len(columns)
            if not request.non_local:
                columns.append(request.column)
                filtered = state.pipelines[work.shape.profile].evaluator.run_filters(request, View(cluster))
                allowed.append(filtered.feasible_ignoring_capacity & ~promised_to_others(state, work, now))
        if kind >= 0:
            redone_s = ran_s % victim_info.checkpoint_s if victim_info.checkpoint_s else ran_s
            found.append(((-victim_info.rank, redone_s), task, placement.row, kind))
    if not found:
        return no_movables(len(cluster.resources.names), cluster.width), ()
    found.sort(key=lambda one: one[:2])
    height = len(cluster.resources.names)
    table = np.zeros((len(columns), height))
    for kind, column in enumerate(columns):
        table[kind, : len(column)] = column
    _, tasks, rows, numbers = zip(*found, strict=True)
    movables = Movables(np.array(rows, dtype=np.intp), np.array(numbers, dtype=np.intp), table, np.array(allowed))
    return movables, tasks


def _budget_left(work: Work, budgets: dict[int, int]) -> bool:
    """Does the disruption budget allow one more move? Counts the move."""
    left = budgets.get(work.id, work.disruptions_left)
    budgets[work.id] = left - 1
    return left > 0
