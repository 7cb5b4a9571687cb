"""Quantities with the units people type: `500m`, `1.5`, `64GiB`, `10m`, `200Gbps`.

Each kind of quantity has one parser and one formatter, and they are inverse: `parse(format(x)) == x`.
Inside the program amounts are whole numbers of the smallest unit (millicores, bytes, milli-GPUs), so that
sums are exact and a node that gave everything back is exactly empty again.
"""

import math
import re
from collections.abc import Callable
from typing import Annotated

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

_NUMBER = re.compile(r"\s*([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)\s*([A-Za-zµ]*)\s*", re.ASCII)
_DURATION_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|us|s|m|h|d|w)")

BYTE_UNITS = {
    "": 1, "b": 1,
    "k": 10**3, "kb": 10**3, "m": 10**6, "mb": 10**6, "g": 10**9, "gb": 10**9,
    "t": 10**12, "tb": 10**12, "p": 10**15, "pb": 10**15,
    "ki": 2**10, "kib": 2**10, "mi": 2**20, "mib": 2**20, "gi": 2**30, "gib": 2**30,
    "ti": 2**40, "tib": 2**40, "pi": 2**50, "pib": 2**50,
}  # fmt: skip
DURATION_UNITS_S = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}

MAX_CORES = 1_000_000.0
MAX_BYTES = 8 * 2**50  # float64 columns hold whole bytes exactly up to here
MAX_COUNT = 10**12
MAX_DURATION_S = 100 * 365 * 86400.0


def _split(value: object, accepted: str) -> tuple[float, str]:
    """A number and its unit as typed; refuses booleans, NaN, infinities and anything that is not a quantity."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"{value!r} is not a quantity; write {accepted}")
    if isinstance(value, int | float):
        number, unit = float(value), ""
    else:
        match = _NUMBER.fullmatch(value)
        if not match:
            raise ValueError(f"{value!r} is not a quantity; write {accepted}")
        number, unit = float(match[1]), match[2]
    if not math.isfinite(number):
        raise ValueError(f"{value!r} is not a finite number; write {accepted}")
    return number, unit


def _within(value: object, number: float, most: float, shown_most: str, accepted: str) -> float:
    if number < 0:
        raise ValueError(f"{value!r} is negative; write {accepted}")
    if number > most:
        raise ValueError(f"{value!r} is absurdly large; the most is {shown_most}")
    return number


def parse_cores(value: object) -> float:
    accepted = "a number of cores such as 2, 0.5 or 500m"
    number, unit = _split(value, accepted)
    if unit not in ("", "m"):
        raise ValueError(f"unknown unit {unit!r} in {value!r}; write {accepted}")
    cores = _within(value, number / 1000 if unit == "m" else number, MAX_CORES, "1000000 cores", accepted)
    if cores and round(cores * 1000) < 1:
        raise ValueError(f"{value!r} is below the smallest share, 1m (a thousandth of a core)")
    return round(cores * 1000) / 1000


def format_cores(cores: float) -> str:
    milli = round(cores * 1000)
    return str(milli // 1000) if milli % 1000 == 0 else f"{milli}m"


def parse_bytes(value: object) -> int:
    accepted = "bytes with a unit such as 512MiB, 64GiB, 10GB or 1048576"
    number, unit = _split(value, accepted)
    factor = BYTE_UNITS.get(unit.lower())
    if factor is None:
        raise ValueError(f"unknown unit {unit!r} in {value!r}; write {accepted}")
    if unit == "m":
        raise ValueError(f"{value!r} would be thousandths of a byte; for megabytes write {value.strip()[:-1]}MB"
                         if isinstance(value, str) else f"unknown unit in {value!r}")  # fmt: skip
    return math.ceil(_within(value, number * factor, MAX_BYTES, "8PiB", accepted))


def format_bytes(amount: int) -> str:
    """The shortest exact text: `64GiB`, `1536MiB`, or plain bytes."""
    for unit, factor in (("PiB", 2**50), ("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if amount and amount % factor == 0:
            return f"{amount // factor}{unit}"
    return str(amount)


def show_bytes(amount: float) -> str:
    """For people: three figures are enough (`31.2GiB`)."""
    for unit, factor in (("PiB", 2**50), ("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if abs(amount) >= factor:
            scaled = amount / factor
            return f"{scaled:.0f}{unit}" if scaled == round(scaled) else f"{scaled:.1f}{unit}"
    return f"{amount:.0f}B"


def parse_duration_s(value: object) -> float:
    accepted = "a duration such as 30s, 10m, 6h, 1h30m or 2d (a bare number is seconds)"
    if isinstance(value, str) and value.strip() and not value.strip()[-1].isdigit():
        text = value.strip().replace(" ", "")
        parts = _DURATION_PART.findall(text)
        if not parts or "".join(number + unit for number, unit in parts) != text:
            raise ValueError(f"{value!r} is not a duration; write {accepted}")
        seconds = sum(float(number) * DURATION_UNITS_S[unit] for number, unit in parts)
    else:
        seconds, _ = _split(value, accepted)
    return _within(value, seconds, MAX_DURATION_S, "100 years", accepted)


def format_duration(seconds: float) -> str:
    """Exact for whole milliseconds: `1h30m`, `90s` becomes `1m30s`, `1.5` becomes `1s500ms`."""
    milli = round(seconds * 1000)
    if milli == 0:
        return "0s"
    text = ""
    for unit, size in (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)):
        count, milli = divmod(milli, size)
        if count:
            text += f"{count}{unit}"
    return text


def parse_count(value: object) -> int:
    accepted = "a whole number such as 4"
    number, unit = _split(value, accepted)
    if unit:
        raise ValueError(f"unknown unit {unit!r} in {value!r}; write {accepted}")
    _within(value, number, MAX_COUNT, str(MAX_COUNT), accepted)
    if number != int(number):
        raise ValueError(f"{value!r} is not whole; write {accepted}")
    return int(number)


def _schema(kind: str, pattern: Callable[[object], object], example: str) -> WithJsonSchema:
    return WithJsonSchema(
        {
            "anyOf": [{"type": "string"}, {"type": "number", "minimum": 0}],
            "description": kind,
            "examples": [example],
            "x-parser": pattern.__name__,
        }
    )


Cores = Annotated[
    float,
    BeforeValidator(parse_cores),
    PlainSerializer(format_cores, return_type=str),
    _schema("CPU cores", parse_cores, "500m"),
]
Bytes = Annotated[
    int,
    BeforeValidator(parse_bytes),
    PlainSerializer(format_bytes, return_type=str),
    _schema("bytes with a unit", parse_bytes, "64GiB"),
]
Duration = Annotated[
    float,
    BeforeValidator(parse_duration_s),
    PlainSerializer(format_duration, return_type=str),
    _schema("a duration", parse_duration_s, "10m"),
]
Count = Annotated[int, BeforeValidator(parse_count), WithJsonSchema({"type": "integer", "minimum": 0})]
