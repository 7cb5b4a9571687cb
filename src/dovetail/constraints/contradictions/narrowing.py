"""Can numbers satisfy several comparisons at once?

Each number in a comparison has a range; comparisons narrow ranges until nothing changes or one is empty.
Guarantees: a no is right, given the assumptions of `ranges`; stopping early means yes. A comparison with a literal is
handled once, when it is added; those between two numbers are examined again.
"""

import math
from collections.abc import Iterable
from functools import lru_cache
from itertools import product

from dovetail.constraints.contradictions.folding import divided
from dovetail.constraints.contradictions.normal_form import EQUAL, LESS, MORE, NEITHER, OrderTest, is_text, mirrored
from dovetail.constraints.contradictions.ranges import COMPUTED, KEPT, Range, ResourceCeiling, granted, natural
from dovetail.constraints.syntax.tree import Call, Literal, Tree

ROUNDS = 6
EXACT = 2**53  # the columns do not distinguish larger whole numbers


class Numbers:
    """What is known of numbers after the comparisons so far."""

    __slots__ = ("_ranges", "_relations", "_room", "_ways")

    def __init__(self, room: ResourceCeiling) -> None:
        self._room = room
        self._ways: dict[tuple[Tree, Tree], frozenset[str]] = {}
        self._relations: dict[tuple[Tree, Tree], frozenset[str]] = {}  # those without a literal
        self._ranges: dict[Tree, Range] = {}

    def __len__(self) -> int:
        """How much there is to examine when something is added."""
        return len(self._relations) + len(self._ranges)

    def and_also(self, orders: Iterable[OrderTest]) -> "Numbers | None":
        """With more comparisons; None if no numbers satisfy them."""
        more = Numbers(self._room)
        more._ways, more._relations, more._ranges = dict(self._ways), dict(self._relations), dict(self._ranges)
        return more if more._take(orders) and more._settle() else None

    def _take(self, orders: Iterable[OrderTest]) -> bool:
        for order in orders:
            for one in (order, *granted(order.left, self._room), *granted(order.right, self._room)):
                if not self._compare(one.left, one.right, one.ways):
                    return False
        return True

    def _compare(self, left: Tree, right: Tree, ways: frozenset[str]) -> bool:
        if left == right and (is_text(left) or not natural(left, self._room).no_number):
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
            return natural(tree, self._room) if kept is None else kept
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
