"""Of runs that have ended, the oldest go; those whose end somebody may still ask about stay."""

from dovetail.backends.retention import SETTLE_S, to_remove

ENDED_AT = {"young": 9_900.0, "old": 5_000.0, "older": 4_000.0, "oldest": 0.0}


def test_what_is_too_old_goes_and_what_is_beyond_the_number_kept() -> None:
    assert to_remove(ENDED_AT, keep=2, keep_for_s=9_000, now=10_000.0) == ["older", "oldest"]
    assert to_remove(ENDED_AT, keep=9, keep_for_s=9_000, now=10_000.0) == ["oldest"]
    assert to_remove(ENDED_AT, keep=9, keep_for_s=99_999, now=10_000.0) == []


def test_what_has_just_ended_stays_whatever_is_kept() -> None:
    assert to_remove(ENDED_AT, keep=0, keep_for_s=0, now=10_000.0) == ["old", "older", "oldest"]
    assert to_remove({"it": 0.0}, keep=0, keep_for_s=0, now=SETTLE_S - 1) == []
    assert to_remove({"it": 0.0}, keep=0, keep_for_s=0, now=SETTLE_S) == ["it"]
