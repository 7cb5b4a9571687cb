"""Queues and the workloads that wait in them: in which order the scheduler tries them, and why each one waits."""

from itertools import islice
from typing import NamedTuple

from dovetail.engine.questions.queue_report import QueueReport, queue_report
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.work import QueuePlace, Work
from dovetail.model.resources import Amounts
from dovetail.model.workloads.workload import Workload


class PendingWorkload(NamedTuple):
    """`position` None: it waits for other workloads to end, not for its turn. `rank` is that of its priority now."""

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


class QueueQuestions:
    def __init__(self, state: EngineState) -> None:
        self._state = state

    def report(self, capacity: Amounts) -> QueueReport:
        """`capacity`: what the online nodes have in total, by resource."""
        with self._state.no_trace():
            return queue_report(self._state, capacity)

    def path(self, spec: Workload) -> str:
        """The queue that a workload would wait in."""
        router = self._state.router
        return router.queues[router.queue(spec.queue, spec.namespace)].path

    @property
    def waiting(self) -> int:
        """Workloads with tasks that wait for a node."""
        return len(self._state.pending)

    def pending(self, limit: int) -> list[PendingWorkload]:
        """Those in the queue, next first; after them those that wait for other workloads."""
        state = self._state
        queued = list(islice(state.pending.ids(), limit))
        dependent = {id_ for ids in state.dependents.values() for id_ in ids if id_ in state.work}.difference(queued)
        placed: list[tuple[int | None, int]] = list(enumerate(queued, 1))
        placed += [(None, id_) for id_ in islice(sorted(dependent), limit - len(queued))]
        return [self._pending(position, state.work[id_]) for position, id_ in placed]

    def _pending(self, position: int | None, work: Work) -> PendingWorkload:
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
            reason=work.reason,
            message=work.message,
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
