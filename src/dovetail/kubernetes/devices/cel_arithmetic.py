"""Sums, differences, products and quotients in selectors of devices.

Guarantees: whole numbers stay within 64 bits or are an error, and are divided towards zero; doubles follow IEEE 754,
also beyond what Python would compute; the two are never mixed, and nothing else is taken for a number. Strings and
lists are put together with `+`.
"""

import math
from typing import Any

from dovetail.kubernetes.devices.cel_values import CelError, kind_of, no_overload, sized, whole


def minus(value: Any) -> Any:
    kind = kind_of(value)
    if kind not in ("int", "double"):
        raise no_overload("-", kind)
    return whole(-value) if kind == "int" else -value


def computed(name: str, left: Any, right: Any) -> Any:
    one, other = kind_of(left), kind_of(right)
    if one == other == "int":
        return whole(_of_integers(name, left, right))
    if one == other == "double" and name != "%":
        return _of_doubles(name, left, right)
    if one == other and one in ("string", "list") and name == "+":
        return sized(left + right)
    raise no_overload(name, one, other)


def _of_integers(name: str, left: int, right: int) -> int:
    if name in "+-":
        return left + right if name == "+" else left - right
    if name == "*":
        return left * right
    if right == 0:
        raise CelError("division by zero" if name == "/" else "modulus by zero")
    quotient = abs(left) // abs(right)  # towards zero, which // is not
    quotient = quotient if (left < 0) == (right < 0) else -quotient
    return quotient if name == "/" else left - quotient * right


def _of_doubles(name: str, left: float, right: float) -> float:
    if name in "+-":
        return left + right if name == "+" else left - right
    if name == "*":
        return left * right
    if right == 0:
        return math.nan if left == 0 or math.isnan(left) else math.copysign(math.inf, left) * math.copysign(1, right)
    return left / right
