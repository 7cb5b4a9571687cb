"""When a reservation holds its room: the window that is now or comes next, and those that follow it.

Pure arithmetic on records: a day is 24 hours, and whether there is room in a window is left to `reservation_room`.
"""

from dataclasses import replace
from math import ceil
from typing import NamedTuple

from dovetail.model.record import ReservationRecord

#: More windows of one reservation inside one of another are taken as one long one.
_MOST_OVERLAPS = 64


class Window(NamedTuple):
    start: float
    end: float


def coming(record: ReservationRecord, number: int) -> list[Window]:
    """The window that is now or next and those after it, at most so many."""
    first = Window(record.start, record.end)
    if record.every_s is None:
        return [first]
    found = (_shifted(first, record.every_s, k) for k in range(number))
    return [w for k, w in enumerate(found) if not k or record.last is None or w.start <= record.last]


def overlapping(record: ReservationRecord, other: Window) -> list[Window]:
    """Its windows from now on that have a moment in common with another."""
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
    """The record with the window that is now or next; None: there is none any more."""
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
