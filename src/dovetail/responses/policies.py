"""Answers about policies, constraints and the node affinity of services."""

from typing import Any, NotRequired

from typing_extensions import TypedDict


class PolicyRule(TypedDict):
    """An adjustment. `then`: its effect while it is `on`; `values`: what its condition read when it began."""

    when: str
    until: str | None
    then: str
    on: bool
    since: float | None
    values: str


class ConstraintInForce(TypedDict):
    """A constraint as it counts now. `demand`: require, prefer, avoid or off; `asked`: what was written; `because`: why
    they differ, otherwise empty."""

    field: str
    name: str | None
    expression: str
    asked: str
    demand: str
    weight: float | None
    priority: int | None
    because: str
    since: float | None
    adjust: list[PolicyRule]


class PolicyAttachments(TypedDict):
    """Patterns of namespaces; services and workloads as `NAME` (in every namespace) or `NAMESPACE/NAME`."""

    namespaces: list[str]
    services: list[str]
    workloads: list[str]


class PolicyDetail(TypedDict):
    """`workloads`: how many unfinished ones it applies to. `definition`: the body that sets it."""

    name: str
    version: int
    set_at: float
    description: str
    applies_to: PolicyAttachments
    in_force: list[ConstraintInForce]
    affinity: int
    spread: int
    conflicts: int
    workloads: int
    definition: dict[str, Any]


class ViolationRow(TypedDict):
    """A task that runs on a node where a policy does not allow it now."""

    workload: int
    replica: int
    namespace: str
    name: str
    node: str
    why: str


class PolicyEffect(TypedDict):
    """Of a change. `changed` False: it had this content before. `reconsidered`: pending workloads that the scheduler
    reconsiders. `violations`: the first of the `violating` tasks."""

    changed: bool
    reconsidered: int
    violating: int
    violations: list[ViolationRow]


class ChangedPolicy(PolicyDetail, PolicyEffect):
    """A policy, and the effect of its change."""


class PolicyVersion(TypedDict):
    """`changed`: fields that differ from the version before. `definition` None: this version `removed` the policy."""

    name: str
    version: int
    at: float
    author: str
    note: str
    definition: dict[str, Any] | None
    removed: bool
    changed: list[str]


class FailingNode(TypedDict):
    node: str
    why: str


class SatisfyingNodes(TypedDict):
    satisfying: int
    of: int
    failing: list[FailingNode]


class CheckedConstraint(TypedDict):
    """If not `ok`, only `error` and `caret` are present. `structure` None: no structure can express the text."""

    ok: bool
    error: NotRequired[str]
    caret: NotRequired[str]
    text: NotRequired[str]
    structure: NotRequired[dict[str, Any] | None]
    reads: NotRequired[list[str]]
    nodes: NotRequired[SatisfyingNodes]


class ServiceAffinityRow(TypedDict):
    """`kind`: affinity or antiaffinity. `policy`: the policy that keeps it. `warnings`: names that no node has."""

    namespace: str
    service: str
    kind: str
    nodes: list[str]
    required: bool
    policy: str
    version: int
    set_at: float
    workloads: int
    warnings: list[str]


class ChangedAffinity(ServiceAffinityRow, PolicyEffect):
    """The affinity of a service, and the effect of its change."""
