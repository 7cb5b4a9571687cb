"""What each queue holds, may hold and borrows, and how fair the cluster is divided between tenants.

Left to others: how many workloads wait in a queue (the control plane counts them).
"""

from typing import NamedTuple

from dovetail.engine.state.engine_state import EngineState
from dovetail.model.resources import SLOTS, Amounts
from dovetail.queueing.quota import Loan
from dovetail.queueing.tree import Queue


class QueueUse(NamedTuple):
    """One queue with everything below it. `dominant`: the resource of which it holds the largest share."""

    queue: Queue
    leaf: bool
    share: float
    dominant: str | None
    used: Amounts
    borrowed: Amounts


class ResourceLoans(NamedTuple):
    """Which queues hold more of a resource than their guarantee, and whose guarantee is idle meanwhile."""

    resource: str
    borrowers: list[Loan]
    lenders: list[Loan]


class TenantShare(NamedTuple):
    """`deviation` from the fair share: 0 is exactly fair, 1 is twice as much."""

    tenant: str
    weight: float
    share: float
    deviation: float


class QueueReport(NamedTuple):
    """Parents come before their children. `shared_out`: the resources that queues are guaranteed."""

    queues: list[QueueUse]
    shared_out: frozenset[str]
    loans: list[ResourceLoans]
    fair_between: str
    tenants: list[TenantShare]


def queue_report(state: EngineState, capacity: Amounts) -> QueueReport:
    state.accounts.refresh_capacity()
    fair, usage, borrowing = state.settings.fair, state.accounts.usage, state.accounts.quotas.borrowing
    tenants = [
        TenantShare(tenant, fair.weight_of(tenant), usage.share_of_tenant(tenant), deviation)
        for tenant, deviation in usage.fair_share_deviation().items()
    ]
    loans = [
        ResourceLoans(resource, borrowers, borrowing.lenders(resource))
        for resource in sorted(state.router.queues.shared_out)
        if (borrowers := borrowing.borrowers(resource))
    ]
    queues = [_use(state, queue, capacity) for queue in state.router.queues.queues[1:]]
    return QueueReport(queues, state.router.queues.shared_out, loans, fair.tenant, tenants)


def _use(state: EngineState, queue: Queue, capacity: Amounts) -> QueueUse:
    used = dict(state.accounts.usage.used(queue.code))
    return QueueUse(
        queue=queue,
        leaf=state.router.queues.is_leaf(queue.code),
        share=state.accounts.usage.share_of(queue.code),
        dominant=_dominant(used, queue, capacity),
        used=used,
        borrowed=dict(state.accounts.quotas.borrowing.borrowed(queue.code)),
    )


def _dominant(used: Amounts, queue: Queue, capacity: Amounts) -> str | None:
    """The resource of which it holds the largest share; while it holds nothing, is guaranteed or allowed the most."""
    for amounts in (used, queue.guaranteed, queue.maximum):
        shares = {
            resource: amount / capacity[resource]
            for resource, amount in amounts.items()
            if capacity.get(resource) and resource != SLOTS
        }
        if shares:
            return max(shares, key=lambda resource: shares[resource])
    return None
