"""Axes of charts: where values stand, and which of them get a mark with a label."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from dovetail.reports.metrics import DAY_S, HOUR_S, MINUTE_S, duration, number, percent

_STEPS_S = (1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, HOUR_S, 2 * HOUR_S, 3 * HOUR_S, 6 * HOUR_S, 12 * HOUR_S)
_TIME_MARKS_S = (1.0, 10.0, MINUTE_S, 10 * MINUTE_S, HOUR_S, 6 * HOUR_S, DAY_S, 7 * DAY_S)


@dataclass(frozen=True, slots=True)
class Axis:
    """`place`: a value as a share of the axis, from 0 to 1. `marks`: values and their labels."""

    place: Callable[[float], float]
    marks: tuple[tuple[float, str], ...]


def share_axis(highest: float) -> Axis:
    """Shares from 0 to the highest, rounded up."""
    top = 1.0 if highest > 0.5 else _round_up(max(highest, 0.01))
    return Axis(lambda value: value / top, tuple((top * i / 4, percent(top * i / 4)) for i in range(5)))


def amount_axis(highest: float, written: Callable[[float], str] = number) -> Axis:
    top = _round_up(highest) if highest > 0 else 1.0
    return Axis(lambda value: value / top, tuple((top * i / 4, written(top * i / 4)) for i in range(5)))


def time_axis(end_s: float) -> Axis:
    """Seconds since the beginning."""
    end_s = max(end_s, 1.0)
    step = next((step for step in _STEPS_S if end_s / step <= 8), None) or DAY_S * math.ceil(end_s / DAY_S / 8)
    marks = tuple((float(i * step), duration(i * step) if i else "0") for i in range(int(end_s / step) + 1))
    return Axis(lambda value: value / end_s, marks)


def log_time_axis(end_s: float) -> Axis:
    """Waits: none at the left, then from one second on by their logarithm."""
    end_s = max(end_s, 10.0)
    width = 1 + math.log10(end_s)

    def place(value: float) -> float:
        return 0.0 if value <= 0 else (1 + math.log10(max(value, 0.1))) / (1 + width)

    marks = [(at, duration(at)) for at in _TIME_MARKS_S if at <= end_s]
    return Axis(place, ((0.0, "none"), *marks))


def log_axis(end: float) -> Axis:
    """Multiples, from 1 on by their logarithm."""
    end = max(end, 2.0)
    marks = [float(at) for power in range(5) for at in (10**power, 2 * 10**power, 5 * 10**power) if at <= end]
    if len(marks) > 7:
        marks = [at for at in marks if math.log10(at).is_integer()]
    return Axis(lambda value: math.log(max(value, 1.0)) / math.log(end), tuple((at, f"{at:g}×") for at in marks))


def _round_up(value: float) -> float:
    """To 1, 1.2, 1.6, 2, 3, 4, 6, 8 times a power of ten: quarters of these read well."""
    power = 10.0 ** math.floor(math.log10(value))
    return next(
        (factor * power for factor in (1, 1.2, 1.6, 2, 3, 4, 6, 8) if value <= factor * power * 1.0001), 10 * power
    )
