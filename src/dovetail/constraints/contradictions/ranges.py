"""What is known of a number on a node before any comparison: its range, and what bounds it.

Guarantees: true of every node that holds no more than it has. Amounts are not negative and no larger than the capacity,
which overcommit may stretch; a share lies between 0 and 1; a domain has at least what each of its nodes has. Where
profiles decide by measured use (`ResourceCeiling.measured`) nodes may hold more than they have, and less is assumed.
What is not understood is a number of any size. Left to others: what comparisons make of ranges (`narrowing`).
"""

import math
from collections.abc import Hashable, Iterator
from functools import lru_cache
from typing import NamedTuple

from dovetail.cluster.network.distance import FARTHEST
from dovetail.constraints.contradictions.normal_form import EQUAL, LESS, NODE, OrderTest, ordered
from dovetail.constraints.syntax.tree import Call, Index, Literal, Name, Select, Tree
from dovetail.model.resources import CPU, GPU

KEPT = 1024
MARGIN = 1e-9  # for ratios, whose products are rounded
IN_THOUSANDTHS = frozenset({CPU, GPU})
AMOUNTS = frozenset({"capacity", "free", "allocated", "observed", "forecast"})
COMPUTED = frozenset({"+", "-", "*", "/"})
COUNTS = frozenset({"tasks", "nodes", "here", "waiting"})


class ResourceCeiling(NamedTuple):
    """How capacity is counted where the workload goes."""

    overcommit: tuple[tuple[str, float], ...] = ()  # by resource
    measured: bool = False  # CPU, memory and disk by measured use

    def ratio(self, resource: str) -> float:
        return next((ratio for name, ratio in self.overcommit if name == resource), 1.0)

    @property
    def largest_share(self) -> float:
        most = max((ratio for _, ratio in self.overcommit), default=1.0)
        return math.inf if self.measured else 1.0 if most <= 1 else most * (1 + MARGIN)


class Range(NamedTuple):
    """Numbers from `low` to `high`, possibly without the ends and without `holes`. `whole`: integers only; `no_number`:
    it may be NaN."""

    low: float = -math.inf
    high: float = math.inf
    above_low: bool = False
    below_high: bool = False
    whole: bool = False
    no_number: bool = False
    holes: frozenset[float] = frozenset()

    @property
    def empty(self) -> bool:
        return self.low > self.high or (self.low == self.high and (self.above_low or self.below_high))

    @property
    def point(self) -> float | None:
        return self.low if self.low == self.high else None

    def at_least(self, low: float, strictly: bool) -> "Range":
        if low < self.low or (low == self.low and (self.above_low or not strictly)):
            return self
        return self._replace(low=low, above_low=strictly).tight()

    def at_most(self, high: float, strictly: bool) -> "Range":
        if high > self.high or (high == self.high and (self.below_high or not strictly)):
            return self
        return self._replace(high=high, below_high=strictly).tight()

    def without(self, point: float) -> "Range":
        return self if point in self.holes else self._replace(holes=self.holes | {point}).tight()

    def tight(self) -> "Range":
        """The ends moved to numbers it can be."""
        low, high, above, below = self.low, self.high, self.above_low, self.below_high
        if not self.whole:
            above, below = above or low in self.holes, below or high in self.holes
            return self._replace(above_low=above, below_high=below) if self.holes else self
        if math.isfinite(low):
            low, above = (math.floor(low) + 1 if above else math.ceil(low)), False
        if math.isfinite(high):
            high, below = (math.ceil(high) - 1 if below else math.floor(high)), False
        while low in self.holes:
            low += 1
        while high in self.holes:
            high -= 1
        return self._replace(low=low, high=high, above_low=above, below_high=below)


def numbers_in(tree: Tree) -> Iterator[Hashable]:
    """What a number depends on. All amounts of one resource count as one: they bound each other."""
    match tree:
        case Index(Select(_, str(name)), Literal(str(resource))) if name in AMOUNTS:
            yield resource
        case Call(name, args) if name in COMPUTED:
            for arg in args:
                yield from numbers_in(arg)
            yield tree
        case Literal():
            return
        case _:
            yield tree


@lru_cache(maxsize=KEPT)
def granted(tree: Tree, room: ResourceCeiling) -> tuple[OrderTest, ...]:
    """What holds on every node, about the amounts a number is made of."""
    match tree:
        case Index(Select(of, str(name)), Literal(str(resource)) as key) if name in AMOUNTS:
            found = _no_more_than_capacity(of, resource, key, room)
            if isinstance(of, Call) and of.name == "domain" and len(of.args) == 1:
                found += _no_more_than_capacity(NODE, resource, key, room)
                if not (name == "free" and room.measured):  # its own domain holds the node
                    found.append(ordered(Index(Select(NODE, name), key), tree, {LESS, EQUAL}))
            return tuple(found)
        case Call(name, args) if name in COMPUTED:
            return tuple([order for arg in args for order in granted(arg, room)])
    return ()


def _no_more_than_capacity(of: Tree, resource: str, key: Literal, room: ResourceCeiling) -> list[OrderTest]:
    if room.ratio(resource) > 1:
        return []
    capacity = Index(Select(of, "capacity"), key)
    less = ("free",) if room.measured else ("free", "allocated")
    return [ordered(Index(Select(of, name), key), capacity, {LESS, EQUAL}) for name in less]


@lru_cache(maxsize=KEPT)
def natural(tree: Tree, room: ResourceCeiling) -> Range:
    """What is known of a number before any comparison."""
    match tree:
        case Index(Select(of, str(name)), Literal(str(resource))) if of == NODE or isinstance(of, Call | Name):
            if name in AMOUNTS:
                least = -math.inf if name == "free" and room.measured else 0
                return Range(least, whole=resource not in IN_THOUSANDTHS)
            if name == "utilisation":
                return Range(0, room.largest_share)
        case Select(of, "load") if of == NODE:
            return Range(0, room.largest_share)
        case Select(_, str(name)) if name in COUNTS:
            return Range(0, whole=True)
        case Call("distance"):
            return Range(0, FARTHEST)
        case Call("size"):
            return Range(0, whole=True)
    return Range(no_number=True)
