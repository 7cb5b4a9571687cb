"""What a month will have cost at its end.

The rest of today costs what runs now; each day after it the mean of the last whole days. The range is that of days that
differ as the last ones did: four of five months should end inside. With less than three whole days there is no such
measure; then it lies between nothing more and everything going on as it is now.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dovetail.accounting.days import DAY_S, day_of, month_of, next_day, next_month, start_of

RECENT_DAYS = 7
FEWEST_DAYS = 3
EIGHTY_PERCENT = 1.2816  # standard deviations to either side of the mean
HOUR_S = 3600.0


@dataclass(frozen=True, slots=True)
class MonthForecast:
    """`low` and `high` are never below what is spent. `mean_day`: of the last whole `days`, None without
    any."""

    spent: float
    expected: float
    low: float
    high: float
    per_hour: float
    mean_day: float | None
    days: int


def forecast(spent: float, per_hour: float, recent: Sequence[float], now: float) -> MonthForecast:
    """`recent`: what each of the last whole days cost."""
    month_ends = start_of(next_month(month_of(now)))
    today_ends = min(month_ends, start_of(next_day(day_of(now))))
    today = per_hour * (today_ends - now) / HOUR_S
    days_left = (month_ends - today_ends) / DAY_S
    mean = sum(recent) / len(recent) if recent else None
    a_day = per_hour * 24 if mean is None else mean
    expected = spent + today + a_day * days_left
    if len(recent) < FEWEST_DAYS:
        most = max(expected, spent + today + per_hour * 24 * days_left)
        return MonthForecast(spent, expected, spent, most, per_hour, mean, len(recent))
    spread = math.sqrt(sum((day - a_day) ** 2 for day in recent) / (len(recent) - 1))
    # The mean of few days is uncertain itself, and the same error is made every day that is left.
    margin = EIGHTY_PERCENT * spread * math.sqrt(days_left + days_left**2 / len(recent))
    return MonthForecast(spent, expected, max(spent, expected - margin), expected + margin, per_hour, mean, len(recent))
