"""Which policies there are, what they apply to, and what contradicts them."""

from collections import Counter
from collections.abc import Mapping

from dovetail.engine.policies.adjustments import describe_adjustment
from dovetail.engine.policies.policy_changes import workloads_naming
from dovetail.engine.policies.validation import problems_of_policy
from dovetail.engine.policies.violations import PolicyViolation, violations
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.policies import AppliedPolicy, RuleKey
from dovetail.model.policy import Policy
from dovetail.model.text.complaint import Complaint

__all__ = ["AppliedPolicy", "PolicyQuestions", "PolicyViolation", "RuleKey", "describe_adjustment"]


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
        """Tasks that run where the policy forbids it. Raises KeyError for an unknown policy."""
        return violations(self._state, name)

    def workloads_naming(self, name: str) -> list[str]:
        """Live workloads that ask for the policy by name, as `namespace/name`."""
        return workloads_naming(self._state, name)

    def reach(self) -> Counter[str]:
        """By policy: how many live workloads it applies to."""
        found = Counter[str]()
        if self._policies:
            for work in self._state.work.values():
                applying = self._policies.applying(work.namespace, work.shape.service, work.name, work.terms.policies)
                found.update(applying)
        return found
