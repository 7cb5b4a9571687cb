"""Route of the queues: the tree with what each holds, may hold and borrows, and how fair that is between tenants."""

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from dovetail.api.amounts import number, unit_of
from dovetail.api.body import plane_of
from dovetail.api.replies import Json
from dovetail.control.plane import ControlPlane
from dovetail.engine.state.engine_state import EngineState
from dovetail.model.resources import SLOTS, Amounts
from dovetail.queueing.borrowing import Loan
from dovetail.queueing.tree import Queue

router = APIRouter(prefix="/queues", tags=["queue"])


@router.get("")
async def queues(request: Request) -> Response:
    """Every queue, parents before children, with use, guarantee, maximum and loans; and the tenants that hold
    something, with their weight, share and distance from a fair part (0: just right, 1: twice of it)."""
    plane = plane_of(request)
    state = plane.engine.state
    state.accounts.refresh_capacity()
    capacity = {resource: whole for resource, (_, whole) in plane.questions.totals().items()}
    fair = state.settings.fair
    return Json(
        {
            "queues": [_row(plane, queue, capacity) for queue in state.router.queues.queues[1:]],
            "loans": _loans(state),
            "fair_between": fair.tenant,
            "tenants": [
                {
                    "tenant": tenant,
                    "weight": fair.weight_of(tenant),
                    "share": round(state.accounts.usage.share_of_tenant(tenant), 4),
                    "deviation": round(deviation, 4),
                }
                for tenant, deviation in state.accounts.usage.fair_share_deviation().items()
            ],
        }
    )


def _row(plane: ControlPlane, queue: Queue, capacity: Amounts) -> dict[str, Any]:
    state = plane.engine.state
    used = dict(state.accounts.usage.used(queue.code))
    borrowed = state.accounts.quotas.borrowing.borrowed(queue.code)
    named = dict.fromkeys((*used, *queue.guaranteed, *queue.maximum))
    return {
        "path": queue.path,
        "name": queue.name,
        "depth": queue.depth,
        "leaf": state.router.queues.is_leaf(queue.code),
        "weight": queue.weight,
        "share": round(state.accounts.usage.share_of(queue.code), 4),
        "dominant": _dominant(used, queue, capacity),
        "waiting": plane.waiting_in(queue.code),
        "max_workloads": queue.max_workloads,
        "resources": {
            resource: {
                "unit": unit_of(resource),
                "used": number(resource, used.get(resource, 0)),
                "guaranteed": number(resource, queue.guaranteed.get(resource, 0)),
                "maximum": _limit(resource, queue.maximum),
                "borrowed": number(resource, borrowed.get(resource, 0)),
                "cluster": number(resource, capacity.get(resource, 0)),
            }
            for resource in named
        },
        "user_limits": {name: number(name, amount) for name, amount in queue.user_limits.items()},
    }


def _limit(resource: str, maximum: Amounts) -> float | None:
    return number(resource, maximum[resource]) if resource in maximum else None


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


def _loans(state: EngineState) -> list[dict[str, Any]]:
    """Who borrows from whom, by resource; where nobody borrows, nobody lends."""
    borrowing = state.accounts.quotas.borrowing
    found = []
    for resource in sorted(state.router.queues.shared_out):
        if borrowers := borrowing.borrowers(resource):
            lenders = borrowing.lenders(resource)
            found.append({"resource": resource, "borrowers": _listed(borrowers), "lenders": _listed(lenders)})
    return found


def _listed(loans: list[Loan]) -> list[dict[str, Any]]:
    return [{"queue": loan.path, "amount": number(loan.resource, loan.amount)} for loan in loans]
