"""Can numbers satisfy several comparisons at once?

Each number in a comparison has a range; comparisons narrow ranges until nothing changes or one is empty. What is known
before any comparison is true of every node that holds no more than it has: amounts are not negative and no larger than
the capacity, which overcommit may stretch; a share lies between 0 and 1; a domain has at least what each of its nodes
has. Where profiles decide by measured use (`ResourceCeiling.measured`) nodes may hold more, and less is assumed.
Guarantees: a no is right under these assumptions; stopping early means yes. A comparison with a literal is handled
once, when it is added; those between two numbers are examined again.
"""

import math
from collections.abc import Hashable, Iterable, Iterator
from functools import lru_cache
from itertools import product
from typing import NamedTuple

from dovetail.cluster.network.path import FARTHEST
from dovetail.constraints.contradictions.folding import divided
from dovetail.constraints.contradictions.normal_form import (
    EQUAL,
    LESS,
    MORE,
    NEITHER,
    NODE,
    OrderTest,
    is_text,
    mirrored,
    ordered,
)
from dovetail.constraints.syntax.tree import Call, Index, Literal, Name, Select, Tree
from dovetail.model.resources import CPU, GPU

KEPT = 1024
MARGIN = 1e-9  # for ratios, whose products are rounded
IN_THOUSANDTHS = frozenset({CPU, GPU})
AMOUNTS = frozenset({"capacity", "free", "allocated", "observed", "forecast"})
COMPUTED = frozenset({"+", "-", "*", "/"})
COUNTS = frozenset({"tasks", "nodes", "here", "waiting"})
ROUNDS = 6
EXACT = 2**53  # the columns do not distinguish larger whole numbers


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
def granted(tree: Tree, ceiling: ResourceCeiling) -> tuple[OrderTest, ...]:
    """What holds on every node, about the amounts a number is made of."""
    match tree:
        case Index(Select(of, str(name)), Literal(str(resource)) as key) if name in AMOUNTS:
            found = _no_more_than_capacity(of, resource, key, ceiling)
            if isinstance(of, Call) and of.name == "domain" and len(of.args) == 1:
                found += _no_more_than_capacity(NODE, resource, key, ceiling)
                if not (name == "free" and ceiling.measured):  # its own domain holds the node
                    found.append(ordered(Index(Select(NODE, name), key), tree, {LESS, EQUAL}))
            return tuple(found)
        case Call(name, args) if name in COMPUTED:
            return tuple([order for arg in args for order in granted(arg, ceiling)])
    return ()


def _no_more_than_capacity(of: Tree, resource: str, key: Literal, ceiling: ResourceCeiling) -> list[OrderTest]:
    if ceiling.ratio(resource) > 1:
        return []
    capacity = Index(Select(of, "capacity"), key)
    less = ("free",) if ceiling.measured else ("free", "allocated")
    return [ordered(Index(Select(of, name), key), capacity, {LESS, EQUAL}) for name in less]


@lru_cache(maxsize=KEPT)
def natural(tree: Tree, ceiling: ResourceCeiling) -> Range:
    """What is known of a number before any comparison."""
    match tree:
        case Index(Select(of, str(name)), Literal(str(resource))) if of == NODE or isinstance(of, Call | Name):
            if name in AMOUNTS:
                least = -math.inf if name == "free" and ceiling.measured else 0
                return Range(least, whole=resource not in IN_THOUSANDTHS)
            if name == "utilisation":
                return Range(0, ceiling.largest_share)
        case Select(of, "load") if of == NODE:
            return Range(0, ceiling.largest_share)
        case Select(_, str(name)) if name in COUNTS:
            return Range(0, whole=True)
        case Call("distance"):
            return Range(0, FARTHEST)
        case Call("size"):
            return Range(0, whole=True)
    return Range(no_number=True)


class Numbers:
    """What is known of numbers after the comparisons so far."""

    __slots__ = ("_ceiling", "_ranges", "_relations", "_ways")

    def __init__(self, ceiling: ResourceCeiling) -> None:
        self._ceiling = ceiling
        self._ways: dict[tuple[Tree, Tree], frozenset[str]] = {}
        self._relations: dict[tuple[Tree, Tree], frozenset[str]] = {}  # those without a literal
        self._ranges: dict[Tree, Range] = {}

    def __len__(self) -> int:
        """How much there is to examine when something is added."""
        return len(self._relations) + len(self._ranges)

    def and_also(self, orders: Iterable[OrderTest]) -> "Numbers | None":
        """With more comparisons; None if no numbers satisfy them."""
        more = Numbers(self._ceiling)
        more._ways, more._relations, more._ranges = dict(self._ways), dict(self._relations), dict(self._ranges)
        return more if more._take(orders) and more._settle() else None

    def _take(self, orders: Iterable[OrderTest]) -> bool:
        for order in orders:
            for one in (order, *granted(order.left, self._ceiling), *granted(order.right, self._ceiling)):
                if not self._compare(one.left, one.right, one.ways):
                    return False
        return True

    def _compare(self, left: Tree, right: Tree, ways: frozenset[str]) -> bool:
        if left == right and (is_text(left) or not natural(left, self._ceiling).no_number):
            ways &= {EQUAL}
        pair = (left, right)
        ways = self._ways[pair] = self._ways.get(pair, ways) & ways
        if not isinstance(right, Literal):
            self._relations[pair] = ways
            return bool(ways)
        return bool(ways) and self._narrow(left, right, ways)

    def _settle(self) -> bool:
        for _ in range(ROUNDS):
            before = dict(self._ranges)
            if not all(self._narrow(left, right, ways) for (left, right), ways in self._relations.items()):
                return False
            if any(found.empty for tree in self._ranges if (found := self._range(tree)) is not None):
                return False
            if before == self._ranges:
                break
        return True

    def _narrow(self, left: Tree, right: Tree, ways: frozenset[str]) -> bool:
        """False if nothing is left."""
        one, other = self._range(left), self._range(right)
        if one is None or other is None or (NEITHER in ways and (one.no_number or other.no_number)):
            return True
        self._ranges[left] = kept = _kept(one, other, ways)
        if kept.empty or isinstance(right, Literal):
            return not kept.empty
        self._ranges[right] = kept = _kept(other, one, mirrored(ways))
        return not kept.empty

    def _range(self, tree: Tree) -> Range | None:
        """None for what is not a number."""
        if isinstance(tree, Literal):
            return _of_literal(tree)
        found = self._computed(tree) if isinstance(tree, Call) and tree.name in COMPUTED else None
        kept = self._ranges.get(tree)
        if found is None:
            return natural(tree, self._ceiling) if kept is None else kept
        return found if kept is None else kept.at_least(found.low, False).at_most(found.high, False)

    def _computed(self, tree: Call) -> Range | None:
        ranges = [self._range(arg) for arg in tree.args]
        known = [one for one in ranges if one is not None and not one.no_number]
        if len(known) < len(ranges) or any(one.empty for one in known):
            return None
        if len(known) == 1:
            return Range(-known[0].high, -known[0].low, whole=known[0].whole)
        one, other = known
        if one.whole != other.whole or (tree.name == "/" and not (other.point or 0) > 0):
            return None  # not of one type, or a division that may fail or turn the ends around
        corners = [_worth(tree.name, *pair) for pair in product((one.low, one.high), (other.low, other.high))]
        ends = [corner for corner in corners if not math.isnan(corner)]
        return Range(min(ends), max(ends), whole=one.whole)


def _kept(one: Range, other: Range, ways: frozenset[str]) -> Range:
    """What is left of one range, if it compares to the other in one of these ways."""
    strictly = EQUAL not in ways
    if MORE not in ways:
        one = one.at_most(other.high, strictly or other.below_high)
    if LESS not in ways:
        one = one.at_least(other.low, strictly or other.above_low)
    if strictly and other.point is not None:
        one = one.without(other.point)
    return one


@lru_cache(maxsize=KEPT, typed=True)
def _of_number(value: float) -> Range:
    if math.isnan(value) or abs(value) > EXACT:
        return Range(no_number=True)
    return Range(value, value, whole=isinstance(value, int))


def _of_literal(tree: Literal) -> Range | None:
    value = tree.value
    return _of_number(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _worth(operator: str, left: float, right: float) -> float:
    """One corner of a computed range, not a number where another corner reaches further. Rounding keeps the order of
    corners, so their extremes are those of the program."""
    match operator:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right if left and right else 0
    found: float = left if math.isinf(left) else divided(left, right)
    return found
