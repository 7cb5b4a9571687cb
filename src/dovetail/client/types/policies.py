"""What the server answers about policies, constraints and the affinity of services."""

from typing import Any, NotRequired

from typing_extensions import TypedDict


class PolicyRule(TypedDict):
    """An adjustment: `then` says what it does while it is `on`; `values` what its condition looked at when it began."""

    when: str
    until: str | None
    then: str
    on: bool
    since: float | None
    values: str


class ConstraintInForce(TypedDict):
    """A constraint as it counts now: `demand` is require, prefer, avoid or off, `asked` what was written. `because`
    says why they differ, else it is empty."""

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


class Attachments(TypedDict):
    """Patterns of namespaces; services and workloads as `NAME` (in every namespace) or `NAMESPACE/NAME`."""

    namespaces: list[str]
    services: list[str]
    workloads: list[str]


class Policy(TypedDict):
    """`workloads`: unfinished ones that it applies to; `definition` would set it again."""

    name: str
    version: int
    set_at: float
    description: str
    applies_to: Attachments
    in_force: list[ConstraintInForce]
    affinity: int
    spread: int
    conflicts: int
    workloads: int
    definition: dict[str, Any]


class Violation(TypedDict):
    """A task that runs where a policy would not allow it now."""

    workload: int
    replica: int
    namespace: str
    name: str
    node: str
    why: str


class ChangedPolicy(Policy):
    """`changed` False: it was like that already. `reconsidered`: waiting workloads that were looked at again;
    `violations`: the first of `violating` tasks that run against it."""

    changed: bool
    reconsidered: int
    violating: int
    violations: list[Violation]


class PolicyVersion(TypedDict):
    """`changed`: fields that differ from the version before; `definition` None: it was `removed` then."""

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
    """Not `ok`: only `error` and `caret` are there. `structure` None: the text says more than a structure can."""

    ok: bool
    error: NotRequired[str]
    caret: NotRequired[str]
    text: NotRequired[str]
    structure: NotRequired[dict[str, Any] | None]
    reads: NotRequired[list[str]]
    nodes: NotRequired[SatisfyingNodes]


class ServiceAffinity(TypedDict):
    """`kind` is affinity or antiaffinity; `policy` is what it is kept as; `warnings` name nodes that are not there."""

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


class ChangedAffinity(ServiceAffinity):
    changed: bool
    reconsidered: int
    violating: int
    violations: list[Violation]
