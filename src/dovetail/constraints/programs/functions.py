"""The functions of the language: what each takes, what it gives, and how it is computed over columns.

An operator or function is looked up by its name, its arguments' types and whether it is a method. Conversions between
strings and numbers are to the letter those of Google's implementation of CEL. Comparisons, logic, lists, and what reads
the cluster are left to `checking`.
"""

import math
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from dovetail.constraints.programs import arithmetic
from dovetail.constraints.programs.values import (
    BOOL,
    DOUBLE,
    INT,
    STRING,
    Column,
    Strings,
    Test,
    Type,
    Value,
    constant,
    converted,
    decide_pairs,
    joined,
    rewritten,
)
from dovetail.constraints.syntax.writer import INT_MAX, INT_MIN
from dovetail.model.text.quantity import parse_bytes, parse_cores

_WHOLE = re.compile(r"[ \t\n\v\f\r]*([+-]?[0-9]{1,40})[ \t\n\v\f\r]*")
_DOUBLE = re.compile(
    r"[ \t\n\v\f\r]*([+-]?(?:[0-9]+\.?[0-9]*(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?|inf|infinity|nan))"
    r"[ \t\n\v\f\r]*",
    re.IGNORECASE | re.ASCII,
)
_BOOLS = {
    **dict.fromkeys(("1", "t", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "false", "FALSE", "False"), False),
}
_LEAST_EXPONENT, _MOST_DIGITS = -4, 6
PATTERNS_KEPT = 256
ANSWERS_KEPT = 16_384  # a pattern
MAX_PATTERN = 500  # steps of its program: each sign of a text may have to be compared at each step
Run = Callable[..., Value]
_TO_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_TO_UPPER = {code: code - 32 for code in range(ord("a"), ord("z") + 1)}


def read_int(text: str) -> int | None:
    found = _WHOLE.fullmatch(text)
    value = int(found[1]) if found else None
    return value if value is not None and INT_MIN <= value <= INT_MAX else None


def read_double(text: str) -> float | None:
    found = _DOUBLE.fullmatch(text)
    return float(found[1]) if found else None


def read_bool(text: str) -> bool | None:
    return _BOOLS.get(text)


def show_double(value: float) -> str:
    """The fewest digits that say which double it is; with an exponent for very large and very small ones."""
    if not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    mantissa, exponent = f"{value!r}e0".split("e")[:2] if "e" in repr(value) else (repr(value), "0")
    sign, plain = ("-", mantissa[1:]) if mantissa.startswith("-") else ("", mantissa)
    before, _, after = plain.partition(".")
    digits = (before + after).lstrip("0")
    if not digits:
        return f"{sign}0"
    # Of the first digit that is not zero.
    power = int(exponent) + len(before) - 1 - (len(before + after) - len(digits))
    digits = digits.rstrip("0")
    if power < _LEAST_EXPONENT or power >= _MOST_DIGITS:
        rest = f".{digits[1:]}" if len(digits) > 1 else ""
        return f"{sign}{digits[0]}{rest}e{'-' if power < 0 else '+'}{abs(power):02d}"
    if power < 0:
        return f"{sign}0.{'0' * (-power - 1)}{digits}"
    whole, fraction = digits[: power + 1].ljust(power + 1, "0"), digits[power + 1 :]
    return f"{sign}{whole}.{fraction}" if fraction else f"{sign}{whole}"


def shown(column: Column) -> Strings:
    """Numbers and bools as strings, each distinct one written once."""
    distinct, codes = np.unique(column.data, return_inverse=True)
    show: Callable[[float], str] = show_double if column.data.dtype == np.float64 else _show
    values: Sequence[str] = [show(value) for value in distinct.tolist()]
    return Strings(codes.reshape(column.data.shape), values, column.error)


def _show(value: float) -> str:
    return str(value).lower()


class Overload(NamedTuple):
    gives: Type
    run: Run


def _same(value: Value) -> Value:
    return value


def _length(text: Strings) -> Column:
    return converted(text, len, np.int64)


def _lower(text: str) -> str:
    return text.translate(_TO_LOWER)


def _upper(text: str) -> str:
    return text.translate(_TO_UPPER)


_STARTSWITH = Test(str.startswith, lambda values, part: [value.startswith(part) for value in values])
_ENDSWITH = Test(str.endswith, lambda values, part: [value.endswith(part) for value in values])
_CONTAINS = Test(str.__contains__, lambda values, part: [part in value for value in values])


def _times(factor: int) -> Callable[[Column], Column]:
    whole, double = Column(np.array(factor)), Column(np.array(float(factor)))

    def amount(value: Column) -> Column:
        if value.data.dtype == np.int64:
            return arithmetic.multiply(value, whole)
        return arithmetic.to_int(arithmetic.multiply(value, double))

    return amount


OPERATORS: dict[tuple[str, tuple[Type, ...]], Overload] = {
    ("+", (INT, INT)): Overload(INT, arithmetic.add),
    ("+", (DOUBLE, DOUBLE)): Overload(DOUBLE, arithmetic.add),
    ("+", (STRING, STRING)): Overload(STRING, joined),
    ("-", (INT, INT)): Overload(INT, arithmetic.subtract),
    ("-", (DOUBLE, DOUBLE)): Overload(DOUBLE, arithmetic.subtract),
    ("*", (INT, INT)): Overload(INT, arithmetic.multiply),
    ("*", (DOUBLE, DOUBLE)): Overload(DOUBLE, arithmetic.multiply),
    ("/", (INT, INT)): Overload(INT, arithmetic.divide),
    ("/", (DOUBLE, DOUBLE)): Overload(DOUBLE, arithmetic.divide),
    ("%", (INT, INT)): Overload(INT, arithmetic.remainder),
    ("-", (INT,)): Overload(INT, arithmetic.negate),
    ("-", (DOUBLE,)): Overload(DOUBLE, arithmetic.negate),
}

FUNCTIONS: dict[tuple[str, tuple[Type, ...]], Overload] = {
    ("int", (INT,)): Overload(INT, _same),
    ("int", (DOUBLE,)): Overload(INT, arithmetic.to_int),
    ("int", (STRING,)): Overload(INT, lambda text: converted(text, read_int, np.int64)),
    ("double", (DOUBLE,)): Overload(DOUBLE, _same),
    ("double", (INT,)): Overload(DOUBLE, arithmetic.to_double),
    ("double", (STRING,)): Overload(DOUBLE, lambda text: converted(text, read_double, np.float64)),
    ("string", (STRING,)): Overload(STRING, _same),
    ("string", (INT,)): Overload(STRING, shown),
    ("string", (DOUBLE,)): Overload(STRING, shown),
    ("string", (BOOL,)): Overload(STRING, shown),
    ("bool", (BOOL,)): Overload(BOOL, _same),
    ("bool", (STRING,)): Overload(BOOL, lambda text: converted(text, read_bool, np.bool_)),
    ("size", (STRING,)): Overload(INT, _length),
    **{
        (unit, (kind,)): Overload(INT, _times(factor))
        for unit, factor in (("KiB", 2**10), ("MiB", 2**20), ("GiB", 2**30), ("TiB", 2**40))
        for kind in (INT, DOUBLE)
    },
}

METHODS: dict[tuple[str, tuple[Type, ...]], Overload] = {
    ("size", (STRING,)): Overload(INT, _length),
    ("startsWith", (STRING, STRING)): Overload(BOOL, lambda text, part: decide_pairs(text, part, _STARTSWITH)),
    ("endsWith", (STRING, STRING)): Overload(BOOL, lambda text, part: decide_pairs(text, part, _ENDSWITH)),
    ("contains", (STRING, STRING)): Overload(BOOL, lambda text, part: decide_pairs(text, part, _CONTAINS)),
    ("lowerAscii", (STRING,)): Overload(STRING, lambda text: rewritten(text, _lower)),
    ("upperAscii", (STRING,)): Overload(STRING, lambda text: rewritten(text, _upper)),
}

#: Functions of a text that is written out: computed once, when the expression is submitted.
QUANTITIES: dict[str, tuple[Type, Callable[[object], Any]]] = {
    "quantity": (INT, parse_bytes),
    "cores": (DOUBLE, parse_cores),
}

ARITHMETIC = frozenset(name for name, _ in OPERATORS)
KNOWN_FUNCTIONS = frozenset(name for name, _ in FUNCTIONS) | set(QUANTITIES) | {"has", "matches", "size"}
KNOWN_METHODS = frozenset(name for name, _ in METHODS) | {"matches", "all", "exists", "exists_one", "filter", "map"}


def quantity(name: str, text: str) -> tuple[Type, Value]:
    """Raises ValueError for what is no quantity."""
    gives, read = QUANTITIES[name]
    return gives, constant(read(text))


@lru_cache(maxsize=PATTERNS_KEPT)
def pattern(text: str) -> Callable[[str], bool]:
    """Whether a string contains a match; in linear time, whatever the pattern. Raises ValueError for a bad one."""
    import re2  # type: ignore[import-untyped]  # takes some milliseconds, which only those who use it should wait for

    options = re2.Options()
    options.log_errors = False
    options.max_mem = 1 << 20
    try:
        compiled = re2.compile(text, options)
    except re2.error as error:
        said = error.args[0] if error.args else "it cannot be read"
        raise ValueError(said.decode() if isinstance(said, bytes) else str(said)) from None
    if compiled.programsize > MAX_PATTERN:
        words = f"it has {compiled.programsize} steps; at most {MAX_PATTERN} are accepted"
        raise ValueError(f"{words}: repeat less, or ask for several patterns")
    # Asking it costs microseconds, and the same labels are asked about at every decision.
    return lru_cache(maxsize=ANSWERS_KEPT)(lambda value: compiled.search(value) is not None)
