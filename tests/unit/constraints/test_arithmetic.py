"""Numbers at the ends of what 64 bits and doubles hold, and errors, node by node."""

import numpy as np
import pytest

from dovetail.constraints.programs import arithmetic
from dovetail.constraints.programs.functions import read_bool, read_double, read_int, show_double
from dovetail.constraints.programs.values import Column
from dovetail.constraints.syntax.writer import INT_MAX, INT_MIN

EXACT = 2**53


def _whole(*values: int) -> Column:
    return Column(np.array(values, dtype=np.int64))


def _doubles(*values: float) -> Column:
    return Column(np.array(values, dtype=np.float64))


@pytest.mark.parametrize("operator", ["==", "!=", "<", "<=", ">", ">="])
def test_a_whole_number_and_a_double_compare_by_their_exact_values(operator: str) -> None:
    wholes = [EXACT, EXACT + 1, -EXACT - 1, INT_MAX, INT_MAX - 1, INT_MIN, 0, 3]
    doubles = [float(EXACT), 2.0**63, -(2.0**63), float(EXACT) + 2, 3.0, 2.5, float("nan"), float("inf"), -float("inf")]
    pairs = [(whole, double) for whole in wholes for double in doubles]
    left, right = _whole(*[one for one, _ in pairs]), _doubles(*[other for _, other in pairs])
    meaning = {"==": "__eq__", "!=": "__ne__", "<": "__lt__", "<=": "__le__", ">": "__gt__", ">=": "__ge__"}[operator]
    # Python compares an int with a float exactly, too.
    assert arithmetic.compare(operator, left, right).data.tolist() == [
        getattr(_Exact(one), meaning)(other) for one, other in pairs
    ]
    mirrored = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(operator, operator)
    assert (
        arithmetic.compare(mirrored, right, left).data.tolist()
        == arithmetic.compare(operator, left, right).data.tolist()
    )


class _Exact:
    """Operators that never give NotImplemented."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return self.value == other

    def __ne__(self, other: object) -> bool:
        return self.value != other

    def __hash__(self) -> int:
        return hash(self.value)

    def __lt__(self, other: float) -> bool:
        return self.value < other

    def __le__(self, other: float) -> bool:
        return self.value <= other

    def __gt__(self, other: float) -> bool:
        return self.value > other

    def __ge__(self, other: float) -> bool:
        return self.value >= other


@pytest.mark.parametrize("operator", ["+", "-", "*", "/", "%"])
def test_whole_numbers_never_wrap_around(operator: str) -> None:
    values = [0, 1, -1, 2, 3, -7, 2**31, -(2**32), 2**62, INT_MAX, INT_MIN, INT_MAX // 3, 3037000500]
    pairs = [(one, other) for one in values for other in values]
    run = {
        "+": arithmetic.add,
        "-": arithmetic.subtract,
        "*": arithmetic.multiply,
        "/": arithmetic.divide,
        "%": arithmetic.remainder,
    }[operator]
    found = run(_whole(*[one for one, _ in pairs]), _whole(*[other for _, other in pairs]))
    errors = np.broadcast_to(found.error, (len(pairs),)).tolist()
    for (one, other), value, error in zip(pairs, found.data.tolist(), errors, strict=True):
        expected = _expected(operator, one, other)
        assert error == (expected is None), (one, operator, other)
        assert error or value == expected, (one, operator, other)


def _expected(operator: str, one: int, other: int) -> int | None:
    if operator in "/%":
        if other == 0 or (one == INT_MIN and other == -1):
            return None
        quotient = abs(one) // abs(other) * (1 if (one < 0) == (other < 0) else -1)
        return quotient if operator == "/" else one - quotient * other
    found = one + other if operator == "+" else one - other if operator == "-" else one * other
    return found if INT_MIN <= found <= INT_MAX else None


def test_an_error_of_one_node_is_none_of_its_neighbours() -> None:
    found = arithmetic.divide(_whole(6, 6, 6), _whole(2, 0, 3))
    assert found.error.tolist() == [False, True, False]
    assert found.data[[0, 2]].tolist() == [3, 2]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *((1.0, "1"), (1.5, "1.5"), (-0.0, "-0"), (0.1 + 0.2, "0.30000000000000004"), (100000.0, "100000")),
        *((1e6, "1e+06"), (1234567.5, "1.2345675e+06"), (123456.5, "123456.5"), (1e20, "1e+20"), (1e-7, "1e-07")),
        *((0.0001, "0.0001"), (0.00001, "1e-05"), (0.00012345, "0.00012345"), (float("inf"), "inf")),
    ],
)  # fmt: skip
def test_doubles_are_written_as_google_writes_them(value: float, text: str) -> None:
    assert show_double(value) == text
    assert read_double(text) == value


def test_only_numbers_and_truths_are_read_from_texts() -> None:
    assert [read_int(text) for text in ("5", " -7 ", "+5", str(INT_MIN))] == [5, -7, 5, INT_MIN]
    assert [read_int(text) for text in ("", "1_0", "0x10", "5.0", "٣", str(INT_MAX + 1), "9" * 5000)] == [None] * 7
    assert [read_double(text) for text in (".5", "5.", "1e400", "-inf")] == [0.5, 5.0, float("inf"), -float("inf")]
    assert [read_double(text) for text in ("", "1_0", "e5", "٣", "five")] == [None] * 5
    assert [read_bool(text) for text in ("true", "1", "F", "yes", "False")] == [True, True, None, None, False]
