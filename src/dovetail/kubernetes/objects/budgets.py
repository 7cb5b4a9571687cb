"""Pod disruption budgets, as preemption needs them."""

from collections.abc import Iterable, Mapping

from dovetail.kubernetes.objects.selectors import label_term
from dovetail.kubernetes_client.objects import Json, NamespacedName
from dovetail.model.disruption_budget import DisruptionBudget
from dovetail.model.requests.asks import Selector
from dovetail.model.task import TaskId


def read_budgets(budgets: Iterable[Json], tasks: Mapping[NamespacedName, TaskId]) -> list[DisruptionBudget]:
    """`tasks`: the engine's task of each pod, by namespace and name. A budget with no selector, or an empty one,
    protects no pod from preemption."""
    found = []
    for budget in budgets:
        meta, status = budget["metadata"], budget.get("status") or {}
        term = label_term((budget.get("spec") or {}).get("selector"))
        if not term:
            continue
        going = [tasks.get((meta["namespace"], name)) for name in status.get("disruptedPods") or ()]
        exempt = frozenset([task for task in going if task is not None])
        whom = Selector((meta["namespace"],), term=term)
        found.append(DisruptionBudget(whom, status.get("disruptionsAllowed") or 0, exempt))
    return found
