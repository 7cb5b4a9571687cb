"""The rules of preemption: who may preempt whom, stopping the victims, and keeping their capacity for the preemptor.

More urgent work may preempt less urgent work, and a queue within its guarantee may reclaim what other queues borrow.
The victims are stopped; their capacity is promised to the preemptor until they are gone. Leaves to others: when to
preempt (`displacing`), and the search itself (`placement.preemption`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from dovetail.cluster.arrays import B1, F8
from dovetail.cluster.horizon import NEVER
from dovetail.cluster.placements import VictimInfo
from dovetail.cluster.views.view import View
from dovetail.engine.backfill.backfilling import is_being_cleared
from dovetail.engine.lifecycle.task_lifecycle import stop_task
from dovetail.engine.promises.promises import Promise
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.live_task import PREEMPTING
from dovetail.engine.state.work import Work
from dovetail.model.command import Command
from dovetail.model.requests.shape import Shape
from dovetail.model.resources import Amounts
from dovetail.model.task import TaskId
from dovetail.model.workloads.workload import Priority
from dovetail.placement.contract import Request
from dovetail.placement.pipeline.evaluation import Evaluator
from dovetail.placement.preemption.cost import Cost
from dovetail.placement.preemption.pool import Eligible, VictimPool
from dovetail.placement.preemption.search import find_victims
from dovetail.placement.preemption.single import TrialSearch
from dovetail.placement.preemption.victim_ledger import Victims
from dovetail.placement.preemption.victim_table import VictimArrays

#: The least urgent class that may preempt.
LAST_TO_PREEMPT = Priority.MEDIUM.rank


@dataclass(frozen=True, slots=True)
class PreemptionRequest:
    """Who asks for capacity: its rank, its queue, and how many tasks must fit at once."""

    shape: Shape
    rank: int
    queue: int
    count: int
    work: int = -1


class PreemptionPlan(NamedTuple):
    """The victims, the capacity that is then kept for the preemptor by row, and the cost. `members`: the row of each
    workload of a gang of pods."""

    tasks: tuple[TaskId, ...]
    kept: tuple[tuple[int, F8], ...]
    cost: Cost
    members: Mapping[int, int] = MappingProxyType({})


def may_displace(state: EngineState, shape: Shape, rank: int) -> bool:
    """A quick check: could there be any victim at all?"""
    settings = state.pipelines[shape.profile].settings
    if not settings.preemption:
        return False
    if settings.victims == "kubernetes":
        return bool(state.cluster.placements.by_task)  # priorities are whole numbers there: only a search can tell
    below = rank <= LAST_TO_PREEMPT and any(state.cluster.placements.by_rank[rank + 1 :])
    return below or bool(state.router.queues.shared_out)


class PreemptionRights(NamedTuple):
    """What decides whom work may preempt. Left to the search: budgets, guarantees, and whether it helps."""

    rank: int
    priority: int | None  # None: priorities are classes, not whole numbers
    reclaims_for: int | None  # its queue, if queues may reclaim what others borrow

    @classmethod
    def of(cls, state: EngineState, work: Work) -> "PreemptionRights":
        by_number = state.pipelines[work.shape.profile].settings.victims == "kubernetes"
        queue = work.queue if state.router.queues.shared_out else None
        return cls(work.rank, (work.terms.priority or 0) if by_number else None, queue)

    def may_evict(self, victim: VictimInfo) -> bool:
        if self.priority is not None:
            return victim.priority < self.priority
        is_below = self.rank <= LAST_TO_PREEMPT and victim.rank > self.rank
        reclaims = self.reclaims_for is not None and victim.queue != self.reclaims_for
        return victim.preemptible and (is_below or reclaims)


def plan_preemption(
    state: EngineState, claim: PreemptionRequest, now: float, request: Request
) -> PreemptionPlan | None:
    """The cheapest victims that make the claim fit; None if there are none or that does not help."""
    # Do not count stopping tasks as usage while guarantees are checked. Otherwise several preemptors could each
    # reclaim what one of them reclaimed already, and the queue would take it back in turn.
    going = [state.work[task.workload] for task in state.stopping] if state.router.queues.shared_out else []
    with state.accounts.usage.without([work.held for work in going]):
        victims = _find_victims(state, claim, request, now)
    if victims is None:
        return None
    kept = tuple((row, request.column * len(list(same))) for row, same in groupby(victims.placements))
    return PreemptionPlan(victims.tasks, kept, victims.cost)


def _find_victims(state: EngineState, claim: PreemptionRequest, request: Request, now: float) -> Victims | None:
    has_guarantees = bool(state.router.queues.shared_out)
    asked = _amounts(claim.shape, claim.count)
    reclaim = state.accounts.quotas.reclaimable_from(claim.queue, asked) if has_guarantees else set()
    if claim.rank > LAST_TO_PREEMPT and not reclaim:
        return None
    candidates = _candidates(state, claim, request, now)
    if not candidates.any():
        return None
    spared = _guaranteed(state, claim) if has_guarantees else set()

    def eligible(victim_table: VictimArrays) -> B1:
        found: B1 = (victim_table.rank > claim.rank) & (claim.rank <= LAST_TO_PREEMPT)
        if spared:
            found &= ~np.isin(victim_table.queue, sorted(spared))
        if reclaim:
            found |= np.isin(victim_table.queue, sorted(reclaim))
        found &= victim_table.group != claim.work  # its own tasks may have been placed with a lower priority
        return found & victim_table.preemptible

    while True:
        victims = cheapest_victims(state, candidates, request, claim.count, eligible, now)
        if victims is None or not has_guarantees or not (overdrawn := _overdrawn(state, claim, victims.tasks, reclaim)):
            break
        spared |= overdrawn
    if victims is None or victims.tasks:
        return victims
    # No victims: tasks are stopping there already, or only a promise was in the way, or capacity was not the reason.
    rows = set(victims.placements)
    going = any(is_being_cleared(state, row) for row in rows)
    return victims if going or _promised_on(state, rows, claim.work) else None


def needs_trial(state: EngineState, request: Request) -> bool:
    """Must a trial show that the tasks fit once the victims are gone? Amounts do not cover affinity or single GPUs."""
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
    """The cheapest of the eligible tasks, given the present disruption budgets and gangs."""
    slack = {group.id: group.slack for group in state.groups.all()}
    budgets = {id_: max(0, state.work[id_].disruptions_left) for id_ in state.budgeted}
    blocked = _refused_until_trial(state, request)
    by_amounts = candidates if blocked is None else candidates & ~blocked
    limits = (eligible, now, budgets, slack, state.stopping)
    found = find_victims(state.cluster, by_amounts, request.column, count, *limits, state.victim_table)
    if blocked is None or count > 1 or (found is not None and not found.tasks):
        return found
    evaluator = state.pipelines[request.shape.profile].evaluator
    state.victim_table.refresh()
    pool = VictimPool(state.victim_table, candidates & blocked, request.column, *limits)
    tried = TrialSearch(pool, evaluator, request, state.stopping).run()
    return min((one for one in (found, tried) if one is not None), key=lambda one: one.cost, default=None)


def _refused_until_trial(state: EngineState, request: Request) -> B1 | None:
    """Nodes that a filter refuses for other reasons than amounts, so only a trial can find the victims."""
    return state.pipelines[request.shape.profile].evaluator.refused_until_trial(request, View(state.cluster))


def preempt(state: EngineState, work: Work, clearing: PreemptionPlan, now: float, why: str = "") -> list[Command]:
    """Stop the victims and promise their capacity to the work. Others that were promised capacity on these rows lose
    it and are queued again."""
    commands: list[Command] = []
    why = why or f"preempted by {work.shown_name}{'' if work.is_pod else f' (workload {work.id})'}"
    for task in clearing.tasks:
        commands += stop_task(state, task, why, PREEMPTING)
    state.changes.preempted += len(clearing.tasks)
    rows = {row for row, _ in clearing.kept}
    for owner in _promised_on(state, rows, work.id):
        state.promises.withdraw(owner)
        state.pending.enqueue(state.work[owner])
    if not any(is_being_cleared(state, row) for row in rows):
        state.wake.dirty_rows.update(rows)  # no victim to wait for
    end = state.expected_end(work, now)
    state.promises.make(
        work.id, Promise(work.shown_name, now, end, clearing.kept, clearing=True, members=clearing.members)
    )
    return commands


def _amounts(shape: Shape, count: int) -> Amounts:
    return {name: amount * count for name, amount in shape.amounts}


def _guaranteed(state: EngineState, claim: PreemptionRequest) -> set[int]:
    """Queues that use no more than their guarantee. Work that would borrow takes nothing from them, however urgent:
    they would only reclaim it."""
    quotas, amounts = state.accounts.quotas, _amounts(claim.shape, claim.count)
    return {
        leaf
        for leaf in state.router.queues.leaves()
        for level, asked in _guarantees(state, claim.shape, leaf, claim.queue)
        if not asked & quotas.borrowing.borrowed(level).keys() and not quotas.entitled(claim.queue, amounts, over=leaf)
    }


def _overdrawn(
    state: EngineState, claim: PreemptionRequest, victims: tuple[TaskId, ...], reclaim: set[int]
) -> set[int]:
    """Queues that would lose so much that a victim is within its guarantee and would reclaim it."""
    taken: dict[int, list[Amounts]] = {}
    for task in victims:
        work = state.work[task.workload]
        if work.queue not in reclaim:
            taken.setdefault(work.queue, []).append(dict(work.shape.amounts))
    return {queue for queue, amounts in taken.items() if _is_too_much(state, claim, queue, amounts)}


def _is_too_much(state: EngineState, claim: PreemptionRequest, queue: int, taken: list[Amounts]) -> bool:
    if state.accounts.quotas.entitled(claim.queue, _amounts(claim.shape, claim.count), over=queue):
        return False
    for level, asked in _guarantees(state, claim.shape, queue, claim.queue):
        borrowed = state.accounts.quotas.borrowing.borrowed(level)
        for name in asked:
            parts = [amounts.get(name, 0) for amounts in taken]
            if any(parts) and sum(parts) - min(parts) >= borrowed.get(name, 0):
                return True
    return False


def _guarantees(state: EngineState, shape: Shape, queue: int, other: int) -> Iterator[tuple[int, set[str]]]:
    """Ancestors of a queue that guarantee a requested resource, up to the first it shares with the other queue."""
    tree = state.router.queues
    asked = {name for name, amount in shape.amounts if amount}
    for level in tree[queue].lineage:
        if level not in tree[other].lineage and (guaranteed := asked & tree[level].guaranteed.keys()):
            yield level, guaranteed


def _candidates(state: EngineState, claim: PreemptionRequest, request: Request, now: float) -> B1:
    """Rows that pass every filter but capacity, and are not promised to work that keeps its promise."""
    evaluator = state.pipelines[claim.shape.profile].evaluator
    view = View(state.cluster)
    found = evaluator.run_filters(request, view).feasible_ignoring_capacity.copy()
    found &= _tells_by_amounts(evaluator, request, view)
    for owner, promise in state.promises.of_work.items():
        if owner != claim.work and not _yields(state, state.work[owner], claim):
            found[[row for row, _ in promise.rows]] = False
    work = state.work.get(claim.work)
    namespace, end = ("", NEVER) if work is None else (work.namespace, state.expected_end(work, now))
    found[sorted(state.promises.rows_reserved(namespace, now, end))] = False
    return found


def _tells_by_amounts(evaluator: Evaluator, request: Request, view: View) -> B1 | bool:
    """All nodes but those where amounts fit and single GPUs do not: there the search by amounts finds no victims."""
    found: B1 | bool = True
    for plugin in evaluator.misled_by_amounts:
        whole, _ = evaluator.mask(plugin, request, view)
        if whole is not True:
            enough, _ = evaluator.mask(evaluator.resources, request, view)
            found = found & np.logical_or(whole, np.logical_not(enough))
    return found


def _yields(state: EngineState, owner: Work, claim: PreemptionRequest) -> bool:
    """May the claim take capacity that was promised to the owner? Only if it is more urgent and the owner is not
    entitled to it by a guarantee: else three could take the same capacity from one another endlessly."""
    if claim.rank > LAST_TO_PREEMPT or claim.rank >= owner.rank:
        return False
    return not state.accounts.quotas.entitled(owner.queue, _amounts(owner.shape, max(1, owner.gang_short)))


def _promised_on(state: EngineState, rows: set[int], but_to: int) -> list[int]:
    """Workloads, except `but_to`, that were promised capacity on any of the rows."""
    return sorted({owner for row in rows for owner in state.promises.on_row(row)} - {but_to})
