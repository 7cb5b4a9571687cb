"""What a selector of devices computes with: the kinds of values, quantities, versions, comparison and arithmetic.

Values are plain Python ones (bool, int, float, str, list, dict, None), quantities and versions. Guarantees: whole
numbers stay within 64 bits or are an error, and are divided towards zero; doubles follow IEEE 754, also where Python
would raise; a boolean is never a number; a whole number and a double compare by value and are never mixed in
arithmetic; what has no value in CEL raises `CelError`. Every step that an expression can multiply is counted
(`CelBudget`), as are texts and lists that grow. Left to others: which functions there are (`cel_functions.py`).
"""

import math
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import total_ordering
from typing import Any

from dovetail.kubernetes.devices.cel_quantity import INT_MAX, INT_MIN, Quantity, read_quantity
from dovetail.kubernetes_client.quantity import BadQuantity

MAX_STEPS = 100_000
MAX_SIZE = 100_000
_MOST_IN_A_VERSION = 2**64 - 1

_NUMBER = "0|[1-9][0-9]*"
_PART = f"(?:{_NUMBER}|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_SEMVER = re.compile(
    rf"({_NUMBER})\.({_NUMBER})\.({_NUMBER})(?:-({_PART}(?:\.{_PART})*))?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?",
    re.ASCII,
)


class CelError(Exception):
    """An expression has no value here; says why. `&&`, `||`, `all` and `exists` go on in spite of it, as CEL does."""


class TooMuch(Exception):
    """An expression takes more steps or memory than it may; it always ends the evaluation."""


class CelBudget:
    """What is left of the steps that one evaluation may take."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = MAX_STEPS

    def spend(self, steps: int = 1) -> None:
        self._left -= steps
        if self._left < 0:
            raise TooMuch(f"it takes more than {MAX_STEPS} steps; go over fewer items")


@total_ordering
@dataclass(frozen=True, slots=True)
class Version:
    """A semantic version; build metadata says nothing about order and is left out."""

    major: int
    minor: int
    patch: int
    prerelease: tuple[int | str, ...] = ()

    def _rank(self) -> tuple[Any, ...]:
        # Numbers come before words, and any prerelease before the release itself.
        parts = tuple((0, part, "") if isinstance(part, int) else (1, 0, part) for part in self.prerelease)
        return self.major, self.minor, self.patch, not parts, parts

    def __lt__(self, other: "Version") -> bool:
        return self._rank() < other._rank()


Kind = str

_KINDS: dict[type, Kind] = {
    bool: "bool",
    int: "int",
    float: "double",
    str: "string",
    list: "list",
    type(None): "null",
    Quantity: "quantity",
    Version: "semver",
}
KINDS = (*_KINDS.values(), "map")
_NUMERIC = frozenset({"int", "double"})
_ORDERED = frozenset({"bool", "int", "double", "string"})
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_COMPUTE: dict[str, Callable[[Any, Any], Any]] = {"+": operator.add, "-": operator.sub, "*": operator.mul}


def kind_of(value: Any) -> Kind:
    return _KINDS.get(type(value), "map")


def quantity(text: str) -> Quantity:
    try:
        return read_quantity(text)
    except BadQuantity as error:
        raise CelError(str(error)) from None


def read_version(text: str, loosely: bool = False) -> Version:
    """By the grammar of Semantic Versioning 2.0. `loosely`: also with a v before it, leading zeros, or without its
    minor and patch numbers."""
    found = _SEMVER.fullmatch(_strict(text) if loosely else text)
    if found is None:
        raise CelError(f"{text!r} is not a semantic version; write it like 1.2.3 or 1.2.3-rc.1")
    numbers = [int(found[at]) for at in (1, 2, 3)]
    written = found[4].split(".") if found[4] else []
    parts = tuple(int(part) if part.isdecimal() else part for part in written)
    if max([*numbers, *(part for part in parts if isinstance(part, int))]) > _MOST_IN_A_VERSION:
        raise CelError(f"{text!r} has a number that does not fit into 64 bits")
    return Version(numbers[0], numbers[1], numbers[2], parts)


def _strict(text: str) -> str:
    parts = text.removeprefix("v").split(".", 2)
    if len(parts) < 3 and re.search("[-+]", parts[-1]):
        raise CelError(f"{text!r} is a short version, which can have no prerelease and no build metadata")
    for at, part in enumerate(parts):
        stripped = part.lstrip("0")
        if len(part) > 1:
            parts[at] = stripped if stripped[:1] in tuple("123456789") else "0" + stripped
    return ".".join([*parts, "0", "0"][:3])


def whole(number: int) -> int:
    if not INT_MIN <= number <= INT_MAX:
        raise CelError(f"integer overflow: {number} does not fit into 64 bits")
    return number


def sized(value: Any) -> Any:
    """A text or a list that was put together from others."""
    if len(value) > MAX_SIZE:
        raise TooMuch(f"it makes a text or a list longer than {MAX_SIZE}")
    return value


def equal(left: Any, right: Any, work: CelBudget) -> bool:
    """As `left == right`. Quantities and versions compare only with their own kind; other values of different kinds are
    different."""
    work.spend()
    one, other = kind_of(left), kind_of(right)
    if one != other:
        if one in ("quantity", "semver"):
            raise no_overload("==", one, other)
        return one in _NUMERIC and other in _NUMERIC and bool(left == right)
    if one == "list":
        return len(left) == len(right) and all(equal(mine, its, work) for mine, its in zip(left, right, strict=True))
    if one == "map":
        return left.keys() == right.keys() and all(equal(mine, right[key], work) for key, mine in left.items())
    return bool(left == right)


def within(item: Any, container: Any, work: CelBudget) -> bool:
    """As `item in container`: one of a list, a key of a map. What does not compare is not the same."""
    if kind_of(container) == "map":
        return isinstance(item, str) and item in container
    if kind_of(container) != "list":
        raise no_overload("in", kind_of(item), kind_of(container))
    return any(_alike(item, one, work) for one in container)


def includes(value: Any, item: Any, work: CelBudget) -> bool:
    """Of a list whether the item is in it, of any other value whether the item equals it."""
    return any(_alike(one, item, work) for one in (value if kind_of(value) == "list" else [value]))


def _alike(left: Any, right: Any, work: CelBudget) -> bool:
    try:
        return equal(left, right, work)
    except CelError:
        return False


def compared(sign: str, left: Any, right: Any) -> bool:
    one, other = kind_of(left), kind_of(right)
    if one not in _ORDERED or (one != other and not (one in _NUMERIC and other in _NUMERIC)):
        raise no_overload(sign, one, other)
    return _COMPARE[sign](left, right)


def minus(value: Any) -> Any:
    kind = kind_of(value)
    if kind not in _NUMERIC:
        raise no_overload("-", kind)
    return whole(-value) if kind == "int" else -value


def computed(sign: str, left: Any, right: Any) -> Any:
    one, other = kind_of(left), kind_of(right)
    if one == other and one in ("string", "list") and sign == "+":
        return sized(left + right)
    if one != other or one not in _NUMERIC or (one == "double" and sign == "%"):
        raise no_overload(sign, one, other)
    if sign in _COMPUTE:
        found = _COMPUTE[sign](left, right)
    else:
        found = _divided(sign, left, right) if one == "int" else _quotient(left, right)
    return whole(found) if one == "int" else found


def _divided(sign: str, left: int, right: int) -> int:
    if right == 0:
        raise CelError("division by zero" if sign == "/" else "modulus by zero")
    quotient = abs(left) // abs(right)  # towards zero, which // is not
    quotient = quotient if (left < 0) == (right < 0) else -quotient
    return quotient if sign == "/" else left - quotient * right


def _quotient(left: float, right: float) -> float:
    if right == 0:
        return math.nan if left == 0 or math.isnan(left) else math.copysign(math.inf, left) * math.copysign(1, right)
    return left / right


def no_overload(name: str, *kinds: Kind) -> CelError:
    return CelError(f"no such overload: {name} of {' and '.join(kinds) or 'nothing'}")
