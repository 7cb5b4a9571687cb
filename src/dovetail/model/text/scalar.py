"""The value of unquoted YAML scalars, by the core schema of YAML 1.2.

Guarantees: only `true` and `false` (also capitalised) are booleans, so `no`, `on` and `yes` stay text; there are no
sexagesimal numbers, no `1_000` and no dates. A number keeps its spelling if it differs from the usual one (`1.10`,
`007`, `0x1F`), because a field such as a label may need it as text.
"""

import re
from typing import Self

MAX_DIGITS = 100  # longer numbers stay text: no field accepts them, and converting them is slow

_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", re.ASCII)
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", re.ASCII)
_SPECIAL = re.compile(r"([-+]?)\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)", re.ASCII)
_MAY_START_A_NUMBER = frozenset("+-.0123456789")


class _Written:
    """A number that prints as it was written."""

    written: str

    @classmethod
    def of(cls, text: str, number: float) -> Self:
        made = cls(number)  # type: ignore[call-arg]  # the other base takes it
        made.written = text
        return made

    def __repr__(self) -> str:
        return self.written


class WrittenInt(_Written, int):
    pass


class WrittenFloat(_Written, float):
    pass


def plain_value(text: str) -> bool | int | float | str | None:
    """The value of an unquoted scalar."""
    if text in _NULL:
        return None
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    if text[0] not in _MAY_START_A_NUMBER or len(text) > MAX_DIGITS:
        return text
    if _INT.fullmatch(text):
        whole = int(text, 0) if text[:2] in ("0x", "0o") else int(text)
        return whole if str(whole) == text else WrittenInt.of(text, whole)
    if _FLOAT.fullmatch(text):
        number = float(text)
        return number if str(number) == text else WrittenFloat.of(text, number)
    special = _SPECIAL.fullmatch(text)
    if special:
        return WrittenFloat.of(text, float("nan") if special[1] is None else float(special[1] + "inf"))
    return text
