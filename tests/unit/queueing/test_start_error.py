"""Ranges for predicted starts, from how wrong earlier predictions were."""

import json
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from dovetail.queueing.start_error import KEPT_ERRORS, MIN_ERRORS, Calibration

WAITS = st.floats(0, 1e6)


def test_without_a_past_the_range_reaches_from_now_to_a_little_after_the_expectation() -> None:
    early_s, late_s = Calibration().range(500.0)
    assert early_s == 0.0
    assert late_s > 500.0


def test_starts_that_always_came_at_half_the_expected_wait_move_the_range_there() -> None:
    calibration = Calibration()
    for _ in range(MIN_ERRORS):
        calibration.learn(10_000.0, 5_000.0)
    early_s, late_s = calibration.range(10_000.0)
    assert abs(early_s - 5_000.0) < 1e-6
    assert abs(late_s - 5_000.0) < 1e-6


def test_long_expectations_do_not_widen_the_range_of_short_ones() -> None:
    calibration = Calibration()
    for step in range(2 * MIN_ERRORS):
        calibration.learn(10.0, 10.0)
        calibration.learn(50_000.0, 500_000.0 if step % 2 else 0.0)
    early_s, late_s = calibration.range(10.0)
    assert late_s - early_s < 1.0
    assert calibration.range(50_000.0)[1] > 400_000.0


def test_the_range_holds_about_as_often_as_asked_when_errors_are_of_one_kind() -> None:
    chance, calibration, held = Random(7), Calibration(), 0
    for step in range(3_000):
        expected_s = chance.uniform(4_000, 14_000)
        actual_s = expected_s * chance.lognormvariate(0.0, 1.0)
        early_s, late_s = calibration.range(expected_s)
        held += step >= 1_000 and early_s <= actual_s <= late_s
        calibration.learn(expected_s, actual_s)
    assert 0.83 <= held / 2_000 <= 0.90


@given(st.lists(st.tuples(WAITS, WAITS), max_size=60), WAITS)
def test_a_range_is_in_order_and_never_before_now(waits: list[tuple[float, float]], expected_s: float) -> None:
    calibration = Calibration()
    for earlier_s, actual_s in waits:
        calibration.learn(earlier_s, actual_s)
    early_s, late_s = calibration.range(expected_s)
    assert 0 <= early_s <= late_s


def test_memory_is_bounded_and_survives_writing() -> None:
    calibration = Calibration()
    for step in range(3 * KEPT_ERRORS):
        calibration.learn(100.0, float(step))
    written = calibration.to_json()
    assert len(written["all"]) == KEPT_ERRORS
    assert Calibration.from_json(json.loads(json.dumps(written))) == calibration


def test_errors_written_with_other_kinds_are_dropped() -> None:
    assert Calibration.from_json({"share": 0.8, "kinds": [[0.1]], "all": [0.1]}) == Calibration(0.8)
