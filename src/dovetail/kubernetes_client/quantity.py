"""Amounts as Kubernetes writes them: `500m`, `1.5`, `64Mi`, `2e3`.

Exact: a quantity is a whole number of billionths, which is as fine as Kubernetes goes. Amounts are rounded up when they
become millicores or bytes, as they are there, and only then.
"""

import re
from functools import lru_cache

_NANO = 10**9
_SUFFIXES = {
    "n": 1,
    "u": 10**3,
    "m": 10**6,
    "": _NANO,
    **{letter: 1000 ** (power + 1) * _NANO for power, letter in enumerate("kMGTPE")},
    **{f"{letter}i": 1024 ** (power + 1) * _NANO for power, letter in enumerate("KMGTPE")},
}
_QUANTITY = re.compile(r"([+-]?)(\d*)(?:\.(\d*))?(?:([eE][+-]?\d+)|(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?)", re.ASCII)
_MOST_EXPONENT = 30


class BadQuantity(ValueError):
    """Not an amount as Kubernetes writes it."""


@lru_cache(maxsize=65536)
def nanos(text: str) -> int:
    """A quantity in billionths, rounded up. Raises BadQuantity."""
    found = _QUANTITY.fullmatch(text)
    if found is None or not (found[2] or found[3]):
        raise BadQuantity(f"{text!r} is not a quantity; write it like 2, 500m, 1.5Gi or 2e3")
    sign, whole, part, exponent, suffix = found.groups()
    digits = int((whole or "") + (part or ""))
    scale: int = _SUFFIXES[suffix or ""]
    below: int = 10 ** len(part or "")
    if exponent:
        power = int(exponent[1:])
        if abs(power) > _MOST_EXPONENT:
            raise BadQuantity(f"{text!r} has an exponent beyond {_MOST_EXPONENT}")
        scale, below = (scale * 10**power, below) if power >= 0 else (scale, below * 10**-power)
    digits = -digits if sign == "-" else digits
    return -(-digits * scale // below)


def milli(amount_nanos: int) -> int:
    """Thousandths, rounded up."""
    return -(-amount_nanos // 10**6)


def units(amount_nanos: int) -> int:
    """Whole ones, rounded up: bytes, pieces."""
    return -(-amount_nanos // _NANO)
