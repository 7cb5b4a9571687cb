"""Pod disruption budgets as the search for victims needs them."""

from collections.abc import Iterable, Mapping
from typing import Any

from dovetail.kubernetes.selectors import label_term
from dovetail.model.requests.asks import Selector
from dovetail.model.task import TaskId
from dovetail.placement.preemption.nomination import Budget

Json = Mapping[str, Any]


def read_budgets(budgets: Iterable[Json], tasks: Mapping[tuple[str, str], TaskId]) -> list[Budget]:
    """`tasks`: by namespace and name of a pod, as what the engine knows it. A budget without a selector, or with an
    empty one, protects nobody from preemption."""
    found = []
    for budget in budgets:
        meta, status = budget["metadata"], budget.get("status") or {}
        term = label_term((budget.get("spec") or {}).get("selector"))
        if not term:
            continue
        going = [tasks.get((meta["namespace"], name)) for name in status.get("disruptedPods") or ()]
        exempt = frozenset([task for task in going if task is not None])
        whom = Selector((meta["namespace"],), term=term)
        found.append(Budget(whom, status.get("disruptionsAllowed") or 0, exempt))
    return found
