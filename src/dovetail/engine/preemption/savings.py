"""Preemption to save money: work that would cost much elsewhere takes own nodes from work that would cost less there.

Own nodes are never left idle for what may come: cheap work runs on them and leaves when it has to. Two rules:

- *Take*: waiting work preempts running tasks of its own priority or less, if it would cost more elsewhere now than all
  of them together.
- *Make way*: a task that could leave for the last time does so, if waiting work that would cost more could otherwise
  not start in time on any own node.

Guarantees: every preemption saves at least a tenth of what the preemptor would cost elsewhere, by what is known then.
Each victim can still start again elsewhere and meet its deadline, and a node for it can be launched at that moment.
Nothing goes back and forth: the running tasks together would cost more elsewhere after each preemption than before,
and what a task would cost elsewhere never falls with time.
Leaves to others: who can leave (`elsewhere`), stopping victims and keeping their capacity (`asked_preemption`).
"""

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
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.live_task import PREEMPTING
from dovetail.engine.state.timers import TimerKind
from dovetail.engine.state.work import Work
from dovetail.model.command import Command

LEAST_SAVING = 0.1
"""Of what the preemptor would cost elsewhere: estimates are not better than that, and stopped work is lost."""


def preempt_to_save(state: EngineState, now: float) -> list[Command]:
    """Once after every event: nothing else changes what could be saved, but time, for which there is a timer."""
    if state.settings.market.preempt != "savings" or state.wake.savings_looked_at == state.wake.event_count:
        return []
    state.wake.savings_looked_at = state.wake.event_count
    waiting = waiting_work(state, now)
    if not waiting:
        return []
    own = own_rows(state)
    leaving = leaving_tasks(state, own, now)
    commands: list[Command] = []
    cleared: set[int] = set()
    tried: set[object] = set()
    for one in waiting:
        kind = _kind(one.work)
        if kind not in tried:  # what costs less elsewhere and needs as much could not take it either
            tried.add(kind)
            commands += _take(state, one, own, leaving, cleared, now)
    commands += _make_way(state, waiting, own, leaving, cleared, now)
    _set_timer(state, leaving, now)
    return commands


def _kind(work: Work) -> object:
    """Equal for work that could take the same nodes."""
    shape = work.shape
    return work.rank, work.queue, shape.amounts, shape.profile, shape.node_selector, shape.required, shape.gpus


def _may_take(state: EngineState, work: Work, victim: Work) -> bool:
    """Never from more urgent work; from other queues only where no queue has a guarantee."""
    return victim.rank >= work.rank and (victim.queue == work.queue or not state.router.queues.shared_out)


def _take(
    state: EngineState,
    one: WaitingWork,
    own: B1,
    leaving: dict[int, list[LeavingTask]],
    cleared: set[int],
    now: float,
) -> list[Command]:
    column, rows = _rows_for(state, one, own)
    best: tuple[float, int, list[LeavingTask]] | None = None
    for row in rows:
        if row in cleared or is_being_cleared(state, row) or _is_promised(state, row, one):
            continue
        short = column - state.cluster.resources.free[: len(column), row]
        among = [x for x in leaving.get(row, ()) if not x.is_new and _may_take(state, one.work, x.work)]
        chosen = cheapest_set(short, [(x.usd, x.column, x) for x in among])
        if chosen:
            usd = sum(x.usd for x in chosen)
            if best is None or usd < best[0]:
                best = usd, row, chosen
    if best is None or one.usd - best[0] < LEAST_SAVING * one.usd:
        return []
    usd, row, victims = best
    if find_nodes_elsewhere(state, victims, now) is None:
        return []
    found = clearing_plan(state, one.work, tuple(x.task for x in victims), now, over_promises=True)
    if isinstance(found, str):
        return []
    cleared.add(row)
    would = f"{one.work.shown_name} would cost {one.usd:.2f} USD elsewhere"
    why = f"preempted to save {one.usd - usd:.2f} USD: {would}, and what it stops {usd:.2f} USD"
    return make_room(state, one.work, found, now, why, f", which saves {one.usd - usd:.2f} USD")


def _make_way(
    state: EngineState,
    waiting: list[WaitingWork],
    own: B1,
    leaving: dict[int, list[LeavingTask]],
    cleared: set[int],
    now: float,
) -> list[Command]:
    """The tasks for which this is the last chance leave, if that lets dearer work start."""
    commands: list[Command] = []
    margin_s = state.settings.market.margin
    for row, tasks in leaving.items():
        for one in tasks:
            if row in cleared or is_being_cleared(state, row) or now < one.last - margin_s or one.is_new:
                continue
            gained = _gain_of_leaving(state, one, waiting, own, leaving, now)
            nodes = None if gained is None else find_nodes_elsewhere(state, [one], now)
            if gained is None or nodes is None or not _may_be_disturbed(state, one):
                continue
            saved, other = gained
            cleared.add(row)
            one.work.nominated = state.cluster.names[nodes[0]]  # else it would take the same node again
            words = f"{other.work.shown_name}, which would cost {other.usd:.2f} USD elsewhere, could not start in time"
            why = f"preempted to save {saved:.2f} USD: {words}; this task costs {one.usd:.2f} USD there"
            commands += stop_task(state, one.task, why, PREEMPTING)
            state.changes.preempted += 1
    return commands


def _gain_of_leaving(
    state: EngineState,
    one: LeavingTask,
    waiting: list[WaitingWork],
    own: B1,
    leaving: dict[int, list[LeavingTask]],
    now: float,
) -> tuple[float, WaitingWork] | None:
    """The waiting work that profits, the dearest that does, and by how much."""
    costs = StartCosts(state, leaving, now)
    tried: set[object] = set()
    for other in waiting:
        if other.usd - one.usd < LEAST_SAVING * other.usd:
            return None
        kind = _kind(other.work)
        if kind in tried or not _may_take(state, other.work, one.work):
            continue
        tried.add(kind)
        column, rows = _rows_for(state, other, own)
        if one.row not in rows:
            continue
        until = other.until - state.settings.market.margin  # tasks end later than expected
        if_it_leaves = costs.of(one.row, column, until, one, leaves=True)
        if if_it_leaves is None:
            continue
        stays = [costs.of(row, column, until, one, leaves=False) for row in rows]
        if_it_stays = min((usd for usd in stays if usd is not None), default=None)
        if if_it_stays is not None and if_it_stays <= if_it_leaves + one.usd:
            continue
        saved = other.usd - if_it_leaves - one.usd
        if saved >= LEAST_SAVING * other.usd:
            return saved, other
    return None


def _rows_for(state: EngineState, one: WaitingWork, own: B1) -> tuple[F8, list[int]]:
    """What it needs of a node, and the own nodes that it could run on were they empty."""
    request = unpromised_request(state, one.work)
    evaluator = state.pipelines[one.work.shape.profile].evaluator
    could = evaluator.run_filters(request, View(state.cluster)).feasible_ignoring_capacity
    rows: list[int] = np.flatnonzero(own & could).tolist()
    return request.column, rows


def _is_promised(state: EngineState, row: int, one: WaitingWork) -> bool:
    """To work that room was made for, or that is more urgent. What waits for an own node by itself has no claim to it
    that money does not give."""
    for owner in state.promises.on_row(row):
        promise, work = state.promises.of_work[owner], state.work[owner]
        if owner != one.work.id and (promise.clearing or work.rank < one.work.rank or work.waits is None):
            return True
    return False


def _may_be_disturbed(state: EngineState, one: LeavingTask) -> bool:
    return one.work.id not in state.budgeted or one.work.disruptions_left > 0


def _set_timer(state: EngineState, leaving: dict[int, list[LeavingTask]], now: float) -> None:
    """For the next task that could leave for the last time."""
    margin_s = state.settings.market.margin
    last = [one.last - margin_s for tasks in leaving.values() for one in tasks if one.last - margin_s > now]
    if last:
        state.timers.set(TimerKind.LAST_CHANCE, None, min(last))
