"""Work that could also run elsewhere, for money: what waits for nodes of one's own, and what runs on them.

A running task *can leave* if it prefers low prices, has a deadline that it would still meet if it were started again
elsewhere, and may be disturbed. Tasks of gangs and services cannot leave. Own nodes are those that run and cost
nothing.
"""

from dataclasses import dataclass

from dovetail.cluster.arrays import B1, F8
from dovetail.cluster.views.view import View
from dovetail.engine.backfill.backfilling import is_clearing
from dovetail.engine.gangs.requests import minds_cost, unpromised_request
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.work import Work
from dovetail.model.task import TaskId, TaskState
from dovetail.placement.market.elsewhere import Elsewhere, cheapest_elsewhere, choices_elsewhere, launchable_now
from dovetail.placement.market.waiting import Patience


@dataclass(frozen=True, slots=True)
class WaitingWork:
    """It waits for an own node, and goes elsewhere at `until` for `cost`."""

    work: Work
    until: float
    cost: float


@dataclass(frozen=True, slots=True)
class LeavingTask:
    """A running task that can leave its node, for `cost` if it does now."""

    task: TaskId
    work: Work
    row: int
    column: F8
    cost: float
    choices: tuple[Elsewhere, ...]
    is_new: bool  # placed at this very moment

    @property
    def last(self) -> float:
        """After that it is too late to leave."""
        return self.choices[-1].until


def own_rows(state: EngineState) -> B1:
    offers, width = state.cluster.offers, state.cluster.width
    found: B1 = offers.running[:width] & (offers.price[:width] == 0) & (offers.interruptions[:width] == 0)
    return found


def waiting_work(state: EngineState, now: float) -> list[WaitingWork]:
    """What waits for cheaper nodes, the dearest first."""
    found = []
    for id_ in list(state.waits_for_cheaper):
        work = state.work.get(id_)
        if work is None or work.waits is None or not work.waiting:
            del state.waits_for_cheaper[id_]
        elif id_ in state.timetable.starts:
            continue
        elif work.at_once == 1 and work.is_ready and minds_cost(work) and not _may_not_preempt(state, work):
            choice = cheapest_elsewhere(choices_of(state, work), now)
            if choice is not None:
                found.append(WaitingWork(work, choice.until, choice.cost))
    found.sort(key=lambda one: (-one.cost, one.work.id))
    return found


def _may_not_preempt(state: EngineState, work: Work) -> bool:
    allowed = state.pipelines[work.shape.profile].settings.preemption and work.terms.may_preempt
    return not allowed or work.displacing or is_clearing(state, work)


def leaving_tasks(state: EngineState, own: B1, now: float) -> dict[int, list[LeavingTask]]:
    """Running tasks that can leave, by row."""
    found: dict[int, list[LeavingTask]] = {}
    by_task = state.cluster.placements.by_task
    for row in own.nonzero()[0].tolist():
        for task in state.cluster.placements.by_row[row]:
            work = state.work.get(task.workload)
            if work is None or not minds_cost(work) or work.terms.restart_always or work.is_pod:
                continue
            live, info = work.task(task.replica), by_task[task].victim_info
            if live.state is not TaskState.RUNNING or not info.preemptible or now < info.since + info.min_run_s:
                continue
            choices = choices_of(state, work)
            choice = cheapest_elsewhere(choices, now)
            if choice is not None:
                is_new = info.since >= now
                leaving = LeavingTask(task, work, row, by_task[task].column, choice.cost, choices, is_new)
                found.setdefault(row, []).append(leaving)
    return found


def choices_of(state: EngineState, work: Work) -> tuple[Elsewhere, ...]:
    """Computed again only when nodes of another kind are offered."""
    kinds = state.cluster.offers.kinds_offered
    if work.choices is None or work.choices[0] != kinds:
        request, view = unpromised_request(state, work), View(state.cluster)
        eligible = state.pipelines[work.shape.profile].evaluator.run_filters(request, view).feasible_ignoring_capacity
        work.choices = kinds, choices_elsewhere(request, view, eligible, patience_of(state, work))
    return work.choices[1]


def patience_of(state: EngineState, work: Work) -> Patience:
    assert work.terms.finish_within_s is not None
    return Patience(work.submitted_at + work.terms.finish_within_s, state.settings.market.margin)


def find_nodes_elsewhere(
    state: EngineState, leaving: list[LeavingTask], taken: set[int], now: float
) -> list[int] | None:
    """A node for each that can be launched at this moment, in time and at its price, none of those that are `taken`;
    None if there are too few."""
    found: list[int] = []
    for one in leaving:
        request, view = unpromised_request(state, one.work), View(state.cluster)
        has_room = state.pipelines[one.work.shape.profile].evaluator.run_filters(request, view).alive
        rows = launchable_now(request, view, has_room, patience_of(state, one.work), now, one.cost)
        free = next((row for row in rows if row not in taken and row not in found), None)
        if free is None:
            return None
        found.append(free)
    return found
