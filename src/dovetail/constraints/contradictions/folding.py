"""The value of an expression where everything it refers to is known, or constant.

Guarantees: a returned value is the one the array program would compute. What this module does not understand is
`UNKNOWN`, never a guess; what the language calls an error on a node (a missing label, a division by zero) is `FAILED`.
Types are not checked here: the expression has passed the checker before.
"""

import math
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, Final

from dovetail.constraints.programs.functions import QUANTITIES, pattern, read_bool, read_double, read_int
from dovetail.constraints.syntax.tree import Call, ListOf, Literal, Tree
from dovetail.constraints.syntax.writer import INT_MAX, INT_MIN


class Nothing(Enum):
    UNKNOWN = "unknown"
    FAILED = "failed"


UNKNOWN: Final = Nothing.UNKNOWN
FAILED: Final = Nothing.FAILED

Known = Mapping[Tree, Any]
NOTHING_KNOWN: Known = {}


def value_of(tree: Tree, known: Known = NOTHING_KNOWN) -> Any:
    """The value of the tree, with these parts of it known."""
    if known and tree in known:
        return known[tree]
    match tree:
        case Literal(value):
            return value
        case ListOf(items):
            return _strictly(lambda *values: values, [value_of(item, known) for item in items])
        case Call("&&" | "||" as operator, args):
            return _joined(operator == "||", [value_of(arg, known) for arg in args])
        case Call("?:", (condition, yes, no)):
            chosen = value_of(condition, known)
            return value_of(yes if chosen else no, known) if isinstance(chosen, bool) else chosen
        case Call(name, args):
            function = _FUNCTIONS.get((name, len(args)))
            values = [value_of(arg, known) for arg in args]
            return UNKNOWN if function is None else _strictly(function, values)
    return UNKNOWN


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _joined(decisive: bool, values: list[Any]) -> Any:
    """One deciding side outweighs an error or an unknown on the other."""
    if any(value is decisive for value in values):
        return decisive
    for nothing in (UNKNOWN, FAILED):
        if nothing in values:
            return nothing
    return not decisive


def _strictly(function: Callable[..., Any], values: list[Any]) -> Any:
    """An error or something unknown in any argument is passed on."""
    if UNKNOWN in values:
        return UNKNOWN
    if FAILED in values:
        return FAILED
    try:
        found = function(*values)
    except (ArithmeticError, ValueError):
        return FAILED
    except TypeError:
        return UNKNOWN
    if isinstance(found, int) and not INT_MIN <= found <= INT_MAX:
        return FAILED
    return found


def _alike(left: Any, right: Any) -> bool:
    """Numbers compare with numbers, everything else only with its own type."""
    if is_number(left) and is_number(right):
        return True
    if type(left) is not type(right):
        raise TypeError
    return True


def _compared(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    return lambda left, right: _alike(left, right) and compare(left, right)


def _computed(compute: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def both(left: Any, right: Any) -> Any:
        if type(left) is not type(right) or isinstance(left, bool):
            raise TypeError
        return compute(left, right)

    return both


def divided(left: Any, right: Any) -> Any:
    """Integers are truncated towards zero; a double divided by zero is infinite or NaN."""
    if isinstance(left, int):
        quotient = abs(left) // abs(right)
        return quotient if (left < 0) == (right < 0) else -quotient
    if right == 0:
        return math.nan if left == 0 or math.isnan(left) else math.copysign(math.inf, left) * math.copysign(1, right)
    return left / right


def _remainder(left: Any, right: Any) -> Any:
    if not isinstance(left, int):
        raise TypeError
    return left - right * divided(left, right)


def _negated(value: Any) -> Any:
    if not is_number(value):
        raise TypeError
    return -value


def _among(value: Any, items: Any) -> bool:
    if not isinstance(items, tuple):
        raise TypeError
    return any(_alike(value, item) and value == item for item in items)


def _scaled(factor: int) -> Callable[[Any], int]:
    """Fractions that are not whole are left to the program, which knows how it rounds."""

    def scale(amount: Any) -> int:
        if not is_number(amount) or amount * factor != int(amount * factor):
            raise TypeError
        return int(amount * factor)

    return scale


def _read(read: Callable[[str], Any]) -> Callable[[Any], Any]:
    """A conversion of a string; an impossible one is an error."""

    def convert(value: Any) -> Any:
        if not isinstance(value, str):
            raise TypeError
        found = read(value)
        return FAILED if found is None else found

    return convert


_FUNCTIONS: dict[tuple[str, int], Callable[..., Any]] = {
    ("!", 1): lambda value: not value,
    ("-", 1): _negated,
    ("==", 2): _compared(lambda left, right: left == right),
    ("!=", 2): _compared(lambda left, right: left != right),
    ("<", 2): _compared(lambda left, right: left < right),
    ("<=", 2): _compared(lambda left, right: left <= right),
    (">", 2): _compared(lambda left, right: left > right),
    (">=", 2): _compared(lambda left, right: left >= right),
    ("+", 2): _computed(lambda left, right: left + right),
    ("-", 2): _computed(lambda left, right: left - right),
    ("*", 2): _computed(lambda left, right: left * right),
    ("/", 2): _computed(divided),
    ("%", 2): _computed(_remainder),
    ("in", 2): _among,
    ("KiB", 1): _scaled(2**10),
    ("MiB", 1): _scaled(2**20),
    ("GiB", 1): _scaled(2**30),
    ("TiB", 1): _scaled(2**40),
    ("size", 1): len,
    ("startsWith", 2): str.startswith,
    ("endsWith", 2): str.endswith,
    ("contains", 2): lambda text, part: part in text,
    ("matches", 2): lambda text, wanted: pattern(wanted)(text),
    ("int", 1): _read(read_int),
    ("double", 1): _read(read_double),
    ("bool", 1): _read(read_bool),
    **{(name, 1): read for name, (_, read) in QUANTITIES.items()},
}
