"""Preemption to save money: work that would cost much elsewhere takes own nodes from work that would cost less there.

Own nodes are never left idle for what may come: cheap work runs on them and leaves when it has to, not before. Two
rules, each at the last moment at which it can help:

- *Take*: waiting work that is about to go elsewhere preempts running tasks of its own priority or less, if it would
  cost more elsewhere than all of them together.
- *Make way*: a task that can leave for the last time does so, if waiting work that would cost more could otherwise
  not start in time on any own node.

Guarantees: every preemption saves at least a tenth of what the preemptor would cost elsewhere, by what is known then.
Each victim can still start again elsewhere and meet its deadline, and a node for it can be launched at that moment.
Nothing goes back and forth: what takes a node would cost more elsewhere than what it took it from, what made way is
sent elsewhere, and what a task would cost elsewhere does not fall with time, unless cheaper machines are offered.
Leaves to others: who can leave (`elsewhere`), stopping victims and keeping their capacity (`asked_preemption`).
"""

from dataclasses import dataclass, field
from math import inf

import numpy as np

from dovetail.cluster.arrays import B1, F8
from dovetail.cluster.views.view import View
from dovetail.engine.backfill.backfilling import is_being_cleared
from dovetail.engine.gangs.requests import unpromised_request
from dovetail.engine.lifecycle.task_lifecycle import stop_task
from dovetail.engine.preemption.asked_preemption import clearing_plan, make_room
from dovetail.engine.preemption.elsewhere import (
    LeavingTask,
    WaitingWork,
    find_nodes_elsewhere,
    leaving_tasks,
    own_rows,
    waiting_work,
)
from dovetail.engine.preemption.start_costs import StartCosts, cheapest_set
from dovetail.engine.preemption.timetable_room import fits_if_it_leaves, lost_by_taking
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.live_task import PREEMPTING
from dovetail.engine.state.work import Work
from dovetail.model.command import Command

LEAST_SAVING = 0.1
"""Of what the preemptor would cost elsewhere: estimates are not better than that, and stopped work is lost."""
ROWS_TRIED = 4
"""Of the nodes that are cheapest to take: those whose planned work is looked at."""
AGAIN_S = 1.0
"""While something is about to leave: the least time between two looks."""


@dataclass(frozen=True, slots=True)
class _Look:
    """One search for preemptions that save money: what there is, and what it has decided so far."""

    state: EngineState
    now: float
    waiting: list[WaitingWork]
    own: B1
    leaving: dict[int, list[LeavingTask]]
    cleared: set[int] = field(default_factory=set)  # rows
    taken: set[int] = field(default_factory=set)  # nodes that are launched for victims


def preempt_to_save(state: EngineState, now: float) -> list[Command]:
    """When something is about to leave or to go elsewhere. Meanwhile, and in case that something started since which
    is, again after events, but not after each: all that runs on own nodes is looked at."""
    if state.settings.market.preempt != "savings":
        return []
    if now < state.wake.savings_due:
        if state.waits_for_cheaper:
            state.look_for_savings_at(state.wake.savings_due)
        return []
    waiting = waiting_work(state, now)
    if not waiting:
        state.wake.savings_due = now + state.settings.market.margin if state.waits_for_cheaper else inf
        return []
    own = own_rows(state)
    look = _Look(state, now, waiting, own, leaving_tasks(state, own, now))
    commands: list[Command] = []
    tried: set[object] = set()
    for one in waiting:
        if now < one.until - state.settings.market.margin or (kind := _kind(one.work)) in tried:
            continue
        tried.add(kind)  # what costs less elsewhere and needs as much could not take it either
        commands += _take(look, one)
    commands += _make_way(look)
    _look_again(state, waiting, look.leaving, now)
    return commands


def _kind(work: Work) -> object:
    """Equal for work that could take the same nodes."""
    return work.rank, work.queue, work.shape.node_kind


def _may_take(state: EngineState, work: Work, victim: Work) -> bool:
    """Never from more urgent work; from other queues only where no queue has a guarantee."""
    return victim.rank >= work.rank and (victim.queue == work.queue or not state.router.queues.shared_out)


def _take(look: _Look, one: WaitingWork) -> list[Command]:
    state, now = look.state, look.now
    column, rows = _rows_for(state, one, look.own, now)
    found_rows: list[tuple[float, int, list[LeavingTask]]] = []
    for row in rows:
        if row in look.cleared or is_being_cleared(state, row) or _is_promised(state, row, one, look.waiting):
            continue
        short = column - state.cluster.resources.free[: len(column), row]
        among = [x for x in look.leaving.get(row, ()) if not x.is_new and _may_take(state, one.work, x.work)]
        chosen = cheapest_set(short, [(x.cost, x.column, x) for x in among])
        if chosen:
            found_rows.append((sum(x.cost for x in chosen), row, chosen))
    found_rows.sort(key=lambda entry: entry[:2])
    with_loss = ((x[0] + lost_by_taking(state, one, x[1], x[2], now), x[1], x[2]) for x in found_rows[:ROWS_TRIED])
    best = min(with_loss, key=lambda entry: entry[:2], default=None)
    if best is None or one.cost - best[0] < LEAST_SAVING * one.cost:
        return []
    cost, row, victims = best
    nodes = find_nodes_elsewhere(state, victims, look.taken, now)
    if nodes is None:
        return []
    found = clearing_plan(state, one.work, tuple(x.task for x in victims), now, over_promises=True)
    if isinstance(found, str):
        return []
    look.cleared.add(row)
    look.taken.update(nodes)
    saves = f"{one.cost - cost:.2f} {_currency(state, nodes[0])}"
    would = f"{one.work.shown_name} would cost {one.cost:.2f} elsewhere, and what it preempts {cost:.2f}"
    return make_room(state, one.work, found, now, f"preempted to save {saves}: {would}", f", which saves {saves}")


def _make_way(look: _Look) -> list[Command]:
    """The tasks for which this is the last chance leave, if that lets dearer work start."""
    state, now = look.state, look.now
    commands: list[Command] = []
    margin_s = state.settings.market.margin
    for row, tasks in look.leaving.items():
        for one in tasks:
            if row in look.cleared or is_being_cleared(state, row) or now < one.last - margin_s or one.is_new:
                continue
            gained = _gain_of_leaving(look, one)
            nodes = None if gained is None else find_nodes_elsewhere(state, [one], look.taken, now)
            if gained is None or nodes is None or not _may_be_disturbed(state, one):
                continue
            saved, other = gained
            look.cleared.add(row)
            look.taken.update(nodes)
            one.work.nominated = state.cluster.names[nodes[0]]  # else it would take the same node again
            would = f"{other.work.shown_name}, which would cost {other.cost:.2f} elsewhere, could not start in time"
            saves = f"{saved:.2f} {_currency(state, nodes[0])}"
            why = f"preempted to save {saves}: {would}; this task costs {one.cost:.2f} there"
            commands += stop_task(state, one.task, why, PREEMPTING)
            state.changes.preempted += 1
    return commands


def _gain_of_leaving(look: _Look, one: LeavingTask) -> tuple[float, WaitingWork] | None:
    """The waiting work that profits, the dearest that does, and by how much."""
    state, now = look.state, look.now
    costs = StartCosts(state, look.leaving, now)
    tried: set[object] = set()
    for other in look.waiting:
        if other.cost - one.cost < LEAST_SAVING * other.cost:
            return None
        kind = _kind(other.work)
        if kind in tried or not _may_take(state, other.work, one.work):
            continue
        tried.add(kind)
        column, rows = _rows_for(state, other, look.own, now)
        if one.row not in rows:
            continue
        until = other.until - state.settings.market.margin  # tasks end later than expected
        if_it_leaves = costs.of(one.row, column, until, one, leaves=True)
        if if_it_leaves is None:
            continue
        stays = (costs.of(row, column, until, one, leaves=False) for row in rows)
        if any(cost is not None and cost <= if_it_leaves + one.cost for cost in stays):
            continue  # it can start in time anyway
        saved = other.cost - if_it_leaves - one.cost
        if saved >= LEAST_SAVING * other.cost and fits_if_it_leaves(state, one, other, now):
            return saved, other
    return None


def _rows_for(state: EngineState, one: WaitingWork, own: B1, now: float) -> tuple[F8, list[int]]:
    """What it needs of a node, and the rows of own nodes that are not reserved and would suit it if they were empty."""
    request = unpromised_request(state, one.work)
    evaluator = state.pipelines[one.work.shape.profile].evaluator
    could = evaluator.run_filters(request, View(state.cluster)).feasible_ignoring_capacity
    reserved = state.promises.rows_reserved(one.work.namespace, now, state.expected_end(one.work, now))
    return request.column, [row for row in np.flatnonzero(own & could).tolist() if row not in reserved]


def _is_promised(state: EngineState, row: int, one: WaitingWork, waiting: list[WaitingWork]) -> bool:
    """To other work, unless that waits for an own node too and would cost less elsewhere."""
    cost = {other.work.id: other.cost for other in waiting}
    return any(
        owner != one.work.id
        and (state.promises.of_work[owner].clearing or cost.get(owner, inf) >= one.cost or _is_above(state, owner, one))
        for owner in state.promises.on_row(row)
    )


def _is_above(state: EngineState, owner: int, one: WaitingWork) -> bool:
    return state.work[owner].rank < one.work.rank


def _currency(state: EngineState, row: int) -> str:
    return state.cluster.offers.by_row[row].currency


def _may_be_disturbed(state: EngineState, one: LeavingTask) -> bool:
    return one.work.id not in state.budgeted or one.work.disruptions_left > 0


def _look_again(
    state: EngineState, waiting: list[WaitingWork], leaving: dict[int, list[LeavingTask]], now: float
) -> None:
    """At the next last moment; before it, a margin is left for the victims to stop."""
    margin_s = state.settings.market.margin
    last = [*[one.until for one in waiting], *[one.last for tasks in leaving.values() for one in tasks]]
    next_at = min([at - margin_s for at in last if at - margin_s > now], default=inf)
    is_close = any(at - margin_s <= now for at in last)
    state.wake.savings_due = min(next_at, now + (AGAIN_S if is_close else margin_s / 2))
    if next_at < inf:
        state.look_for_savings_at(next_at)
