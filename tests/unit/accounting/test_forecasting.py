"""What a month will have cost."""

import pytest

from dovetail.accounting.days import days_of_month, next_month, read_day, read_month, start_of
from dovetail.accounting.forecasting import forecast

NOON = start_of("2026-11-20") + 12 * 3600  # half a day and ten whole days are left


def test_the_rest_of_today_goes_on_and_later_days_are_like_the_last_ones() -> None:
    found = forecast(100.0, 1.0, [10.0, 10.0, 10.0], NOON)
    assert found.expected == 100 + 12 * 1 + 10 * 10
    assert found.low == found.high == found.expected, "days that do not differ leave no doubt"


def test_days_that_differ_widen_the_range() -> None:
    calm, wild = forecast(100.0, 0.0, [9.0, 10.0, 11.0], NOON), forecast(100.0, 0.0, [0.0, 10.0, 20.0], NOON)
    assert calm.expected == wild.expected == 200.0
    assert calm.days == 3
    assert 100.0 <= wild.low < calm.low < 200.0 < calm.high < wild.high
    # by hand: a spread of 1, ten days left, and a mean of three days that may be wrong each day
    assert calm.high - 200.0 == pytest.approx(1.2816 * (10 + 100 / 3) ** 0.5)


def test_without_whole_days_it_lies_between_nothing_more_and_everything_going_on() -> None:
    found = forecast(5.0, 2.0, [], NOON)
    assert (found.low, found.expected, found.high) == (5.0, 5.0 + 2.0 * 252, 5.0 + 2.0 * 252)
    assert (found.mean_day, found.days) == (None, 0)


def test_nothing_is_forecast_below_what_is_spent() -> None:
    assert forecast(50.0, 0.0, [0.0, 0.0, 300.0], NOON).low == 50.0


def test_the_last_day_of_a_month_has_no_days_after_it() -> None:
    found = forecast(10.0, 1.0, [1.0, 5.0, 9.0], start_of("2026-11-30") + 23 * 3600)
    assert found.low == found.expected == found.high == 11.0


def test_months_go_round_the_year() -> None:
    assert days_of_month("2026-12") == ("2026-12-01", "2027-01-01")
    assert next_month("2026-01", -2) == "2025-11"


@pytest.mark.parametrize("text", ["2026-13", "2026-1", "26-11", "", "2026-11-01", "9999-01"])
def test_what_is_no_month_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a month; write it as 2026-11"):
        read_month(text)


@pytest.mark.parametrize("text", ["2026-02-30", "20261103", "2026-11", "today"])
def test_what_is_no_day_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a day; write it as 2026-11-03"):
        read_day(text)
