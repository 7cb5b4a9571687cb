"""Times as a person at this machine types them: `14:00` is today's or tomorrow's, and a time without a zone is local.

They are sent with their zone, because the server may be in another one. What is neither a time of day nor a calendar
time (`now`, `+2h`) is sent unchanged: the server says what it accepts.
"""

import re
from datetime import datetime, timedelta

from dovetail.cli.terminal.failure import ExitCode, Failure

_CLOCK = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}))?", re.ASCII)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_ACCEPTED = "now, +2h, 14:00 or 2026-12-01T08:00"


def local_moment(text: str, now: float) -> str:
    """`14:00` is the next one."""
    text = text.strip()
    if text.lower() == "now" or text.startswith("+"):
        return text
    today = datetime.fromtimestamp(now)
    clock = _CLOCK.fullmatch(text)
    try:
        if clock is None:
            return datetime.fromisoformat(text).astimezone().isoformat()
        hour, minute, second = (int(part or 0) for part in clock.groups())
        found = today.replace(hour=hour, minute=minute, second=second, microsecond=0)
    except (ValueError, OverflowError):
        raise Failure(f"{text[:60]!r} is not a time; write {_ACCEPTED}", ExitCode.USAGE) from None
    if found < today.replace(second=0, microsecond=0):
        found += timedelta(days=1)
    return found.astimezone().isoformat()


def local_last(text: str, now: float) -> str:
    """A date alone is the end of that day."""
    if not _DATE.fullmatch(text.strip()):
        return local_moment(text, now)
    try:
        day = datetime.fromisoformat(text.strip())
    except ValueError:
        raise Failure(f"{text[:60]!r} is not a date; write one such as 2026-12-01", ExitCode.USAGE) from None
    return (day + timedelta(days=1, seconds=-1)).astimezone().isoformat()
