"""Times as users write them: `now`, `+2h`, `2026-12-01T08:00`, `2026-12-01T08:00+01:00`, seconds since the epoch.

Parsing needs no clock: `after(now)` resolves a relative time. A time without a zone is UTC; the caller adds the user's
zone if it knows it.
"""

import math
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated

from pydantic import PlainSerializer, PlainValidator, WithJsonSchema

from dovetail.model.text.quantity import format_duration, parse_duration_s
from dovetail.model.text.strict import shown

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_LATEST_S = datetime(9999, 1, 1, tzinfo=UTC).timestamp()
ACCEPTED = "now, a time from now such as +2h, or a time such as 2026-12-01T08:00 (UTC unless it names its zone)"


@dataclass(frozen=True, slots=True)
class Moment:
    """An absolute time, or a time relative to now."""

    at: float | None = None
    in_s: float = 0.0

    def after(self, now: float) -> float:
        """Seconds since the epoch."""
        return now + self.in_s if self.at is None else self.at

    def __str__(self) -> str:
        if self.at is not None:
            return show_time(self.at)
        return f"+{format_duration(self.in_s)}" if self.in_s else "now"


NOW = Moment()


def parse_moment(value: object) -> Moment:
    if isinstance(value, Moment):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        if not math.isfinite(value) or not 0 <= value <= _LATEST_S:
            raise ValueError(f"{shown(value)} is not a time; seconds since the epoch are positive and before 9999")
        return Moment(at=float(value))
    if not isinstance(value, str):
        raise ValueError(f"{shown(value)} is not a time; write {ACCEPTED}")
    text = value.strip()
    if text.lower() == "now":
        return NOW
    if text.startswith("+"):
        try:
            return Moment(in_s=parse_duration_s(text[1:].strip()))
        except ValueError as error:
            raise ValueError(f"{shown(value)} is not a time: {error}") from None
    return Moment(at=_read(text, value))


def parse_last(value: object) -> Moment:
    """Parse an end time: a date alone means the end of that day."""
    if isinstance(value, str) and _DATE.fullmatch(value.strip()):
        midnight = _read(value.strip(), value)
        return Moment(at=midnight + timedelta(days=1).total_seconds() - 1)
    return parse_moment(value)


def _read(text: str, value: object) -> float:
    try:
        found = datetime.fromisoformat(text)
        at = (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise ValueError(f"{shown(value)} is not a time; write {ACCEPTED}") from None
    if not 0 <= at <= _LATEST_S:
        raise ValueError(f"{shown(value)} lies outside the years 1970 to 9998")
    return at


def show_time(at: float) -> str:
    """`2026-12-01T08:00:00Z`."""
    try:
        return datetime.fromtimestamp(round(at), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError, OSError):  # outside the calendar's range
        return f"{at:.0f} s after 1970"


_SCHEMA = WithJsonSchema(
    {
        "anyOf": [{"type": "string", "format": "moment"}, {"type": "number", "minimum": 0, "maximum": _LATEST_S}],
        "description": ACCEPTED,
        "examples": ["now", "+2h", "2026-12-01T08:00"],
    }
)
MomentField = Annotated[Moment, PlainValidator(parse_moment), PlainSerializer(str, return_type=str), _SCHEMA]
LastField = Annotated[Moment, PlainValidator(parse_last), PlainSerializer(str, return_type=str), _SCHEMA]
