"""Affinity and anti-affinity of a service to nodes, stored as policies that are attached to the service.

A rule prefers (or avoids) the named nodes; with `required` it requires (or forbids) them. Unknown node names are kept,
since the node may join later. Everything else is done by policies.
"""

import json
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field

from dovetail.control.errors import Conflict, NotFound
from dovetail.control.services.policies import PolicyChange, PolicyService
from dovetail.engine.questions.policy_questions import AppliedPolicy
from dovetail.model.policy import Policy
from dovetail.model.text.complaint import Complaint, Invalid
from dovetail.model.text.strict import MAX_NAME, NodeName, Strict, check_name
from dovetail.model.workloads.constraint import ConstraintKind

_NODES = re.compile(r'!?\(?node\.name in (\["[A-Za-z0-9._-]+"(?:, "[A-Za-z0-9._-]+")*\])\)?')


class Side(StrEnum):
    AFFINITY = "affinity"
    ANTI = "antiaffinity"


class NodeRule(Strict):
    """The nodes that a service should be on (or should not); with `required` it must (or must not)."""

    nodes: Annotated[list[NodeName], Field(min_length=1, max_length=1000)]
    required: bool = False


@dataclass(frozen=True, slots=True)
class ServiceRule:
    namespace: str
    service: str
    side: Side
    nodes: list[str]
    required: bool
    ruling: AppliedPolicy


class ServiceAffinityService:
    def __init__(self, policies: PolicyService) -> None:
        self._policies = policies

    def all(self) -> list[ServiceRule]:
        """By policy name: affinity of every service, then anti-affinity, by namespace and service."""
        found = [_rule_of(ruling) for ruling in self._policies.all()]
        return sorted((rule for rule in found if rule), key=lambda rule: (rule.namespace, rule.service, rule.side))

    def get(self, namespace: str, service: str, side: Side) -> ServiceRule:
        for rule in self.all():
            if (rule.namespace, rule.service, rule.side) == (namespace, service, side):
                return rule
        raise NotFound(f"service {service[:100]!r} in namespace {namespace[:100]!r} has no {side}")

    async def set(
        self, namespace: str, service: str, side: Side, rule: NodeRule, author: str = ""
    ) -> tuple[ServiceRule, PolicyChange]:
        """Raises Invalid, and Conflict where another policy has taken the name."""
        policy = _policy(namespace, service, side, rule)
        there = self._policies.find(policy.name)
        if there is not None and there.policy.applies_to != policy.applies_to:
            raise Conflict(f"policy {policy.name} is there already and is not about service {namespace}/{service}")
        outcome = await self._policies.set(policy, author)
        found = _rule_of(outcome.ruling)
        assert found is not None, "it was just made"
        return found, outcome

    async def remove(self, namespace: str, service: str, side: Side, author: str = "") -> None:
        await self._policies.remove(self.get(namespace, service, side).ruling.policy.name, author)


def _policy(namespace: str, service: str, side: Side, rule: NodeRule) -> Policy:
    name = f"{side}.{namespace}.{service}"
    try:
        for part in (namespace, service):
            check_name(part)
    except ValueError as error:
        raise Invalid([Complaint("address", None, "service", str(error))]) from None
    if len(name) > MAX_NAME:
        words = f"is too long together with its namespace: {name!r} has more than {MAX_NAME} characters"
        raise Invalid([Complaint("address", None, "service", words)])
    named = f"node.name in {json.dumps(list(dict.fromkeys(rule.nodes)))}"
    if rule.required:
        demand, text = ConstraintKind.REQUIRE, named if side is Side.AFFINITY else f"!({named})"
    else:
        demand, text = ConstraintKind.PREFER if side is Side.AFFINITY else ConstraintKind.AVOID, named
    fields: dict[str, Any] = {
        "name": name,
        "description": f"nodes of service {service} in namespace {namespace}",
        str(demand): text,
        "applies_to": {"services": [f"{namespace}/{service}"]},
    }
    return Policy.model_validate(fields)


def _rule_of(ruling: AppliedPolicy) -> ServiceRule | None:
    """What a policy says of the nodes of one service, if that is all it says."""
    policy = ruling.policy
    side = next((side for side in Side if policy.name.startswith(f"{side}.")), None)
    if side is None or len(ruling.texts) != 1 or len(policy.applies_to.services) != 1:
        return None
    namespace, slash, service = policy.applies_to.services[0].partition("/")
    written = _NODES.fullmatch(ruling.texts[0])
    if not slash or written is None or policy.name != f"{side}.{namespace}.{service}":
        return None
    required = policy.rules[0].kind is ConstraintKind.REQUIRE
    return ServiceRule(namespace, service, side, json.loads(written[1]), required, ruling)
