"""Queues: what each holds, may hold and borrows, how fairly tenants share the cluster, and the workloads that wait.

Left to others: how many workloads wait in a queue (the control plane counts them).
"""

from collections.abc import Iterator
from itertools import chain, islice
from typing import NamedTuple

from dovetail.engine.questions.wait_reason import WaitReason, wait_reason, waits
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.work import QueuePlace, Work
from dovetail.model.resources import SLOTS, Amounts
from dovetail.model.workloads.workload import Workload
from dovetail.queueing.quota import Loan
from dovetail.queueing.tree import ROOT, Queue


class PendingWorkload(NamedTuple):
    """`position` None: it does not wait for its turn but for other work, its own limit or the time of its next try.
    `rank` is that of its priority now."""

    position: int | None
    id: int
    namespace: str
    name: str
    queue: str
    user: str | None
    rank: int
    replicas: int
    pending: int
    submitted_at: float
    reason: str
    message: str


class QueueUse(NamedTuple):
    """One queue with everything below it. `dominant`: the resource of which it holds the largest share."""

    queue: Queue
    leaf: bool
    share: float
    share_with_past: float
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
    share_with_past: float
    deviation: float


class QueueReport(NamedTuple):
    """Parents come before their children. `shared_out`: the resources that queues are guaranteed."""

    queues: list[QueueUse]
    shared_out: frozenset[str]
    loans: list[ResourceLoans]
    fair_between: str
    tenants: list[TenantShare]


class QueueQuestions:
    def __init__(self, state: EngineState) -> None:
        self._state = state

    @property
    def paths(self) -> list[str]:
        """Of every queue, parents before children."""
        return [queue.path for queue in self._state.router.queues.queues[1:]]

    @property
    def codes(self) -> list[tuple[int, str]]:
        """The code and the path of every queue, parents before children."""
        return [(queue.code, queue.path) for queue in self._state.router.queues.queues[1:]]

    def report(self, capacity: Amounts, now: float = 0.0) -> QueueReport:
        """`capacity`: what the online nodes have in total, by resource."""
        state = self._state
        with state.no_trace():
            state.accounts.refresh_capacity()
            fair, usage, borrowing = state.settings.fair, state.accounts.usage, state.accounts.quotas.borrowing
            tenants = [
                TenantShare(
                    tenant,
                    weight := fair.weight_of(tenant),
                    usage.share_of_tenant(tenant),
                    usage.weighted_share_of_tenant(ROOT, tenant, now) * weight,
                    deviation,
                )
                for tenant, deviation in usage.fair_share_deviation().items()
            ]
            tree = state.router.queues
            loans = [
                ResourceLoans(resource, borrowers, borrowing.lenders(resource))
                for resource in sorted(tree.shared_out)
                if (borrowers := borrowing.borrowers(resource))
            ]
            queues = [_use(state, queue, capacity, now) for queue in tree.queues[1:]]
            return QueueReport(queues, tree.shared_out, loans, fair.tenant, tenants)

    def path(self, spec: Workload) -> str:
        """The queue that a workload would wait in."""
        router = self._state.router
        return router.queues[router.queue(spec.queue, spec.namespace)].path

    @property
    def waiting(self) -> int:
        """Workloads with tasks that wait for a node."""
        return len(self._state.pending)

    def oldest_submission(self) -> float | None:
        """When the workload was submitted that waits longest of those that wait for their first node; None: none waits.
        One that has run, and whose task waits again, has not waited since it was submitted."""
        first = (one.submitted_at for one in self._state.work.values() if one.started_at is None and one.waiting)
        return min(first, default=None)

    def pending(
        self, limit: int, now: float = 0.0, offset: int = 0, queue: str | None = None, search: str = ""
    ) -> list[PendingWorkload]:
        """Those in the queue, next first; after them those that wait outside of it. `queue`: only in it and below it;
        `search`: only those whose name contains it."""
        page = islice(self._waiting(queue, search), offset, offset + limit)
        return [self._pending(place, one, now) for place, one in page]

    def count_pending(self, queue: str | None, search: str) -> int:
        """How many `pending` would list without a limit."""
        return sum(1 for _ in self._waiting(queue, search))

    def _waiting(self, queue: str | None, search: str) -> Iterator[tuple[int | None, Work]]:
        work = self._state.work
        queued = ((place, work[id_]) for place, id_ in enumerate(self._state.pending.ids(), 1))
        others = ((None, one) for one in self._outside())
        found = chain[tuple[int | None, Work]](queued, others)
        if queue is None and not search:
            return found
        tree = self._state.router.queues.queues
        codes = {one.code for one in tree if queue is None or one.path == queue or one.path.startswith(f"{queue}/")}
        return ((place, one) for place, one in found if one.queue in codes and search in one.name)

    @property
    def total(self) -> int:
        """How many `pending` would list without a limit."""
        return len(self._state.pending) + sum(1 for _ in self._outside())

    def _outside(self) -> Iterator[Work]:
        """Work that waits, but not for its turn."""
        for work in self._state.work.values():
            if work.queue_place is QueuePlace.NOWHERE and waits(work):
                yield work

    def wait_reason(self, workload: int, now: float) -> WaitReason | None:
        """Why a live workload waits; None if it does not, or has ended."""
        work = self._state.work.get(workload)
        return wait_reason(work, now) if work is not None and waits(work) else None

    def _pending(self, position: int | None, work: Work, now: float) -> PendingWorkload:
        why = wait_reason(work, now)
        return PendingWorkload(
            position=position,
            id=work.id,
            namespace=work.namespace,
            name=work.name,
            queue=self._state.router.queues[work.queue].path,
            user=work.terms.user,
            rank=work.rank,
            replicas=work.replicas,
            pending=len(work.waiting) + len(work.delayed),
            submitted_at=work.submitted_at,
            reason=why.reason,
            message=why.message,
        )

    def position(self, workload: int) -> int | None:
        """The position in the pending queue, from 1."""
        return next((place for place, id_ in enumerate(self._state.pending.ids(), 1) if id_ == workload), None)

    def parked_message(self, workload: int) -> str:
        """Why a workload waits although a node may have capacity for it, such as capacity that is promised to others.
        Empty for any other workload."""
        work = self._state.work.get(workload)
        is_parked = work is not None and work.queue_place in (QueuePlace.PARKED, QueuePlace.OVER_QUOTA)
        return work.message if work is not None and is_parked else ""


def _use(state: EngineState, queue: Queue, capacity: Amounts, now: float) -> QueueUse:
    used = dict(state.accounts.usage.used(queue.code))
    return QueueUse(
        queue=queue,
        leaf=state.router.queues.is_leaf(queue.code),
        share=state.accounts.usage.share_of(queue.code),
        share_with_past=state.accounts.usage.share_with_past(queue.code, now),
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
