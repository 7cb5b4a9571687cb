"""Lists running tasks that violate a policy. Nothing is stopped for it.

The expressions that the policy requires now are evaluated on the nodes as they are now. Unmet preferences are no
violations. Affinity and spread rules are not checked: they apply only when a task is placed.
"""

from dataclasses import dataclass

import numpy as np

from dovetail.cluster.arrays import B1
from dovetail.cluster.views.view import View
from dovetail.constraints.error import ExpressionError
from dovetail.constraints.programs.program import compile_node, why_not
from dovetail.engine.state.engine_state import EngineState
from dovetail.model.task import TaskId


@dataclass(frozen=True, slots=True)
class PolicyViolation:
    task: TaskId
    namespace: str
    workload: str
    node: str
    why: str


def violations(state: EngineState, policy: str) -> list[PolicyViolation]:
    """Tasks on nodes that do not meet a requirement of the policy now, by workload and replica."""
    view = View(state.cluster)
    required = [_Requirement(want.text, view) for want in state.policies.by_name[policy].requires()]
    found: list[PolicyViolation] = []
    if not required:
        return found
    for work in state.work.values():
        applying = state.policies.applying(work.namespace, work.shape.service, work.name, work.terms.policies)
        if not work.holding or policy not in applying:
            continue
        for replica, live in sorted(work.tasks.items()):
            if not live.state.holds_node or live.node is None:
                continue
            row = state.cluster.rows[live.node]
            against = [why for one in required if (why := one.why_not(work.namespace, row))]
            if against:
                task = TaskId(work.id, replica)
                found.append(PolicyViolation(task, work.namespace, work.name, live.node, "; ".join(against)))
    return found


class _Requirement:
    """A required expression, evaluated once for each namespace."""

    def __init__(self, text: str, view: View) -> None:
        self._text, self._view = text, view
        self._masks: dict[str, B1 | bool] = {}

    def why_not(self, namespace: str, row: int) -> str:
        """Empty if the expression holds on the row."""
        try:
            program = compile_node(self._text)
        except ExpressionError as error:  # stored by a version that could compile it
            return str(error)
        if namespace not in self._masks:
            self._masks[namespace] = program.holds(self._view, namespace)
        mask = self._masks[namespace]
        holds = mask if isinstance(mask, bool) else bool(np.asarray(mask)[row])
        return "" if holds else why_not(program, self._view, namespace, row)
