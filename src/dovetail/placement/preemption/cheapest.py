"""Find, rank, try: of several places where others could make room, the cheapest in which the work then fits.

A search finds victims by amounts alone. Where the work has rules about other work, the network or single GPUs, only a
trial shows that it fits once they are gone. Guarantees: ties go to the place named first. Leaves to others: which
places there are, finding victims in one of them, and the trial.
"""

from collections.abc import Callable, Sequence
from heapq import heapify, heappop, heappush
from typing import Protocol, TypeVar

from dovetail.placement.contract import Request
from dovetail.placement.preemption.cost import Cost


class HasCost(Protocol):
    """What a search found in one place."""

    @property
    def cost(self) -> Cost: ...


E = TypeVar("E", bound=HasCost)


def cheapest(
    places: Sequence[Request],
    find: Callable[[Request], E | None],
    fits: Callable[[Request, E], bool] | None = None,
    most: int | None = None,
    elsewhere: Callable[[Request, E], Request] | None = None,
    searches: int = 0,
) -> E | None:
    """`fits`: the trial; None where none is needed. `most`: how many are tried at most. `elsewhere`: where to search
    instead after a trial has failed, which is done at most `searches` times."""
    ranked = [(found.cost, i, place, found) for i, place in enumerate(places) if (found := find(place)) is not None]
    heapify(ranked)
    tried = 0
    while ranked and (most is None or tried < most):
        _, _, place, found = heappop(ranked)
        if fits is None or fits(place, found):
            return found
        tried += 1
        if elsewhere is not None and tried <= searches:
            other = elsewhere(place, found)
            again = find(other)
            if again is not None:
                heappush(ranked, (again.cost, len(places) + tried, other, again))
    return None
