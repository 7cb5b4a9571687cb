"""Quantities in selectors of devices.

Amounts are exact (`kubernetes_client.quantity`). Guarantees: quantities compare by value, however they are written;
`is_integer` answers as Kubernetes does, which goes by how an amount is written, not only by its value: `1000m` and
`200Ti` are no integers there, `1` and `20Ti` are. `scale` records how it was written.
"""

import math
import re
from dataclasses import dataclass, field

from dovetail.kubernetes_client.quantity import BadQuantity, nanos

INT_MIN, INT_MAX = -(2**63), 2**63 - 1

_NANO = 10**9
_FINEST = -9
_WRITTEN = re.compile(r"(?P<sign>[+-]?)0*(?P<whole>[0-9]*)(?:\.(?P<part>[0-9]*))?(?P<suffix>.*)", re.ASCII | re.DOTALL)
_BINARY = {f"{letter}i": 10 * (power + 1) for power, letter in enumerate("KMGTPE")}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_DECIMAL_DIGITS = 18  # as many as surely fit into 64 bits
_BINARY_DIGITS = 14


@dataclass(frozen=True, slots=True, order=True)
class Quantity:
    """`scale`: the power of ten that Kubernetes counts it in, with 64 bits; None where 64 bits do not do."""

    nanos: int
    scale: int | None = field(default=0, compare=False)

    @classmethod
    def of_integer(cls, number: int) -> "Quantity":
        return cls(number * _NANO)

    @property
    def is_integer(self) -> bool:
        return self.scale is not None and self.scale >= 0 and INT_MIN <= self.nanos // _NANO <= INT_MAX

    @property
    def integer(self) -> int:
        """Only where it is one."""
        return self.nanos // _NANO

    @property
    def approximately(self) -> float:
        try:
            return self.nanos / _NANO
        except OverflowError:
            return math.copysign(math.inf, self.nanos)

    def __neg__(self) -> "Quantity":
        return Quantity(-self.nanos, self.scale)

    def __add__(self, other: "Quantity") -> "Quantity":
        return Quantity(self.nanos + other.nanos, self._scale_with(other))

    def __sub__(self, other: "Quantity") -> "Quantity":
        return self + -other

    def _scale_with(self, other: "Quantity") -> int | None:
        if self.scale is None or other.scale is None:
            return None
        if other.nanos == 0:
            return self.scale
        if self.nanos == 0:
            return other.scale
        scale = min(self.scale, other.scale)
        unit = 10 ** (scale - _FINEST)
        counts = (self.nanos // unit, other.nanos // unit, (self.nanos + other.nanos) // unit)
        return scale if all(INT_MIN <= count <= INT_MAX for count in counts) else None


def read_quantity(text: str) -> Quantity:
    """Raises BadQuantity. Kubernetes takes a unit without a number for nothing of it: `Mi` is 0."""
    found = _WRITTEN.fullmatch(text)
    if not text or found is None:
        raise BadQuantity(f"{text!r} is not a quantity; write it like 2, 500m, 1.5Gi or 2e3")
    whole, part, suffix = found["whole"] or "0", found["part"] or "", found["suffix"]
    numbered = any(sign.isdigit() for sign in text[: found.start("suffix")])
    try:
        amount_nanos = nanos(text if numbered else f"0{suffix}")
    except BadQuantity as error:
        raise error if numbered else BadQuantity(f"{text!r} is not a quantity: it has no number and no unit") from None
    scale = _scale(whole, part, suffix)
    if scale is None and not numbered:
        raise BadQuantity(f"{text!r} has no number; write one before the unit")
    if scale is None and suffix in _BINARY:  # as much as there can be
        amount_nanos = max(-INT_MAX * _NANO, min(amount_nanos, INT_MAX * _NANO))
    return Quantity(amount_nanos, scale)


def _scale(whole: str, part: str, suffix: str) -> int | None:
    if suffix in _BINARY:
        power = _BINARY[suffix]
        fits = not part and len(whole) + power * 3 // 10 <= _BINARY_DIGITS and int(whole) << power <= INT_MAX
        return 0 if fits else None
    scale = (_DECIMAL[suffix] if suffix in _DECIMAL else int(suffix[1:])) - len(part)
    return scale if len(whole) + len(part) <= _DECIMAL_DIGITS and scale >= _FINEST else None
