"""Label columns: one code a node, and comparisons that mean what they mean for one value."""

import pytest

from dovetail.cluster.labels import LabelTable, value_matches
from dovetail.cluster.state import Cluster
from dovetail.cluster.views.view import View
from dovetail.model.requests.asks import Match
from dovetail.model.workloads.selection import Operator

IN, NOT_IN, EXISTS, LACKS, GT, LT = (
    Operator.IN,
    Operator.NOT_IN,
    Operator.EXISTS,
    Operator.DOES_NOT_EXIST,
    Operator.GT,
    Operator.LT,
)


@pytest.mark.parametrize(
    ("value", "operator", "values", "holds"),
    [
        ("a", IN, ("a", "b"), True),
        ("c", IN, ("a", "b"), False),
        (None, IN, ("a",), False),
        ("", IN, ("",), True),
        ("a", NOT_IN, ("a",), False),
        ("c", NOT_IN, ("a",), True),
        (None, NOT_IN, ("a",), True),
        ("", EXISTS, (), True),
        (None, EXISTS, (), False),
        ("a", LACKS, (), False),
        (None, LACKS, (), True),
        ("5", GT, ("4",), True),
        ("4", GT, ("4",), False),
        ("-5", LT, ("-4",), True),
        ("+3", LT, ("4",), True),
        ("10", GT, ("9",), True),
        (None, GT, ("0",), False),
        (None, LT, ("0",), False),
        ("many", GT, ("0",), False),
        ("1.5", GT, ("0",), False),
        ("1_000", GT, ("0",), False),
        (" 7", GT, ("0",), False),
        ("٣", GT, ("0",), False),
        ("99999999999999999999", GT, ("0",), True),
    ],
)
def test_a_comparison_of_one_value(value: str | None, operator: Operator, values: tuple[str, ...], holds: bool) -> None:
    match = Match("key", operator, values)
    assert value_matches(value, match) is holds
    table = LabelTable()
    table.set_row(0, {} if value is None else {"key": value})
    table.set_row(1, {"key": "something else"})
    column = table.columns["key"]
    assert bool(column.mask(match)[0]) is holds, "a column answers as a value does"
    assert column.number(match)[0] == float(holds)


def test_a_new_definition_drops_labels_it_does_not_repeat() -> None:
    table = LabelTable()
    table.set_row(0, {"zone": "a", "disk": "nvme"})
    table.set_row(0, {"zone": "b"})
    assert table.row(0) == {"zone": "b"}


def test_a_value_first_seen_after_a_comparison_was_made_is_compared_too() -> None:
    table = LabelTable()
    table.set_row(0, {"size": "1"})
    match = Match("size", GT, ("4",))
    assert not table.columns["size"].mask(match).any()
    table.set_row(1, {"size": "9"})
    assert table.columns["size"].mask(match)[:2].tolist() == [False, True]
    table.set_row(0, {"size": "7"})
    assert table.columns["size"].number(match)[:2].tolist() == [1.0, 1.0]
    table.set_row(1, {})
    assert table.columns["size"].mask(match)[:2].tolist() == [True, False]


def test_a_label_nobody_carries_answers_for_all_nodes_at_once() -> None:
    view = View(Cluster())
    assert view.matches(Match("x", LACKS, ())) is True
    assert view.matches(Match("x", EXISTS, ())) is False


def test_columns_made_late_are_as_wide_as_the_others() -> None:
    table = LabelTable()
    table.set_row(0, {"a": "1"})
    table.widen(40)
    table.set_row(39, {"b": "2"})
    assert {len(column.codes) for column in table.columns.values()} == {40}
    assert table.row(39) == {"b": "2"}
