"""Making room for work that may displace other work: who has to go, telling them, and keeping the room for it.

More urgent work may displace less urgent work (`may_preempt`), and a queue within its guarantee may take back what
others borrow. The victims are told to stop; their room is promised to the preemptor until they are gone.
"""

from dataclasses import dataclass
from itertools import groupby

import numpy as np

from dovetail.cluster.arrays import B1
from dovetail.cluster.horizon import NEVER
from dovetail.cluster.view import View
from dovetail.engine.life import PREEMPTING, stop_task
from dovetail.engine.promises import Promise
from dovetail.engine.state import EngineState
from dovetail.engine.work import Work
from dovetail.model.command import Command
from dovetail.model.shape import Shape
from dovetail.model.task import TaskId
from dovetail.model.workload import Priority
from dovetail.placement.contract import Request
from dovetail.placement.preemption import StakeArrays, Victims, find_victims

#: The least urgent class that may displace anyone.
_LAST_TO_PREEMPT = Priority.MEDIUM.rank
_NAMED = 3


@dataclass(frozen=True, slots=True)
class Claim:
    """Who wants room: the rank it acts with, its queue, and how many tasks must fit at once."""

    shape: Shape
    rank: int
    queue: int
    count: int
    work: int = -1


def may_displace(state: EngineState, shape: Shape, rank: int) -> bool:
    """A first look: is there anybody at all who might have to give way?"""
    if not state.pipelines[shape.profile].settings.preemption:
        return False
    below = rank <= _LAST_TO_PREEMPT and any(state.cluster.placements.by_rank[rank + 1 :])
    return below or bool(state.router.queues.shared_out)


def find_room(state: EngineState, claim: Claim, request: Request, now: float) -> Victims | None:
    """The cheapest victims that make the claim fit; None if it may displace nobody or that does not help."""
    reclaim = _reclaimable(state, claim)
    if claim.rank > _LAST_TO_PREEMPT and not reclaim:
        return None
    codes = np.array(sorted(reclaim), dtype=np.int64)

    def eligible(stakes: StakeArrays) -> B1:
        lower: B1 = (stakes.rank > claim.rank) & (claim.rank <= _LAST_TO_PREEMPT)
        if len(codes):
            lower |= np.isin(stakes.queue, codes)
        return lower & stakes.preemptible

    candidates = _candidates(state, claim, request)
    if not candidates.any():
        return None
    slack = {id_: _slack(state.work[id_]) for id_ in state.gangs}
    budgets = {id_: _budget(state.work[id_]) for id_ in state.budgeted}
    return find_victims(
        state.cluster, candidates, request.column, claim.count, eligible, now, budgets, slack, state.stopping,
        state.stakes,
    )  # fmt: skip


def preempt(state: EngineState, work: Work, request: Request, victims: Victims, now: float) -> list[Command]:
    """Tell the victims, and keep the room for the work."""
    commands: list[Command] = []
    why = f"preempted by {work.name} (workload {work.id})"
    for task in victims.tasks:
        commands += stop_task(state, state.work[task.workload], task, why, evicting=True, word=PREEMPTING)
    state.preempted += len(victims.tasks)
    run_s = state.expected_s(work)
    rows = tuple((row, request.column * len(list(same))) for row, same in groupby(victims.placements))
    end = NEVER if run_s is None else now + run_s
    state.promises.make(work.id, Promise(work.name, now, end, rows, clearing=True))
    return commands


def is_clearing(state: EngineState, work: Work) -> bool:
    """Are victims still being stopped on rows that were promised to it?"""
    promise = state.promises.of_work.get(work.id)
    if promise is None or not promise.clearing:
        return False
    by_row = state.cluster.placements.by_row
    return any(task in state.stopping for row, _ in promise.rows for task in by_row[row])


def victims_in_words(state: EngineState, tasks: tuple[TaskId, ...]) -> str:
    """`3 tasks: web.0, web.1 and 1 more`."""
    names = [f"{state.work[task.workload].name}.{task.replica}" for task in tasks[:_NAMED]]
    more = f" and {len(tasks) - _NAMED} more" if len(tasks) > _NAMED else ""
    return f"{len(tasks)} task{'' if len(tasks) == 1 else 's'}: {', '.join(names)}{more}"


def _reclaimable(state: EngineState, claim: Claim) -> set[int]:
    if not state.router.queues.shared_out:
        return set()
    amounts = {name: amount * claim.count for name, amount in claim.shape.amounts}
    return state.quotas.reclaimable_from(claim.queue, amounts)


def _candidates(state: EngineState, claim: Claim, request: Request) -> B1:
    """Rows that pass every filter but room, and that are not being cleared for work as urgent as this."""
    evaluator = state.pipelines[claim.shape.profile].evaluator
    found = evaluator.sift(request, View(state.cluster)).but_for_room.copy()
    for owner, promise in state.promises.of_work.items():
        if owner != claim.work and promise.clearing and state.work[owner].rank <= claim.rank:
            found[[row for row, _ in promise.rows]] = False
    return found


def _slack(work: Work) -> int:
    return max(0, work.holding - work.stopping + work.succeeded - work.terms.gang_min)


def _budget(work: Work) -> int:
    unavailable = len(work.waiting) + len(work.delayed) + work.stopping
    return max(0, work.terms.max_unavailable - unavailable)
