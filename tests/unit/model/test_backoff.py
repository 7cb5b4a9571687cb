"""Pauses that grow from attempt to attempt."""

from dovetail.model.backoff import Backoff


def test_pauses_double_up_to_the_longest() -> None:
    backoff = Backoff(1.0, 5.0)
    assert [backoff.next_s() for _ in range(5)] == [1.0, 2.0, 4.0, 5.0, 5.0]


def test_after_a_success_the_first_pause_comes_again() -> None:
    backoff = Backoff(0.5, 10.0, factor=3.0)
    assert [backoff.next_s(), backoff.next_s()] == [0.5, 1.5]
    backoff.reset()
    assert backoff.next_s() == 0.5


def test_chance_takes_off_at_most_the_jitter_and_leaves_later_pauses_alone() -> None:
    backoff = Backoff(2.0, 100.0, jitter=0.5)
    assert backoff.next_s(1.0) == 1.0
    assert backoff.next_s(0.5) == 3.0
    assert backoff.next_s(0.0) == 8.0
