"""Times for people: how long something took, and when it was."""

from datetime import datetime

_DAY_S = 86400


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
    for unit, below, size in (("m", "s", 60), ("h", "m", 3600), ("d", "h", _DAY_S)):
        limit = {"m": 3600, "h": _DAY_S, "d": float("inf")}[unit]
        if size <= whole < limit:
            count, rest = divmod(whole, size)
            return f"{count}{unit}{rest // (size // (24 if unit == 'd' else 60)):02d}{below}"
    return f"{whole}s"


def age(since: float | None, now: float) -> str:
    return "-" if since is None else span(now - since)


def moment(at: float | None, now: float) -> str:
    """The local time; with its date when that is not within the last day."""
    if at is None:
        return "-"
    when = datetime.fromtimestamp(at).astimezone()
    return when.strftime("%H:%M:%S" if abs(now - at) < _DAY_S else "%Y-%m-%d %H:%M:%S")
