"""How many replicas a signal asks for: at once when it grows, calmly when it falls, never outside the bounds."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from dovetail.model.services.service import Autoscale
from dovetail.services.autoscaling import Recommended, recommend, replicas_wanted


def policy(**fields: Any) -> Autoscale:
    return Autoscale.model_validate(
        {"min": 1, "max": 20, "target": 10, "query": {"url": "http://x"}, "calm": "5m", **fields}
    )


@pytest.mark.parametrize(
    ("current", "per_replica", "wanted"),
    [(4, 10, 4), (4, 10.9, 4), (4, 9.1, 4), (4, 12, 5), (4, 5, 2), (4, 0, 1), (4, 1000, 8), (12, 1000, 20), (0, 50, 1)],
)
def test_each_replica_gets_the_target(current: int, per_replica: float, wanted: int) -> None:
    assert recommend(policy(), current, per_replica) == wanted


@given(st.integers(0, 50), st.floats(0, 1e9), st.integers(1, 10), st.integers(10, 30))
@examples(200)
def test_a_recommendation_is_inside_the_bounds_and_grows_by_twice_at_most(
    current: int, per_replica: float, least: int, most: int
) -> None:
    found = recommend(policy(min=least, max=most), current, per_replica)
    assert least <= found <= most
    assert found <= max(least, 2 * max(current, 1))


def test_it_grows_at_once() -> None:
    assert replicas_wanted(policy(), 2, [Recommended(0, 2), Recommended(15, 4)], 15) == 4


def test_it_shrinks_to_the_most_that_was_asked_for_within_the_calm_time() -> None:
    recent = [Recommended(0, 9), Recommended(100, 6), Recommended(200, 3)]
    assert replicas_wanted(policy(), 9, recent, 200) == 9
    assert replicas_wanted(policy(), 9, recent, 301) == 6
    assert replicas_wanted(policy(), 6, recent, 401) == 3


def test_a_signal_that_goes_up_and_down_does_not_flap() -> None:
    current, recent, changes = 4, [], 0
    for step in range(200):
        now = step * 15.0
        recent.append(Recommended(now, recommend(policy(), current, 40 / current * (1.5 if step % 4 == 0 else 0.5))))
        wanted = replicas_wanted(policy(), current, recent, now)
        changes += wanted != current
        current = wanted
    assert changes <= 2


def test_without_a_signal_only_the_bounds_count() -> None:
    assert replicas_wanted(policy(min=3), 1, [], 0) == 3
    assert replicas_wanted(policy(), 7, [], 0) == 7
