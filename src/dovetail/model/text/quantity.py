"""Quantities with the units people type: `500m`, `1.5`, `64GiB`, `10m`, `200Gbps`.

Each kind of quantity has one parser and one formatter, which are inverse: `parse(format(x)) == x`.
Internally amounts are whole numbers of the smallest unit (millicores, bytes, milli-GPUs), so sums are exact. Durations
are whole milliseconds, bandwidths whole Mbps, link latencies whole nanoseconds.
Invalid input raises a ValueError with a one-line message that says what is accepted.
"""

import math
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from types import UnionType
from typing import Annotated, Any, Union, cast, get_args, get_origin

from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema

from dovetail.model.text.amounts import BINARY_UNITS, DECIMAL_UNITS, shortest
from dovetail.model.text.amounts import format_bandwidth as format_bandwidth
from dovetail.model.text.amounts import show_bytes as show_bytes
from dovetail.model.text.strict import shown

# Three digits of exponent exceed the largest float; more would make arithmetic overflow.
_NUMBER = re.compile(r"([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?)\s*([A-Za-z]*)", re.ASCII)
_DURATION_PART = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|us|s|m|h|d|w)", re.ASCII)
_DURATION = re.compile(rf"{_DURATION_PART.pattern}(?:\s*{_DURATION_PART.pattern})*", re.ASCII)

BYTE_UNITS = {
    "": 1, "b": 1,
    "k": 10**3, "kb": 10**3, "m": 10**6, "mb": 10**6, "g": 10**9, "gb": 10**9,
    "t": 10**12, "tb": 10**12, "p": 10**15, "pb": 10**15,
    "ki": 2**10, "kib": 2**10, "mi": 2**20, "mib": 2**20, "gi": 2**30, "gib": 2**30,
    "ti": 2**40, "tib": 2**40, "pi": 2**50, "pib": 2**50,
}  # fmt: skip
DURATION_UNITS_US = {
    "us": 1, "ms": 10**3, "s": 10**6, "m": 60 * 10**6, "h": 3600 * 10**6,
    "d": 86_400 * 10**6, "w": 604_800 * 10**6,
}  # fmt: skip
BANDWIDTH_UNITS_BPS = {
    "bps": 1, "Bps": 8, "Kbps": 10**3, "Mbps": 10**6, "Gbps": 10**9, "Tbps": 10**12,
    "KBps": 8 * 10**3, "MBps": 8 * 10**6, "GBps": 8 * 10**9, "TBps": 8 * 10**12,
}  # fmt: skip
LATENCY_UNITS_NS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}

MAX_CORES = 1_000_000.0
MAX_BYTES = 8 * 2**50  # float64 columns hold whole bytes exactly up to here
MAX_COUNT = 10**12
MAX_MBPS = 10**9
MAX_LATENCY_NS = 10**10
MAX_DURATION_S = 100 * 365 * 86400.0
MAX_TYPED = 100  # characters; keeps matching fast


def _split(value: object, accepted: str) -> tuple[Decimal, str]:
    """A number and its unit; refuses booleans, NaN, infinities and anything else that is not a quantity. The number is
    decimal: as a binary float, 8.3GB would be slightly more than 8300000000 bytes."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"{shown(value)} is not a quantity; write {accepted}")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{shown(value)} is not a finite number; write {accepted}")
    if isinstance(value, int):
        if value.bit_length() > 1000:
            raise ValueError(f"{shown(value)} is {'negative' if value < 0 else 'too large'}; write {accepted}")
        return Decimal(value), ""
    text = float.__repr__(value) if isinstance(value, float) else value.strip()
    match = _NUMBER.fullmatch(text) if len(text) <= MAX_TYPED else None
    if not match:
        raise ValueError(f"{shown(value)} is not a quantity; write {accepted}")
    if not math.isfinite(float(match[1])):
        raise ValueError(f"{shown(value)} is not a finite number; write {accepted}")
    return Decimal(match[1]), match[2]


def _within(value: object, number: Decimal, most: float, shown_most: str, accepted: str) -> Decimal:
    if number < 0:
        raise ValueError(f"{shown(value)} is negative; write {accepted}")
    if number > most:
        raise ValueError(f"{shown(value)} is too large; the most is {shown_most}")
    return number


def parse_cores(value: object) -> float:
    cores = _cores(value)
    millicores = round(cores * 1000)
    if cores and not millicores:
        raise ValueError(f"{shown(value)} is below the smallest share, 1m (a thousandth of a core)")
    return millicores / 1000


def parse_measured_cores(value: object) -> float:
    """What a meter says, however little, in whole millicores."""
    return round(_cores(value) * 1000) / 1000


def _cores(value: object) -> Decimal:
    accepted = "a number of cores such as 2, 0.5 or 500m"
    number, unit = _split(value, accepted)
    if unit not in ("", "m"):
        raise ValueError(f"unknown unit {unit!r} in {shown(value)}; write {accepted}")
    return _within(value, number / 1000 if unit == "m" else number, MAX_CORES, "1000000 cores", accepted)


def format_cores(cores: float) -> str:
    milli = round(cores * 1000)
    return str(milli // 1000) if milli % 1000 == 0 else f"{milli}m"


def parse_bytes(value: object) -> int:
    accepted = "bytes with a unit such as 512MiB, 64GiB, 10GB or 1048576"
    number, unit = _split(value, accepted)
    factor = BYTE_UNITS.get(unit.lower())
    if factor is None:
        raise ValueError(f"unknown unit {unit!r} in {shown(value)}; write {accepted}")
    if unit == "m":
        raise ValueError(f"{shown(value)} would be thousandths of a byte; for megabytes write {number}MB")
    return math.ceil(_within(value, number * factor, MAX_BYTES, "8PiB", accepted))


def format_bytes(amount: int) -> str:
    """`64GiB`, `1536MiB`, `1TB`, or plain bytes: the shortest that is exact, as people write it."""
    return min((shortest(amount, units, "") for units in (BINARY_UNITS, DECIMAL_UNITS)), key=len)


def parse_duration_s(value: object) -> float:
    accepted = "a duration such as 30s, 10m, 6h, 1h30m or 2d (a bare number is seconds)"
    text = value.strip() if isinstance(value, str) else ""
    if text and not text[-1].isdigit() and not text.endswith("."):
        negative, positive = text.startswith("-"), text.removeprefix("-")
        if len(text) > MAX_TYPED or not _DURATION.fullmatch(positive):
            raise ValueError(f"{shown(value)} is not a duration; write {accepted}")
        parts = _DURATION_PART.findall(positive)
        microseconds = sum((Decimal(number) * DURATION_UNITS_US[unit] for number, unit in parts), Decimal(0))
        seconds = (-microseconds if negative else microseconds) / 10**6
    else:
        seconds, unit = _split(value, accepted)
        if unit:
            raise ValueError(f"{shown(value)} is not a duration; write {accepted}")
    _within(value, seconds, MAX_DURATION_S, "100 years", accepted)
    milliseconds = round(seconds * 1000)
    if seconds and not milliseconds:
        raise ValueError(f"{shown(value)} is below the shortest duration, 1ms")
    return milliseconds / 1000


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
        raise ValueError(f"unknown unit {unit!r} in {shown(value)}; write {accepted}")
    _within(value, number, MAX_COUNT, str(MAX_COUNT), accepted)
    if number != int(number):
        raise ValueError(f"{shown(value)} is not whole; write {accepted}")
    return int(number)


def parse_gpus(value: object) -> float:
    """Whole devices, or a share of one in thousandths."""
    accepted = "a whole number of GPUs such as 2, or a share of one such as 0.25 or 250m"
    number, unit = _split(value, accepted)
    if unit not in ("", "m"):
        raise ValueError(f"unknown unit {unit!r} in {shown(value)}; write {accepted}")
    gpus = _within(value, number / 1000 if unit == "m" else number, MAX_COUNT, str(MAX_COUNT), accepted)
    if gpus == int(gpus):
        return int(gpus)
    if gpus > 1:
        raise ValueError(
            f"{shown(value)} is neither whole nor a share of one GPU: a task gets whole GPUs, or a share of a single "
            f"one; write {accepted}"
        )
    thousandths = round(gpus * 1000)
    if not thousandths:
        raise ValueError(f"{shown(value)} is below the smallest share, 1m (a thousandth of a GPU)")
    return thousandths / 1000 if thousandths < 1000 else 1


def format_gpus(gpus: float) -> int | str:
    milli = round(gpus * 1000)
    return milli // 1000 if milli % 1000 == 0 else f"{milli}m"


def parse_bandwidth_mbps(value: object) -> int:
    accepted = "a bandwidth with a unit such as 400Gbps, 100Mbps or, in bytes, 50GBps"
    plain = value.strip().replace("/s", "ps").replace("bit", "b") if isinstance(value, str) else value
    number, unit = _split(plain, accepted)
    if not unit:
        raise ValueError(f"{shown(value)} has no unit; write {accepted}")
    # B means bytes and b bits; the prefix may be upper or lower case.
    factor = BANDWIDTH_UNITS_BPS.get(unit if len(unit) < 4 else unit[0].upper() + unit[1:])
    if factor is None:
        raise ValueError(f"unknown unit {unit!r} in {shown(value)}; write {accepted}")
    mbps = round(_within(value, number * factor / 10**6, MAX_MBPS, "1000Tbps", accepted))
    if number and not mbps:
        raise ValueError(f"{shown(value)} is below the smallest bandwidth, 1Mbps")
    return mbps


def parse_latency_ns(value: object) -> int:
    accepted = "a latency with a unit such as 500ns, 5us or 2ms"
    number, unit = _split(value.strip().replace("µ", "u") if isinstance(value, str) else value, accepted)
    if not unit and number:
        raise ValueError(f"{shown(value)} has no unit; write {accepted}")
    factor = LATENCY_UNITS_NS.get(unit or "ns")
    if factor is None:
        raise ValueError(f"unknown unit {unit!r} in {shown(value)}; write {accepted}")
    latency_ns = round(_within(value, number * factor, MAX_LATENCY_NS, "10s", accepted))
    if number and not latency_ns:
        raise ValueError(f"{shown(value)} is below the smallest latency, 1ns")
    return latency_ns


def format_latency(latency_ns: int) -> str:
    """`5us`, `1500ns`."""
    return shortest(latency_ns, {"s": 10**9, "ms": 10**6, "us": 10**3}, "ns")


def _written(
    parse: Callable[[object], object],
    write: Callable[[Any], object],
    kind: str,
    example: str,
    text_format: str,
    *plain: dict[str, object],
) -> tuple[object, ...]:
    """How Pydantic reads, writes and documents a quantity: text in a format, or one of some `plain` numbers."""
    schema = {
        "anyOf": [{"type": "string", "format": text_format, "minLength": 1, "maxLength": MAX_TYPED}, *plain],
        "description": kind,
        "examples": [example],
        "x-parser": parse.__name__,
    }
    return BeforeValidator(parse), PlainSerializer(write), WithJsonSchema(schema)


def how_written(annotation: Any, metadata: Sequence[Any] = ()) -> Callable[[Any], object] | None:
    """The function that writes amounts of a field with this annotation; None for a field of another type."""
    serializer = next((one for one in metadata if isinstance(one, PlainSerializer)), None)
    if serializer is not None:
        return cast("Callable[[Any], object]", serializer.func)
    for member in get_args(annotation) if get_origin(annotation) in (Union, UnionType) else ():
        kind, *inner = get_args(member) if get_origin(member) is Annotated else (member,)
        if (found := how_written(kind, inner)) is not None:
            return found
    return None


def _number(most: float) -> dict[str, object]:
    return {"type": "number", "minimum": 0, "maximum": most}


_GPUS = ({"type": "integer", "minimum": 0, "maximum": MAX_COUNT}, _number(1))

Cores = Annotated[float, *_written(parse_cores, format_cores, "CPU cores", "500m", "cores", _number(MAX_CORES))]
MeasuredCores = Annotated[
    float, *_written(parse_measured_cores, format_cores, "CPU cores", "500m", "cores", _number(MAX_CORES))
]
GpuAmount = Annotated[
    float, *_written(parse_gpus, format_gpus, "whole GPUs, or a share of one", "250m", "gpus", *_GPUS)
]
Bytes = Annotated[int, *_written(parse_bytes, format_bytes, "bytes with a unit", "64GiB", "bytes", _number(MAX_BYTES))]
Bandwidth = Annotated[int, *_written(parse_bandwidth_mbps, format_bandwidth, "a bandwidth", "400Gbps", "bandwidth")]
Latency = Annotated[int, *_written(parse_latency_ns, format_latency, "a latency", "5us", "latency", {"const": 0})]
#: The format has a name of its own: `duration` is that of ISO 8601, which is another.
Duration = Annotated[
    float, *_written(parse_duration_s, format_duration, "a duration", "10m", "time-span", _number(MAX_DURATION_S))
]
Count = Annotated[int, Field(ge=0, le=MAX_COUNT), BeforeValidator(parse_count)]
