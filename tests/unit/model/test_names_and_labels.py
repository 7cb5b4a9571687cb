"""Names, labels, tolerations: what is accepted, and that refusing takes no time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from dovetail.model.requests.shaping import shape_of
from dovetail.model.text.strict import MAX_NODE_NAME, check_name, check_node_name, closest, shown
from dovetail.model.workloads.selection import LabelMatch, Taint, Toleration
from dovetail.model.workloads.workload import Workload


@pytest.mark.parametrize("name", ["a", "A1", "train-llm", "a.b_c-d", "x" * 100, "a1-2.3"])
def test_names_of_letters_digits_and_single_separators_are_accepted(name: str) -> None:
    assert check_name(name) == name


@pytest.mark.parametrize(
    "name",
    [
        *("", " ", "1a", "-a", "a-", "a--b", "a..b", "a/b", "../../etc/passwd", "a b", "a\n", "a\0", "é", "а", "a١"),
        *("x" * 101, "x" * 5_000_000, "%2e%2e", "a:b", "$(ls)", "a" * 99 + "!", "a_" * 49 + "!"),
    ],
    ids=shown,
)
def test_every_other_name_is_refused_in_one_line(name: str) -> None:
    # The last two take centuries where a pattern tries every way to cut the name into words.
    with pytest.raises(
        ValueError, match=r"is not a name; start with|is \d+ characters long; a name has at most 100"
    ) as raised:
        check_name(name)
    assert len(str(raised.value)) < 300
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "name",
    ["10.0.0.7", "0a.b-c.example", "7", "node_1", "a--b", "ip-10-0-0-7.eu-west-1.compute.internal", "x" * 253, "A1"],
)
def test_a_node_may_be_called_what_its_system_calls_it(name: str) -> None:
    assert check_node_name(name) == name


@pytest.mark.parametrize(
    "name",
    [
        *("", ".", "..", "-a", "a-", "a.", ".a", "_a", "a_", "a/b", "a b", "a\n", "a\0", "é", "%2e", "a:b", "[::1]"),
        *("x" * (MAX_NODE_NAME + 1), "x" * 5_000_000, "a-" * 126, "a" * 252 + "!"),
    ],
    ids=shown,
)
def test_every_other_name_of_a_node_is_refused_in_one_line(name: str) -> None:
    with pytest.raises(ValueError, match=r"is not the name of a node|a node's name has at most 253") as raised:
        check_node_name(name)
    assert len(str(raised.value)) < 300
    assert "\n" not in str(raised.value)


@given(st.text() | st.integers() | st.floats() | st.booleans() | st.none() | st.lists(st.text()))
def test_a_value_is_shown_on_one_short_line(value: object) -> None:
    assert "\n" not in shown(value)
    assert len(shown(value)) < 700  # sixty characters, each at most a ten-character escape


def test_values_are_shown_in_the_users_spelling() -> None:
    assert [shown(value) for value in (True, None, 5, "a", [1], {"a": 1}, (), 10**5000)] == [
        "true", "nothing", "5", "'a'", "a list", "a mapping", "this value", "a number of more than 45 digits",
    ]  # fmt: skip


def test_the_closest_word_is_offered_only_when_it_is_close() -> None:
    assert closest("memroy", ["cpu", "memory"]) == " Did you mean 'memory'?"
    assert closest("colour", ["cpu", "memory"]) == ""
    assert closest("x" * 5_000_000, ["cpu", "memory"]) == ""


@pytest.mark.parametrize("operator", ["In", "in", "IN"])
def test_operators_are_read_in_any_case(operator: str) -> None:
    assert LabelMatch.model_validate({"key": "a", "operator": operator, "values": [1]}).values == ["1"]


@pytest.mark.parametrize("value", ["x", "", "1.5", "١", "1_000", " 5", "9" * 19, "9" * 253])
def test_greater_and_less_compare_whole_numbers_of_64_bits(value: str) -> None:
    with pytest.raises(ValidationError, match="Gt compares whole numbers, not '"):
        LabelMatch.model_validate({"key": "a", "operator": "Gt", "values": [value]})
    assert LabelMatch.model_validate({"key": "a", "operator": "Lt", "values": ["-5"]}).values == ["-5"]


@pytest.mark.parametrize(
    ("match", "words"),
    [
        ({"operator": "In"}, "In needs at least one value"),
        ({"operator": "Exists", "values": ["x"]}, "Exists takes no values, got 1"),
        ({"operator": "Gt", "values": ["1", "2"]}, "Gt takes exactly one whole number, got 2 values"),
    ],
)
def test_the_number_of_values_fits_the_operator(match: dict[str, object], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        LabelMatch.model_validate({"key": "a"} | match)


@pytest.mark.parametrize(
    ("toleration", "tolerated"),
    [
        ({"operator": "Exists"}, True),
        ({"key": "gpu", "operator": "Exists"}, True),
        ({"key": "gpu", "value": "yes"}, True),
        ({"key": "gpu", "value": "no"}, False),
        ({"key": "cpu", "value": "yes"}, False),
        ({"key": "gpu", "value": "yes", "effect": "noschedule"}, True),
        ({"key": "gpu", "value": "yes", "effect": "NoExecute"}, False),
    ],
)
def test_a_toleration_matches_key_value_and_effect(toleration: dict[str, object], tolerated: bool) -> None:
    taint = Taint.model_validate({"key": "gpu", "value": "yes", "effect": "NoSchedule"})
    spec = Workload.model_validate({"name": "a", "tolerations": [toleration]})
    (tolerance,) = shape_of(spec, "default", "balanced").tolerations
    assert tolerance.tolerates(taint) is tolerated


@pytest.mark.parametrize(
    ("toleration", "words"),
    [
        ({}, "a toleration without a key needs operator: Exists"),
        ({"key": "a", "operator": "Exists", "value": "x"}, "operator Exists takes no value"),
        ({"key": "a", "operator": "Gt", "value": "x"}, "operator Gt compares whole numbers, not 'x'"),
        (
            {"key": "a", "effect": "NoSchedule", "toleration_seconds": 5},
            "toleration_seconds requires effect: NoExecute",
        ),
    ],
)
def test_a_toleration_that_makes_no_sense_is_refused(toleration: dict[str, object], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        Toleration.model_validate(toleration)
