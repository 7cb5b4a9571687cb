"""Checks of long lists look at each value a few times, not at each pair of values. Work is counted, not timed."""

from collections.abc import Callable
from typing import Any

import pytest

from dovetail.cluster.labels import LabelColumn
from dovetail.constraints.contradictions import together
from dovetail.constraints.contradictions.normal_form import EQUAL, LESS, Matched, TextTest, label
from dovetail.constraints.syntax.tree import Call, ListOf, Literal
from dovetail.model.requests.asks import Match
from dovetail.model.workloads.selection import Operator

ZONE = label("zone")


class CountedText(str):
    """A text that counts how often it is compared or looked up."""

    __slots__ = ()
    work = 0

    def __eq__(self, other: object) -> bool:
        CountedText.work += 1
        return str.__eq__(self, other) is True

    def __hash__(self) -> int:
        CountedText.work += 1
        return str.__hash__(self)


def values(count: int, prefix: str = "v") -> tuple[str, ...]:
    return tuple([CountedText(f"{prefix}{i}") for i in range(count)])


def matched(operator: Operator, count: int, prefix: str = "v") -> Matched:
    return Matched(ZONE, Match("zone", operator, values(count, prefix)))


def listed(count: int) -> TextTest:
    return TextTest(ZONE, Call("in", (ZONE, ListOf(tuple([Literal(value) for value in values(count)])))), True)


def two_lists(count: int) -> None:
    together.tested(ZONE, (matched(Operator.IN, count), matched(Operator.NOT_IN, count)))


def expressions(count: int) -> None:
    together.tested(ZONE, (listed(count), listed(count)))


def pairs(count: int) -> None:
    left, right = (together.Tested((), values(count, prefix), False) for prefix in "ab")
    together.no_pair_fits(frozenset({EQUAL}), left, right)
    together.no_pair_fits(frozenset({LESS}), left, together.Tested((matched(Operator.IN, count),), None, False))
    together.no_pair_fits(frozenset({EQUAL}), left, together.Tested((matched(Operator.IN, count),), None, False))


def columns(count: int) -> None:
    column = LabelColumn(count)
    for row in range(count):
        column.write(row, f"other{row}")
    column.mask(Match("zone", Operator.IN, values(count)))


@pytest.mark.parametrize("check", [two_lists, expressions, pairs, columns])
def test_twice_the_values_are_twice_the_work(check: Callable[[int], Any]) -> None:
    def work_of(count: int) -> int:
        CountedText.work = 0
        check(count)
        return CountedText.work

    assert work_of(800) <= 2.2 * work_of(400) + 100
