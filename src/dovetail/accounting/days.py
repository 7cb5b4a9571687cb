"""Days and months in UTC, as accounting counts them: `2026-11-03`, `2026-11`."""

import re
from datetime import UTC, date, datetime, timedelta

DAY_S = 86400
_MONTH = re.compile(r"(\d{4})-(0[1-9]|1[0-2])", re.ASCII)


def day_of(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).date().isoformat()


def month_of(at: float) -> str:
    return day_of(at)[:7]


def start_of(day: str) -> float:
    """Of a day, or of a month."""
    whole = day if len(day) > 7 else f"{day}-01"
    return datetime.combine(date.fromisoformat(whole), datetime.min.time(), UTC).timestamp()


def next_month(month: str, months: int = 1) -> str:
    """So many months later; earlier, if it is negative."""
    year, number = divmod(int(month[:4]) * 12 + int(month[5:7]) - 1 + months, 12)
    return f"{year:04}-{number + 1:02}"


def next_day(day: str, days: int = 1) -> str:
    return (date.fromisoformat(day) + timedelta(days=days)).isoformat()


def days_of_month(month: str) -> tuple[str, str]:
    """Its first day, and the first day after it."""
    return f"{month}-01", f"{next_month(month)}-01"


def read_month(text: str) -> str:
    """Raises ValueError."""
    if not (found := _MONTH.fullmatch(text)) or not 1970 <= int(found[1]) < 9999:
        raise ValueError(f"{text[:40]!r} is not a month; write it as 2026-11")
    return text


def read_day(text: str) -> str:
    """Raises ValueError."""
    try:
        found = date.fromisoformat(text).isoformat()
    except ValueError:
        found = ""
    if found != text or not 1970 <= int(text[:4]) < 9999:
        raise ValueError(f"{text[:40]!r} is not a day; write it as 2026-11-03")
    return text
