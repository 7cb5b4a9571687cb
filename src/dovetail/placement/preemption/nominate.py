"""Room for one task of a priority by a whole number, as Kubernetes makes it: on one node, from everyone less urgent.

On each node everyone less urgent is taken away, and if the task then fits they are let back one by one, the most urgent
first, as long as it still does; who may not come back is a victim. Those whose disruption budget would be overrun are
let back before all others. The node whose victims compare best (`nomination`) is nominated.

Guarantees: pure; the cluster is left as it is. Answers are those of kube-scheduler, were it to look at all nodes. Where
amounts alone decide, one pass over arrays of all tasks finds them (`reprieve`); otherwise trials do.
Left to others: telling the victims, and keeping the room.
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
from dovetail.placement.preemption.kept_reprieves import Reprieves
from dovetail.placement.preemption.nomination import Budgets, NominatedPlacements, Nomination
from dovetail.placement.preemption.reprieve_trials import Trials
from dovetail.placement.preemption.victim_table import VictimTable

_KEPT: WeakKeyDictionary[VictimTable, Reprieves] = WeakKeyDictionary()


def nominate(
    cluster: Cluster,
    victims_table: VictimTable,
    evaluator: Evaluator,
    request: Request,
    priority: int,
    budgets: Sequence[DisruptionBudget] = (),
    coming: NominatedPlacements | None = None,
    candidates: B1 | None = None,
) -> Nomination | None:
    """The node where it costs least to make room for one task, and who has to go; None: nowhere does that help. Keep
    `victims_table` from call to call. `candidates`: nodes that lack room at most, where that is known."""
    coming, asked = coming or NominatedPlacements(), Budgets(budgets)
    trials = Trials(cluster, evaluator, request, priority, asked, coming)
    if request.non_local:
        best = trials.best(np.flatnonzero(trials.candidates()))
        return None if best is None else best.nomination
    if candidates is None:
        candidates = evaluator.run_filters(request, View(cluster)).feasible_ignoring_capacity
    candidates = candidates.copy()
    # Of who is to come amounts alone matter, unless it would keep the task away.
    special = np.array([row for row in sorted(coming.wary) if candidates[row]], dtype=np.intp)
    candidates[special] = False
    victims_table.refresh()
    found = [_reprieves(victims_table).best(request, candidates, priority, asked, coming), trials.best(special)]
    standing = min([one for one in found if one is not None], default=None)
    return None if standing is None else standing.nomination


def _reprieves(victims_table: VictimTable) -> Reprieves:
    found = _KEPT.get(victims_table)
    if found is None:
        found = _KEPT[victims_table] = Reprieves(victims_table)
    return found
