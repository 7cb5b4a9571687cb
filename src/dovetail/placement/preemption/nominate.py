"""Preemption for one pod as kube-scheduler does it: a node, and its victims among the pods of lower priority.

On each node all pods of lower priority are removed. If the pod then fits, they are reprieved one by one, the most
important first, as long as it still fits; the rest are victims. Pods whose disruption budget would be violated are
reprieved before all others. The node whose victims compare best (`nomination`) is nominated.

Guarantees: pure; the cluster is not changed. The answer is kube-scheduler's, if it looked at all nodes and no victim is
in a gang; a gang goes as a whole if it cannot go on (`victim_gangs`), which kube-scheduler does not know. Where amounts
alone decide, one pass over arrays of all tasks finds it (`reprieve`); otherwise trials do (`reprieve_trials`).
Leaves to others: stopping the victims, and keeping the capacity.
"""

from collections.abc import Sequence
from weakref import WeakKeyDictionary

import numpy as np

from dovetail.cluster.arrays import B1
from dovetail.cluster.state import Cluster
from dovetail.cluster.views.view import View
from dovetail.model.disruption_budget import DisruptionBudget
from dovetail.placement.contract import Request
from dovetail.placement.pipeline.evaluation import Evaluator
from dovetail.placement.preemption.nomination import Budgets, NominatedPlacements, Nomination, Preemptor
from dovetail.placement.preemption.reprieve import ReprieveCache
from dovetail.placement.preemption.reprieve_trials import Trials
from dovetail.placement.preemption.victim_gangs import VictimGangs
from dovetail.placement.preemption.victim_table import VictimTable

_CACHES: WeakKeyDictionary[VictimTable, ReprieveCache] = WeakKeyDictionary()


def nominate(
    cluster: Cluster,
    victim_table: VictimTable,
    evaluator: Evaluator,
    request: Request,
    priority: int,
    budgets: Sequence[DisruptionBudget] = (),
    coming: NominatedPlacements | None = None,
    candidates: B1 | None = None,
    gangs: VictimGangs | None = None,
) -> Nomination | None:
    """The node whose victims compare best; None if preemption helps nowhere. Keep `victim_table` from call to call.
    `candidates`: nodes that lack nothing but capacity, where that is known."""
    if gangs is not None:
        victim_table.refresh()
    pod = Preemptor(request, priority, Budgets(budgets), coming or NominatedPlacements(), gangs)
    trials = Trials(cluster, evaluator, pod)
    if request.non_local or evaluator.refused_until_trial(request, View(cluster)) is not None:
        best = trials.best(np.flatnonzero(trials.candidates()))
        return None if best is None else best.nomination
    if candidates is None:
        candidates = evaluator.run_filters(request, View(cluster)).feasible_ignoring_capacity
    candidates = candidates.copy()
    # Of nominated pods only their amounts matter, unless one of them repels others.
    special = np.array([row for row in sorted(pod.coming.repelling_rows) if candidates[row]], dtype=np.intp)
    candidates[special] = False
    victim_table.refresh()
    found = [_reprieves(victim_table).best(pod, candidates), trials.best(special)]
    best = min([one for one in found if one is not None], default=None)
    return None if best is None else best.nomination


def _reprieves(victim_table: VictimTable) -> ReprieveCache:
    found = _CACHES.get(victim_table)
    if found is None:
        found = _CACHES[victim_table] = ReprieveCache(victim_table)
    return found
