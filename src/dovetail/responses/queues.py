"""Answers about the pending queue, the tree of queues, and reservations."""

from typing import NotRequired

from typing_extensions import TypedDict

from dovetail.responses.workloads import PredictedStart


class QueueItem(PredictedStart):
    """`position` None: it waits for other work, its own limit or its next try, not for its turn. `promoted_from`: its
    priority when it was submitted, if waiting has raised it."""

    position: int | None
    id: int
    namespace: str
    name: str
    queue: str
    user: str | None
    priority: str
    promoted_from: str | None
    replicas: int
    pending: int
    waited_s: float
    reason: str
    message: str
    waits_for: str
    preempting: bool


class QueuePage(TypedDict):
    """Some of the workloads that wait. `total`: how many wait in all."""

    items: list[QueueItem]
    total: int


class QueueResource(TypedDict):
    """One resource of one queue. `maximum` None: no limit. `cluster`: capacity of the whole cluster."""

    unit: str
    used: float
    guaranteed: float
    maximum: float | None
    borrowed: float
    cluster: float


class QueueRow(TypedDict):
    """One queue with all queues below it. `dominant`: the resource of which it holds the largest share.
    `share_with_past`: its mean with what was held before, as `fair` counts it; equal to `share` without a half-life."""

    path: str
    name: str
    depth: int
    leaf: bool
    weight: float
    share: float
    share_with_past: NotRequired[float]
    dominant: str | None
    waiting: int
    max_workloads: int | None
    resources: dict[str, QueueResource]
    user_limits: dict[str, float]


class LoanPart(TypedDict):
    queue: str
    amount: float


class LoanRow(TypedDict):
    """Which queues hold more of a resource than their guarantee, and whose guarantee is idle meanwhile."""

    resource: str
    borrowers: list[LoanPart]
    lenders: list[LoanPart]


class TenantRow(TypedDict):
    """`deviation` from the fair share: 0 is exactly fair, -0.5 is half of it, 1 is twice as much."""

    tenant: str
    weight: float
    share: float
    share_with_past: NotRequired[float]
    deviation: float


class QueuesAnswer(TypedDict):
    """Parents come before children. `fair_between`: what counts as a tenant."""

    queues: list[QueueRow]
    loans: list[LoanRow]
    fair_between: str
    tenants: list[TenantRow]


class ReservationRow(TypedDict):
    """The window from `start` to `until` is the present or the next one; it repeats every `every_s` seconds until
    `repeats_until`. `resources`: what is held in all; `nodes`: what on which node; `node`: set if there is only one.
    `tenant` None: no workload may use the capacity. `status`: planned, active, or degraded (`message` says why)."""

    id: int
    node: str | None
    nodes: dict[str, dict[str, str | int]]
    target: str
    resources: dict[str, str | int]
    start: float
    until: float
    every_s: float | None
    repeats_until: float | None
    tenant: str | None
    holder: str
    status: str
    message: str
