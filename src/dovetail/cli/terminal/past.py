"""Times in the past, as a person at this machine types them: `10m` ago, `08:30` today, a date, a date and time.

A time without a zone is local. What is asked of the server is in seconds since the epoch.
"""

import re
from datetime import datetime
from typing import Annotated

from dovetail.cli.terminal.failure import ExitCode, Failure
from dovetail.cli.terminal.parameters import Option

ACCEPTED = "10m, 2h or 7d ago, today, 08:30, 2026-12-01 or 2026-12-01T08:00"
Since = Annotated[str | None, Option("--since", metavar="TIME", help=f"From when on: {ACCEPTED}.")]

_PARTS = re.compile(r"(?:\d+(?:\.\d+)?[smhdw])+", re.ASCII)
_PART = re.compile(r"(\d+(?:\.\d+)?)([smhdw])", re.ASCII)
_UNITS_S = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 7 * 86400.0}
_CLOCK = re.compile(r"([0-2]?\d):([0-5]\d)(?::([0-5]\d))?", re.ASCII)


def past_moment(option: str, text: str | None, now: float) -> float | None:
    """Seconds since the epoch; None if nothing was asked for. Raises Failure."""
    if text is None:
        return None
    word = text.strip()
    midnight = datetime.fromtimestamp(now).replace(hour=0, minute=0, second=0, microsecond=0)
    if word.lower() == "today":
        return midnight.timestamp()
    try:
        if (clock := _CLOCK.fullmatch(word)) is not None:
            hour, minute, second = (int(part or 0) for part in clock.groups())
            return midnight.replace(hour=hour, minute=minute, second=second).timestamp()
        if "-" in word[1:]:
            return datetime.fromisoformat(word).timestamp()
        return max(0.0, now - _duration_s(word))
    except (ValueError, OverflowError):
        raise Failure(f"{option} {text[:60]!r} is not a time; write {ACCEPTED}", ExitCode.USAGE) from None


def seconds_ago(option: str, text: str, now: float, least_s: float, most_s: float) -> float:
    """How long ago that was, within what there is. Raises Failure."""
    moment = past_moment(option, text, now)
    return min(most_s, max(least_s, now - (now if moment is None else moment)))


def _duration_s(word: str) -> float:
    """`90s`, `1h30m`, `7d`. The model reads durations too, but takes longer to import than most commands run."""
    if not _PARTS.fullmatch(word):
        raise ValueError(word)
    return sum(float(number) * _UNITS_S[unit] for number, unit in _PART.findall(word))
