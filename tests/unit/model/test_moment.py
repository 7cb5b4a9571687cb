"""Moments as people write them, and what is said of those that are none."""

import pytest

from dovetail.model.text.moment import NOW, Moment, parse_last, parse_moment, show_time


@pytest.mark.parametrize(
    ("typed", "at"),
    [
        ("now", 1000.0),
        (" NOW ", 1000.0),
        ("+90s", 1090.0),
        ("+1h30m", 6400.0),
        ("1970-01-02T00:00", 86400.0),
        ("1970-01-02T01:00+01:00", 86400.0),
        ("1970-01-02T00:00:00Z", 86400.0),
        ("1970-01-02", 86400.0),
        (86400, 86400.0),
        (0.5, 0.5),
    ],
)
def test_a_moment_is_told_what_now_is_when_it_is_needed(typed: object, at: float) -> None:
    assert parse_moment(typed).after(1000.0) == at


@pytest.mark.parametrize(
    "typed", ["", "soon", "14:00", "+", "+1 fortnight", "2026-02-30", "-5", -1, 1e300, float("nan"), True, None, []]
)
def test_what_is_no_moment_is_refused_in_one_line(typed: object) -> None:
    with pytest.raises(ValueError, match=r"not a time|outside") as caught:
        parse_moment(typed)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 250


def test_a_last_day_lasts_until_its_end() -> None:
    assert parse_last("1970-01-02").at == 2 * 86400 - 1
    assert parse_last("1970-01-02T00:00").at == 86400


@pytest.mark.parametrize("moment", [NOW, Moment(in_s=5400.0), Moment(at=86400.0)])
def test_a_moment_reads_back_as_it_was_written(moment: Moment) -> None:
    assert parse_moment(str(moment)) == moment


def test_times_are_shown_in_utc() -> None:
    assert show_time(86400.4) == "1970-01-02T00:00:00Z"
