"""The time windows of a reservation: the current or next one, and those that follow.

Pure arithmetic on records; a day has 24 hours. `reservation_capacity` checks whether a window can be met.
"""

from dataclasses import replace
from math import ceil
from typing import NamedTuple

from dovetail.model.record import ReservationRecord

#: If more windows than this overlap another one, they are treated as one long window.
_MOST_OVERLAPS = 64


class Window(NamedTuple):
    start: float
    end: float


def upcoming(record: ReservationRecord, number: int) -> list[Window]:
    """The current or next window and those after it, at most `number`."""
    first = Window(record.start, record.end)
    if record.every_s is None:
        return [first]
    found = (_shifted(first, record.every_s, k) for k in range(number))
    return [w for k, w in enumerate(found) if not k or record.last is None or w.start <= record.last]


def overlapping(record: ReservationRecord, other: Window) -> list[Window]:
    """Its current and later windows that overlap `other`."""
    first = Window(record.start, record.end)
    if record.every_s is None:
        return [first] if first.start < other.end and other.start < first.end else []
    least = max(0, int((other.start - first.end) // record.every_s) + 1)
    below = ceil((other.end - first.start) / record.every_s)
    if record.last is not None:
        below = min(below, max(1, int((record.last - first.start) // record.every_s) + 1))
    if below <= least:
        return []
    if below - least > _MOST_OVERLAPS:
        return [Window(_shifted(first, record.every_s, least).start, _shifted(first, record.every_s, below - 1).end)]
    return [_shifted(first, record.every_s, k) for k in range(least, below)]


def as_of(record: ReservationRecord, now: float) -> ReservationRecord | None:
    """The record moved to its current or next window. None if its last window has ended."""
    if record.end <= now:
        if record.every_s is None:
            return None
        steps = int((now - record.end) // record.every_s) + 1
        window = _shifted(Window(record.start, record.end), record.every_s, steps)
        if record.last is not None and window.start > record.last:
            return None
        record = replace(record, start=window.start, end=window.end, begun=False)
    return replace(record, begun=True) if record.start <= now and not record.begun else record


def _shifted(window: Window, every_s: float, times: int) -> Window:
    return Window(window.start + times * every_s, window.end + times * every_s)
