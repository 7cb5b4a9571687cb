"""Conversions between strings and numbers, to the letter as Google's implementation of CEL does them."""

import math
import re
from collections.abc import Callable, Sequence

import numpy as np

from dovetail.constraints.programs.values import Column, Strings
from dovetail.constraints.syntax.literals import INT_MAX, INT_MIN

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
