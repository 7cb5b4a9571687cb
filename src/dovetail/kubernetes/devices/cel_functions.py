"""The functions that selectors of devices may call: those of CEL and those that Kubernetes adds, by what they take.

Guarantees: one entry for each name and the kinds it takes, nothing is converted to fit; what is called otherwise raises
`CelError`. Strings are counted in characters. Patterns are RE2, in linear time. Left out on purpose, so that a selector
with them is refused rather than misread: unsigned numbers, bytes, times, optionals, formatting, addresses, URLs.
"""

import re
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

from dovetail.kubernetes.devices.cel_quantity import INT_MAX, INT_MIN, Quantity
from dovetail.kubernetes.devices.cel_values import (
    KINDS,
    CelError,
    kind_of,
    no_overload,
    quantity,
    read_version,
    sized,
    whole,
)

Function = Callable[..., Any]

PATTERNS_KEPT = 1024
_PATTERN_MEMORY_BYTES = 1 << 20
_INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)
_FLOAT = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", re.ASCII)
_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_UPPER = {code: code - 32 for code in range(ord("a"), ord("z") + 1)}
#: What Unicode calls white space; str.strip() also takes the separators of ASCII, which are none.
_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))


def call(name: str, overloads: dict[tuple[str, ...], Function], args: list[Any]) -> Any:
    kinds = tuple([kind_of(arg) for arg in args])
    found = overloads.get(kinds)
    if found is None:
        raise no_overload(f"{name}()", *kinds)
    return found(*args)


@lru_cache(maxsize=PATTERNS_KEPT)
def _pattern(text: str) -> Any:
    import re2  # type: ignore[import-untyped]  # takes some milliseconds, which only those who use it should wait for

    options = re2.Options()
    options.log_errors = False
    options.max_mem = _PATTERN_MEMORY_BYTES
    try:
        return re2.compile(text, options)
    except re2.error as error:
        said = error.args[0] if error.args else "it cannot be read"
        words = said.decode() if isinstance(said, bytes) else str(said)
        raise CelError(f"the pattern {text!r} is wrong: {words}") from None


def _matches(text: str, pattern: str) -> bool:
    return _pattern(pattern).search(text) is not None


def _find(text: str, pattern: str) -> str:
    found = _pattern(pattern).search(text)
    return str(found[0]) if found is not None else ""


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    found: list[str] = []
    before = -1
    for match in _pattern(pattern).finditer(text):
        if 0 <= limit <= len(found):
            break
        # An empty match right behind another one does not count.
        if match.end() > match.start() or match.start() != before:
            found.append(str(match[0]))
        before = match.end()
    return found


def _split(text: str, by: str, limit: int = -1) -> list[str]:
    if limit == 0:
        return []
    if by:
        return text.split(by, limit - 1 if limit > 0 else -1)
    signs = list(text)
    return [*signs[: limit - 1], "".join(signs[limit - 1 :])] if 0 < limit < len(signs) else signs


def _replace(text: str, old: str, new: str, limit: int = -1) -> str:
    count = text.count(old) if limit < 0 else min(limit, text.count(old))
    if count * max(0, len(new) - len(old)) > 0:
        sized(range(len(text) + count * (len(new) - len(old))))  # before anything of that length is made
    return text.replace(old, new, max(limit, -1))


def _substring(text: str, start: int, end: int | None = None) -> str:
    end = len(text) if end is None else end
    if not 0 <= start <= end <= len(text):
        raise CelError(f"index out of range: substring({start}, {end}) of a text of {len(text)} characters")
    return text[start:end]


def _char_at(text: str, at: int) -> str:
    if not 0 <= at <= len(text):
        raise CelError(f"index out of range: charAt({at}) of a text of {len(text)} characters")
    return text[at : at + 1]


def _index_of(text: str, part: str, start: int = 0) -> int:
    if not part:
        return start
    if start < 0:
        raise CelError(f"index out of range: {start}")
    return text.find(part, start)


def _join(items: list[Any], by: str = "") -> str:
    if any(not isinstance(item, str) for item in items):
        raise CelError("no such overload: join() of a list that holds more than strings")
    sized(range(sum(map(len, items)) + len(by) * len(items)))
    return by.join(items)


def _int_of(text: str) -> int:
    if len(text) > len(str(INT_MIN)) * 2 or not _INTEGER.fullmatch(text):
        raise CelError(f"{text[:40]!r} is not a whole number")
    return whole(int(text))


def _truncated(number: float) -> int:
    if not INT_MIN < number < INT_MAX:  # the bounds themselves are not exact as doubles; NaN is in no range
        raise CelError(f"integer overflow: {number} does not fit into 64 bits")
    return int(number)


def _double_of(text: str) -> float:
    if not _FLOAT.fullmatch(text):
        raise CelError(f"{text[:40]!r} is not a number")
    return float(text)


def _bool_of(text: str) -> bool:
    if text in ("true", "True", "TRUE", "t", "T", "1"):
        return True
    if text in ("false", "False", "FALSE", "f", "F", "0"):
        return False
    raise CelError(f"{text[:40]!r} is neither true nor false")


def _is(read: Callable[..., Any], *args: Any) -> bool:
    try:
        read(*args)
    except CelError:
        return False
    return True


def _sign(left: Any, right: Any) -> int:
    return int(left > right) - int(left < right)


def _as_integer(amount: Quantity) -> int:
    if not amount.is_integer:
        raise CelError("cannot convert value to integer")
    return amount.integer


_SIZES: dict[tuple[str, ...], Function] = {("string",): len, ("list",): len, ("map",): len}
_SIGN: dict[tuple[str, ...], Function] = {("quantity",): lambda one: _sign(one.nanos, 0)}
_MATCHES: dict[tuple[str, ...], Function] = {("string", "string"): _matches}
_LIKE = (("quantity", "quantity"), ("semver", "semver"))

#: Called by name alone.
FUNCTIONS: dict[str, dict[tuple[str, ...], Function]] = {
    "size": _SIZES,
    "sign": _SIGN,
    "matches": _MATCHES,
    "quantity": {("string",): quantity},
    "isQuantity": {("string",): partial(_is, quantity)},
    "semver": {("string",): read_version, ("string", "bool"): read_version},
    "isSemver": {("string",): partial(_is, read_version), ("string", "bool"): partial(_is, read_version)},
    "int": {("int",): int, ("double",): _truncated, ("string",): _int_of},
    "double": {("double",): float, ("int",): float, ("string",): _double_of},
    # How a double is written differs from language to language, so there is no string(1.5).
    "string": {("string",): str, ("int",): str, ("bool",): lambda one: "true" if one else "false"},
    "bool": {("bool",): bool, ("string",): _bool_of},
    "dyn": {(kind,): lambda one: one for kind in KINDS},
}

#: Called on a value, which is the first they take.
METHODS: dict[str, dict[tuple[str, ...], Function]] = {
    "size": _SIZES,
    "sign": _SIGN,
    "matches": _MATCHES,
    "startsWith": {("string", "string"): str.startswith},
    "endsWith": {("string", "string"): str.endswith},
    "contains": {("string", "string"): str.__contains__},
    "find": {("string", "string"): _find},
    "findAll": {("string", "string"): _find_all, ("string", "string", "int"): _find_all},
    "lowerAscii": {("string",): lambda text: text.translate(_LOWER)},
    "upperAscii": {("string",): lambda text: text.translate(_UPPER)},
    "trim": {("string",): lambda text: text.strip(_SPACE)},
    "split": {("string", "string"): _split, ("string", "string", "int"): _split},
    "replace": {("string", "string", "string"): _replace, ("string", "string", "string", "int"): _replace},
    "substring": {("string", "int"): _substring, ("string", "int", "int"): _substring},
    "charAt": {("string", "int"): _char_at},
    "indexOf": {("string", "string"): _index_of, ("string", "string", "int"): _index_of},
    "lastIndexOf": {("string", "string"): str.rfind},
    "join": {("list",): _join, ("list", "string"): _join},
    "compareTo": dict.fromkeys(_LIKE, _sign),
    "isGreaterThan": dict.fromkeys(_LIKE, lambda left, right: left > right),
    "isLessThan": dict.fromkeys(_LIKE, lambda left, right: left < right),
    "asInteger": {("quantity",): _as_integer},
    "asApproximateFloat": {("quantity",): lambda one: one.approximately},
    "isInteger": {("quantity",): lambda one: one.is_integer},
    "add": {
        ("quantity", "quantity"): lambda left, right: left + right,
        ("quantity", "int"): lambda left, right: left + Quantity.of_integer(right),
    },
    "sub": {
        ("quantity", "quantity"): lambda left, right: left - right,
        ("quantity", "int"): lambda left, right: left - Quantity.of_integer(right),
    },
    "major": {("semver",): lambda version: version.major},
    "minor": {("semver",): lambda version: version.minor},
    "patch": {("semver",): lambda version: version.patch},
}
