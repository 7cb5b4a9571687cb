"""What the server answers about who goes next and what is kept for whom: queues, loans, shares, reservations."""

from typing_extensions import TypedDict

from dovetail.client.types.workloads import Start


class QueueItem(Start):
    """`position` None: it waits for other workloads, not for its turn. `promoted_from`: what waiting has raised
    `priority` from."""

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


class QueueResource(TypedDict):
    """Of one queue: `maximum` None is no limit; `cluster` is what there is in all."""

    unit: str
    used: float
    guaranteed: float
    maximum: float | None
    borrowed: float
    cluster: float


class QueueRow(TypedDict):
    """One queue of the tree, counting all below it; `dominant` is the resource behind its `share`."""

    path: str
    name: str
    depth: int
    leaf: bool
    weight: float
    share: float
    dominant: str | None
    waiting: int
    max_workloads: int | None
    resources: dict[str, QueueResource]
    user_limits: dict[str, float]


class LoanPart(TypedDict):
    queue: str
    amount: float


class Loan(TypedDict):
    """Who holds more of a resource than its guarantee, and whose guarantee lies idle meanwhile."""

    resource: str
    borrowers: list[LoanPart]
    lenders: list[LoanPart]


class Tenant(TypedDict):
    """`deviation` from a fair part: 0 is just right, -0.5 half of it, 1 twice of it."""

    tenant: str
    weight: float
    share: float
    deviation: float


class Queues(TypedDict):
    """Parents come before children; `fair_between` says what makes a tenant."""

    queues: list[QueueRow]
    loans: list[Loan]
    fair_between: str
    tenants: list[Tenant]


class Reservation(TypedDict):
    """The window from `start` to `until` is now or comes next; `every_s` (seconds) brings the following ones, none of
    which begins after `repeats_until`. `resources` is what is held in all, `nodes` what on which; `node` is the only
    one. `tenant` None: nobody may use the room. `status` is planned, active, or degraded with a `message`."""

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
