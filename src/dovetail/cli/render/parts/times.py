"""Times for people: how long something took, when it was, and when work will probably start."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dovetail.responses.workloads import PredictedStart


UNKNOWN = "—"
_DAY_S = 86400
_UNITS = (("d", _DAY_S), ("h", 3600), ("m", 60))


def span(seconds: float | None) -> str:
    """Two figures that matter: `40ms`, `1.4s`, `12s`, `3m05s`, `2h10m`, `4d03h`."""
    if seconds is None:
        return "-"
    seconds = max(0.0, seconds)
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f}ms" if seconds else "0s"
    if seconds < 9.95:
        return f"{seconds:.1f}s"
    whole = round(seconds)
    for unit, size, lesser, part in (("d", _DAY_S, "h", 3600), ("h", 3600, "m", 60), ("m", 60, "s", 1)):
        if whole >= size:
            number, rest = divmod(whole, size)
            return f"{number}{unit}{rest // part:02d}{lesser}"
    return f"{whole}s"


def age(since: float | None, now: float) -> str:
    return "-" if since is None else span(now - since)


def moment(at: float | None, now: float) -> str:
    """The local time; with its date when that is not within the last day."""
    if at is None:
        return "-"
    when = datetime.fromtimestamp(at).astimezone()
    return when.strftime("%H:%M:%S" if abs(now - at) < _DAY_S else "%Y-%m-%d %H:%M:%S")


def starts_in(row: PredictedStart, now: float) -> str:
    """`in 14 m (5–40 m)`; a dash where it cannot be predicted."""
    at, early, late = row.get("starts_at"), row.get("starts_early"), row.get("starts_late")
    if at is None:
        return UNKNOWN
    expected = "now" if at <= now else f"in {_roughly(at - now)}"
    if early is None or late is None:
        return expected
    return f"{expected} ({_between(_roughly(early - now), _roughly(late - now))})"


def starts_about(row: PredictedStart, now: float, rest: bool = False) -> str:
    """`Starts about 14:20 (13:50–15:10)`; empty where it cannot be predicted. `rest`: some tasks run already."""
    at, early, late = row.get("starts_at"), row.get("starts_early"), row.get("starts_late")
    if at is None:
        return ""
    expected = f"{'The rest starts' if rest else 'Starts'} about {clock(max(at, now), now)}"
    if early is None or late is None:
        return expected
    return f"{expected} ({clock(max(early, now), now)}–{clock(max(late, now), now)})"


def _roughly(seconds: float) -> str:
    """One figure that matters: `40 s`, `14 m`, `3 h`, `2 d`."""
    seconds = max(0.0, seconds)
    for unit, size in _UNITS:
        if seconds >= size - 0.5:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def _between(early: str, late: str) -> str:
    """`5–40 m`, `30 m–5 h`, and `14 m` where both are the same."""
    if early == late:
        return early
    (figure, unit), (_, other) = early.split(), late.split()
    return f"{figure}–{late}" if unit == other or figure == "0" else f"{early}–{late}"


def clock(at: float, now: float) -> str:
    """`14:20`, with the date where that is not today's."""
    when = datetime.fromtimestamp(at).astimezone()
    today = datetime.fromtimestamp(now).astimezone().date()
    return when.strftime("%H:%M" if when.date() == today else "%Y-%m-%d %H:%M")
