"""Pending workloads as plain values: in which order the scheduler tries them, and why each one waits."""

from itertools import islice
from typing import NamedTuple

from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.work import QueuePlace, Work


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


def pending_workloads(state: EngineState, limit: int) -> list[PendingWorkload]:
    """Those in the queue, next first; after them those that wait for other workloads."""
    queued = list(islice(state.pending.ids(), limit))
    dependent = {id_ for ids in state.dependents.values() for id_ in ids if id_ in state.work}.difference(queued)
    placed: list[tuple[int | None, int]] = list(enumerate(queued, 1))
    placed += [(None, id_) for id_ in islice(sorted(dependent), limit - len(queued))]
    return [_pending(state, position, state.work[id_]) for position, id_ in placed]


def _pending(state: EngineState, position: int | None, work: Work) -> PendingWorkload:
    return PendingWorkload(
        position=position,
        id=work.id,
        namespace=work.namespace,
        name=work.name,
        queue=state.router.queues[work.queue].path,
        user=work.terms.user,
        rank=work.rank,
        replicas=work.replicas,
        pending=len(work.waiting) + len(work.delayed),
        submitted_at=work.submitted_at,
        reason=work.reason,
        message=work.message,
    )


def position_of(state: EngineState, workload: int) -> int | None:
    """The position in the pending queue, from 1."""
    return next((place for place, id_ in enumerate(state.pending.ids(), 1) if id_ == workload), None)


def set_aside(state: EngineState, workload: int) -> str:
    """Why a workload waits although a node may have capacity for it, such as capacity that others were promised."""
    live = state.work.get(workload)
    return live.message if live is not None and live.queue_place in (QueuePlace.PARKED, QueuePlace.OVER_QUOTA) else ""
