"""Making room for work that may displace other work: who has to go, telling them, and keeping the room for it.

More urgent work may displace less urgent work (`may_preempt`), and a queue within its guarantee may take back what
others borrow. The victims are told to stop; their room is promised to the preemptor until they are gone.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

import numpy as np

from dovetail.cluster.arrays import B1, F8
from dovetail.cluster.horizon import NEVER
from dovetail.cluster.views.view import View
from dovetail.engine.backfill.clearing import is_being_cleared
from dovetail.engine.lifecycle.task_lifecycle import PREEMPTING, stop_task
from dovetail.engine.promises.promises import Promise
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.work import Work
from dovetail.model.command import Command
from dovetail.model.requests.shape import Shape
from dovetail.model.resources import Amounts
from dovetail.model.task import TaskId
from dovetail.model.workloads.workload import Priority
from dovetail.placement.contract import Request
from dovetail.placement.pipeline.evaluation import Evaluator
from dovetail.placement.preemption import Cost, VictimArrays, Victims, find_victims
from dovetail.placement.preemption.pool import Eligible, VictimPool
from dovetail.placement.preemption.trial_search import TrialSearch

#: The least urgent class that may displace anyone.
LAST_TO_PREEMPT = Priority.MEDIUM.rank
_NAMED = 3


@dataclass(frozen=True, slots=True)
class PreemptionRequest:
    """Who wants room: the rank it acts with, its queue, and how many tasks must fit at once."""

    shape: Shape
    rank: int
    queue: int
    count: int
    work: int = -1


class PreemptionPlan(NamedTuple):
    """Who must go, what is then kept on which rows for the one that waits, and what it costs."""

    tasks: tuple[TaskId, ...]
    kept: tuple[tuple[int, F8], ...]
    cost: Cost


def may_displace(state: EngineState, shape: Shape, rank: int) -> bool:
    """A first look: is there anybody at all who might have to give way?"""
    if not state.pipelines[shape.profile].settings.preemption:
        return False
    if shape.kubernetes is not None:
        return bool(state.cluster.placements.by_task)  # urgency is a whole number there: only a search can tell
    below = rank <= LAST_TO_PREEMPT and any(state.cluster.placements.by_rank[rank + 1 :])
    return below or bool(state.router.queues.shared_out)


def find_room(state: EngineState, claim: PreemptionRequest, request: Request, now: float) -> Victims | None:
    """The cheapest victims that make the claim fit; None if it may displace nobody or that does not help."""
    with _as_if_gone(state, now):
        return _find_room(state, claim, request, now)


@contextmanager
def _as_if_gone(state: EngineState, now: float) -> Iterator[None]:
    """What is being stopped counts for nobody while guarantees are looked at: else several could each take, of what a
    queue borrows, what one of them took already, and the queue would take it back in turn."""
    going = [state.work[task.workload] for task in state.stopping] if state.router.queues.shared_out else []
    eased = set(state.wake.queues_freed)
    for work in going:
        state.charge(work, -1, now)
    try:
        yield
    finally:
        for work in going:
            state.charge(work, 1, now)
        state.wake.queues_freed = eased


def _find_room(state: EngineState, claim: PreemptionRequest, request: Request, now: float) -> Victims | None:
    reclaim = _reclaimable(state, claim)
    if claim.rank > LAST_TO_PREEMPT and not reclaim:
        return None
    candidates = _candidates(state, claim, request, now)
    if not candidates.any():
        return None
    kept = _guaranteed(state, claim)
    found = _search(state, claim, request, candidates, reclaim, kept, now)
    while found is not None and (overdrawn := _overdrawn(state, claim, found.tasks, reclaim)):
        kept |= overdrawn
        found = _search(state, claim, request, candidates, reclaim, kept, now)
    if found is None or found.tasks:
        return found
    # Nobody has to go: then somebody is going already, or only a promise stood in the way, or it was not about room.
    rows = set(found.placements)
    going = any(is_being_cleared(state, row) for row in rows)
    return found if going or any(_promised_on(state, rows, claim.work)) else None


def _search(
    state: EngineState,
    claim: PreemptionRequest,
    request: Request,
    candidates: B1,
    reclaim: set[int],
    kept: set[int],
    now: float,
) -> Victims | None:
    back, spared = (np.array(sorted(codes), dtype=np.int64) for codes in (reclaim, kept))

    def eligible(victims_table: VictimArrays) -> B1:
        lower: B1 = (victims_table.rank > claim.rank) & (claim.rank <= LAST_TO_PREEMPT)
        if len(spared):
            lower &= ~np.isin(victims_table.queue, spared)
        if len(back):
            lower |= np.isin(victims_table.queue, back)
        lower &= victims_table.group != claim.work  # its own may have been placed as less urgent
        return lower & victims_table.preemptible

    return cheapest_victims(state, candidates, request, claim.count, eligible, now)


def to_be_tried(state: EngineState, request: Request) -> bool:
    """Can amounts alone not tell whether the tasks fit once others are gone? They know nothing of other work, nor of
    GPUs one by one."""
    ask = request.shape.gpus
    return (
        request.non_local
        or request.shape.layout is not None
        or _refused_until_trial(state, request) is not None
        or (ask is not None and (ask.is_picky or ask.share > 0 or state.cluster.devices.shares > 0))
    )


def cheapest_victims(
    state: EngineState, candidates: B1, request: Request, count: int, eligible: Eligible, now: float
) -> Victims | None:
    """Of those eligible, with the disruption budgets and the gangs that there are now."""
    slack = {id_: _slack(state.work[id_]) for id_ in state.gangs}
    slack |= {group.id: group.slack for group in state.groups.all() if not group.is_loose}
    budgets = {id_: _budget(state.work[id_]) for id_ in state.budgeted}
    blocked = _refused_until_trial(state, request)
    by_amounts = candidates if blocked is None else candidates & ~blocked
    found = find_victims(
        state.cluster,
        by_amounts,
        request.column,
        count,
        eligible,
        now,
        budgets,
        slack,
        state.stopping,
        state.victims_table,
    )
    if blocked is None or count > 1 or (found is not None and not found.tasks):
        return found
    evaluator = state.pipelines[request.shape.profile].evaluator
    state.victims_table.refresh()
    there = candidates & blocked
    pool = VictimPool(state.victims_table, there, request.column, eligible, now, budgets, slack, state.stopping)
    tried = TrialSearch(pool, evaluator, request, state.stopping).run()
    return min((one for one in (found, tried) if one is not None), key=lambda one: one.cost, default=None)


def _refused_until_trial(state: EngineState, request: Request) -> B1 | None:
    """Nodes whose victims amounts do not tell, because a filter looks at something else."""
    return state.pipelines[request.shape.profile].evaluator.refused_until_trial(request, View(state.cluster))


def clearing(request: Request, victims: Victims) -> PreemptionPlan:
    """Room for tasks that all ask for the same."""
    kept = tuple((row, request.column * len(list(same))) for row, same in groupby(victims.placements))
    return PreemptionPlan(victims.tasks, kept, victims.cost)


def preempt(state: EngineState, work: Work, clearing: PreemptionPlan, now: float) -> list[Command]:
    """Tell the victims, and keep the room for the work. Who was promised room there and has less right to it has to
    look for other room."""
    commands: list[Command] = []
    why = f"preempted by {work.name} (workload {work.id})"
    for task in clearing.tasks:
        commands += stop_task(state, state.work[task.workload], task, why, evicting=True, word=PREEMPTING)
    state.changes.preempted += len(clearing.tasks)
    rows = {row for row, _ in clearing.kept}
    for owner in list(_promised_on(state, rows, work.id)):
        state.promises.withdraw(owner)
        state.pending.enqueue(state.work[owner])
    if not any(is_being_cleared(state, row) for row in rows):
        state.wake.dirty_rows.update(rows)  # nothing to wait for
    run_s = state.expected_s(work)
    end = NEVER if run_s is None else now + run_s
    state.promises.make(work.id, Promise(work.name, now, end, clearing.kept, clearing=True))
    return commands


def victims_in_words(state: EngineState, tasks: tuple[TaskId, ...]) -> str:
    """`3 tasks: web.0, web.1 and 1 more`."""
    names = [f"{state.work[task.workload].name}.{task.replica}" for task in tasks[:_NAMED]]
    more = f" and {len(tasks) - _NAMED} more" if len(tasks) > _NAMED else ""
    return f"{len(tasks)} task{'' if len(tasks) == 1 else 's'}: {', '.join(names)}{more}"


def _amounts(shape: Shape, count: int) -> Amounts:
    return {name: amount * count for name, amount in shape.amounts}


def _reclaimable(state: EngineState, claim: PreemptionRequest) -> set[int]:
    if not state.router.queues.shared_out:
        return set()
    return state.accounts.quotas.reclaimable_from(claim.queue, _amounts(claim.shape, claim.count))


def _guaranteed(state: EngineState, claim: PreemptionRequest) -> set[int]:
    """Queues that use no more than they were guaranteed. Who would borrow takes nothing from them, however urgent: they
    would only take it back."""
    if not state.router.queues.shared_out:
        return set()
    borrowed = state.accounts.quotas.borrowing.borrowed
    return {
        leaf
        for leaf in state.router.queues.leaves()
        for level, asked in _guarantees(state, claim.shape, leaf, claim.queue)
        if not asked & borrowed(level).keys() and not _is_entitled(state, claim.queue, claim.shape, claim.count, leaf)
    }


def _overdrawn(
    state: EngineState, claim: PreemptionRequest, victims: tuple[TaskId, ...], reclaim: set[int]
) -> set[int]:
    """Queues of which so much would be taken that a victim would be within its guarantee and take it back."""
    if not state.router.queues.shared_out:
        return set()
    taken: dict[int, list[Amounts]] = {}
    for task in victims:
        work = state.work[task.workload]
        if work.queue not in reclaim:
            taken.setdefault(work.queue, []).append(dict(work.shape.amounts))
    return {queue for queue, amounts in taken.items() if _is_too_much(state, claim, queue, amounts)}


def _is_too_much(state: EngineState, claim: PreemptionRequest, queue: int, taken: list[Amounts]) -> bool:
    if _is_entitled(state, claim.queue, claim.shape, claim.count, queue):
        return False
    for level, asked in _guarantees(state, claim.shape, queue, claim.queue):
        borrowed = state.accounts.quotas.borrowing.borrowed(level)
        for name in asked:
            parts = [amounts.get(name, 0) for amounts in taken]
            if any(parts) and sum(parts) - min(parts) >= borrowed.get(name, 0):
                return True
    return False


def _guarantees(state: EngineState, shape: Shape, queue: int, other: int) -> Iterator[tuple[int, set[str]]]:
    """The levels of a queue's branch that are guaranteed something that is asked for, up to where it meets that of the
    other queue."""
    tree = state.router.queues
    asked = {name for name, amount in shape.amounts if amount}
    for level in tree[queue].lineage:
        if level not in tree[other].lineage and (guaranteed := asked & tree[level].guaranteed.keys()):
            yield level, guaranteed


def _is_entitled(state: EngineState, queue: int, shape: Shape, count: int, over: int) -> bool:
    """Would the queue be within a guarantee with so much more that the other queue has no part in?"""
    if not state.router.queues.shared_out:
        return False
    amounts, tree = _amounts(shape, count), state.router.queues
    return any(
        all(
            state.accounts.usage.used(level).get(name, 0) + amounts[name] <= tree[level].guaranteed[name]
            for name in asked
        )
        for level, asked in _guarantees(state, shape, queue, over)
    )


def _candidates(state: EngineState, claim: PreemptionRequest, request: Request, now: float) -> B1:
    """Rows that pass every filter but room, and that are promised to nobody with as much right to them."""
    evaluator = state.pipelines[claim.shape.profile].evaluator
    view = View(state.cluster)
    found = evaluator.run_filters(request, view).feasible_ignoring_capacity.copy()
    found &= _tells_by_amounts(evaluator, request, view)
    for owner, promise in state.promises.of_work.items():
        if owner != claim.work and not _yields(state, state.work[owner], claim):
            found[[row for row, _ in promise.rows]] = False
    work = state.work.get(claim.work)
    run_s = None if work is None else state.expected_s(work)
    reserved = state.promises.rows_reserved(
        "" if work is None else work.namespace, now, NEVER if run_s is None else now + run_s
    )
    found[sorted(reserved)] = False
    return found


def _tells_by_amounts(evaluator: Evaluator, request: Request, view: View) -> B1 | bool:
    """All nodes but those with room for a task by every amount, and none by their GPUs one by one: who is in the way
    there amounts do not tell, and nobody would be found who has to go."""
    found: B1 | bool = True
    for plugin in evaluator.misled_by_amounts:
        whole, _ = evaluator.mask(plugin, request, view)
        if whole is not True:
            enough, _ = evaluator.mask(evaluator.resources, request, view)
            found = found & np.logical_or(whole, np.logical_not(enough))
    return found


def _yields(state: EngineState, owner: Work, claim: PreemptionRequest) -> bool:
    """May the claim have room that was promised to another? Only if it is more urgent and the owner does not take what
    it is guaranteed: else three could take the same room from one another in turn, for ever."""
    if claim.rank > LAST_TO_PREEMPT or claim.rank >= owner.rank:
        return False
    return not state.accounts.quotas.entitled(owner.queue, _amounts(owner.shape, max(1, owner.gang_short)))


def _promised_on(state: EngineState, rows: set[int], but_to: int) -> Iterator[int]:
    """Who was promised room on any of the rows."""
    found = {owner for row in rows for owner in state.promises.on_row(row)} - {but_to}
    return iter(sorted(found))


def _slack(work: Work) -> int:
    return max(0, work.holding - work.stopping + work.succeeded - work.terms.gang_min)


def _budget(work: Work) -> int:
    unavailable = len(work.waiting) + len(work.delayed) + work.stopping
    return max(0, work.terms.max_unavailable - unavailable)
