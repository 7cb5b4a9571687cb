"""Which policies there are, what they apply to, and what contradicts them."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from dovetail.cluster.arrays import B1
from dovetail.cluster.views.view import View
from dovetail.constraints.error import ExpressionError
from dovetail.constraints.programs.program import compile_node, why_not
from dovetail.engine.policies.policy_changes import describe_adjustment, workloads_naming
from dovetail.engine.policies.validation import problems_of_policy
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.policies import AppliedPolicy, RuleKey
from dovetail.engine.state.work import Work
from dovetail.model.policy import Policy
from dovetail.model.task import TaskId
from dovetail.model.text.complaint import Complaint

__all__ = ["AppliedPolicy", "PolicyQuestions", "PolicyViolation", "RuleKey", "describe_adjustment"]


@dataclass(frozen=True, slots=True)
class PolicyViolation:
    task: TaskId
    namespace: str
    workload: str
    node: str
    why: str


class PolicyQuestions:
    def __init__(self, state: EngineState) -> None:
        self._state, self._policies = state, state.policies

    @property
    def by_name(self) -> Mapping[str, AppliedPolicy]:
        """By name, sorted."""
        return self._policies.by_name

    def next_version(self, name: str) -> int:
        return self._policies.next_version(name)

    @staticmethod
    def complaints(policy: Policy) -> list[Complaint]:
        """Every expression of the policy that is invalid."""
        return problems_of_policy(policy)

    def violations(self, name: str) -> list[PolicyViolation]:
        """Tasks on nodes that do not meet a requirement of the policy now, by workload and replica. Nothing is stopped
        for it. Preferences, affinity and spread apply only when a task is placed. Raises KeyError for an unknown
        policy."""
        view = View(self._state.cluster)
        required = [_Requirement(want.text, view) for want in self.by_name[name].requires()]
        found: list[PolicyViolation] = []
        for work in self._state.work.values() if required else ():
            if not work.holding or name not in self._applying(work):
                continue
            for replica, live in sorted(work.tasks.items()):
                if live.node is None or not live.state.holds_node:
                    continue
                row = self._state.cluster.rows[live.node]
                against = [why for one in required if (why := one.why_not(work.namespace, row))]
                if against:
                    task = TaskId(work.id, replica)
                    found.append(PolicyViolation(task, work.namespace, work.name, live.node, "; ".join(against)))
        return found

    def workloads_naming(self, name: str) -> list[str]:
        """Live workloads that ask for the policy by name, as `namespace/name`."""
        return workloads_naming(self._state, name)

    def reach(self) -> Counter[str]:
        """By policy: how many live workloads it applies to."""
        found = Counter[str]()
        for work in self._state.work.values() if self._policies else ():
            found.update(self._applying(work))
        return found

    def _applying(self, work: Work) -> Iterable[str]:
        return self._policies.applying(work.namespace, work.shape.service, work.name, work.terms.policies)


class _Requirement:
    """A required expression, evaluated once for each namespace."""

    def __init__(self, text: str, view: View) -> None:
        self._text, self._view = text, view
        self._masks: dict[str, B1] = {}

    def why_not(self, namespace: str, row: int) -> str:
        """Empty if the expression holds on the row."""
        try:
            program = compile_node(self._text)
        except ExpressionError as error:  # stored by a version that could compile it
            return str(error)
        if namespace not in self._masks:
            self._masks[namespace] = np.broadcast_to(program.holds(self._view, namespace), self._view.size)
        return "" if self._masks[namespace][row] else why_not(program, self._view, namespace, row)
