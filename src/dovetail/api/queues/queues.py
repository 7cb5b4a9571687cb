"""Route of the queues: the tree with use, limits and loans of each, and how fair it is between tenants."""

from fastapi import Request

from dovetail.api.nodes.amounts import number, unit_of
from dovetail.api.protocol.body import plane_of
from dovetail.api.protocol.openapi import Routes
from dovetail.api.protocol.replies import Json
from dovetail.engine.questions.queue_questions import QueueUse
from dovetail.model.resources import Amounts
from dovetail.queueing.borrowing import Loan
from dovetail.responses.queues import LoanPart, QueueResource, QueueRow, QueuesAnswer

router = Routes(prefix="/queues", tags=["queue"])


@router.get("")
async def queues(request: Request) -> Json[QueuesAnswer]:
    """Every queue, parents before children, with use, guarantee, maximum and loans; and the tenants that hold
    something, with their weight, share and deviation from their fair share (0: exactly fair, 1: twice as much)."""
    plane = plane_of(request)
    capacity = {resource: whole for resource, (_, whole) in plane.questions.gauges.totals().items()}
    report = plane.questions.queues.report(capacity)
    return Json(
        {
            "queues": [_row(use, plane.waiting_in(use.queue.code), capacity) for use in report.queues],
            "loans": [
                {"resource": one.resource, "borrowers": _listed(one.borrowers), "lenders": _listed(one.lenders)}
                for one in report.loans
            ],
            "fair_between": report.fair_between,
            "tenants": [
                {
                    "tenant": one.tenant,
                    "weight": one.weight,
                    "share": round(one.share, 4),
                    "deviation": round(one.deviation, 4),
                }
                for one in report.tenants
            ],
        }
    )


def _row(use: QueueUse, waiting: int, capacity: Amounts) -> QueueRow:
    queue = use.queue
    named = dict.fromkeys((*use.used, *queue.guaranteed, *queue.maximum))
    return {
        "path": queue.path,
        "name": queue.name,
        "depth": queue.depth,
        "leaf": use.leaf,
        "weight": queue.weight,
        "share": round(use.share, 4),
        "dominant": use.dominant,
        "waiting": waiting,
        "max_workloads": queue.max_workloads,
        "resources": {resource: _resource(resource, use, capacity.get(resource, 0)) for resource in named},
        "user_limits": {name: number(name, amount) for name, amount in queue.user_limits.items()},
    }


def _resource(resource: str, use: QueueUse, cluster: int) -> QueueResource:
    maximum = use.queue.maximum.get(resource)
    return {
        "unit": unit_of(resource),
        "used": number(resource, use.used.get(resource, 0)),
        "guaranteed": number(resource, use.queue.guaranteed.get(resource, 0)),
        "maximum": None if maximum is None else number(resource, maximum),
        "borrowed": number(resource, use.borrowed.get(resource, 0)),
        "cluster": number(resource, cluster),
    }


def _listed(loans: list[Loan]) -> list[LoanPart]:
    return [{"queue": loan.path, "amount": number(loan.resource, loan.amount)} for loan in loans]
