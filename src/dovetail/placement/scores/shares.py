"""Share of each resource that would be in use with the task there, for several scores."""

from collections.abc import Iterable

from dovetail.cluster.arrays import F8
from dovetail.cluster.views.view import View
from dovetail.model.resources import CPU, DISK, MEMORY, SLOTS
from dovetail.placement.contract import Request

#: How the seeds weigh CPU, memory and disk into one utilisation.
BLEND = ((CPU, 0.4), (MEMORY, 0.4), (DISK, 0.2))


def share_after(request: Request, view: View, resource: str) -> F8 | None:
    """(allocated + needed) / capacity; 0 where a node has none of it, None where no node ever had."""
    allocated, inverse = view.allocated(resource), view.inverse_capacity(resource)
    if allocated is None or inverse is None:
        return None
    share: F8 = allocated + request.needs.get(resource, 0.0)
    share *= inverse
    return share


def share_now(view: View, resource: str) -> F8 | None:
    allocated, inverse = view.allocated(resource), view.inverse_capacity(resource)
    return None if allocated is None or inverse is None else allocated * inverse


def blended(shares: Iterable[tuple[F8 | None, float]]) -> F8 | float:
    """Weighted sum of shares, leaving out resources that no node has."""
    total: F8 | float = 0.0
    for share, weight in shares:
        if share is not None:
            total = total + share * weight
    return total


def requested(request: Request) -> list[str]:
    """The resources a task asks for; every task takes a slot, so slots count only if it asks for nothing else."""
    names = [name for name in request.needs if name != SLOTS]
    return names or [SLOTS]
