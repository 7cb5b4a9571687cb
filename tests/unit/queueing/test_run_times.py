"""Expected run times from what owners declared and what became of it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.queueing.run_times import REMEMBERED_TASKS, RunTimes, extended_estimate_s

SECONDS = st.floats(0, 1e7)


def test_an_owner_nobody_heard_of_gets_what_was_declared() -> None:
    assert RunTimes().expected_s("ada", 3600.0) == 3600.0
    assert RunTimes().expected_s("ada", None) is None


def test_an_owner_who_asks_for_twice_the_time_is_expected_to_need_half() -> None:
    run_times = RunTimes()
    run_times.finished("ada", 1000.0, 500.0)
    run_times.finished("ada", 200.0, 100.0)
    assert run_times.expected_s("ada", 3600.0) == 1800.0
    assert run_times.expected_s("bob", 3600.0) == 3600.0


def test_without_a_declared_time_the_mean_of_the_last_run_times_is_expected() -> None:
    run_times = RunTimes()
    run_times.finished("ada", None, 100.0)
    run_times.finished("ada", 1000.0, 300.0)
    assert run_times.expected_s("ada", None) == 200.0


def test_only_the_last_tasks_count() -> None:
    run_times = RunTimes()
    run_times.finished("ada", 1000.0, 1.0)
    for _ in range(REMEMBERED_TASKS):
        run_times.finished("ada", 1000.0, 800.0)
    assert run_times.expected_s("ada", 100.0) == pytest.approx(80.0)


def test_the_owner_heard_of_longest_ago_is_forgotten_first() -> None:
    run_times = RunTimes(owners=2)
    for owner in ("ada", "bob", "ada", "cleo"):
        run_times.finished(owner, 1000.0, 500.0)
    assert run_times.expected_s("bob", 100.0) == 100.0
    assert run_times.expected_s("ada", 100.0) == 50.0


@given(st.lists(st.tuples(SECONDS, SECONDS), max_size=12), SECONDS)
def test_an_expectation_is_never_longer_than_declared_nor_negative(
    ended: list[tuple[float, float]], ask: float
) -> None:
    run_times = RunTimes()
    for declared_s, actual_s in ended:
        run_times.finished("ada", declared_s, actual_s)
    expected_s = run_times.expected_s("ada", ask)
    assert expected_s is not None
    assert 0 <= expected_s <= ask


def test_reading_what_was_written_gives_the_same_expectations_and_the_same_order_of_forgetting() -> None:
    run_times = RunTimes(owners=2)
    run_times.finished("ada", 1000.0, 500.0)
    run_times.finished("bob", None, 70.0)
    copy = RunTimes.from_json(json.loads(json.dumps(run_times.to_json())), owners=2)
    assert copy == run_times
    copy.finished("cleo", 10.0, 10.0)
    assert copy.expected_s("ada", 100.0) == 100.0
    assert copy.expected_s("bob", None) == 70.0


def test_a_task_that_outlives_its_estimate_gets_twice_the_time_up_to_what_was_declared() -> None:
    assert extended_estimate_s(100.0, 50.0, 1000.0) == 100.0
    assert extended_estimate_s(100.0, 100.0, 1000.0) == 200.0
    assert extended_estimate_s(100.0, 700.0, 1000.0) == 1000.0
    assert extended_estimate_s(100.0, 700.0, None) == 1400.0
    assert extended_estimate_s(1000.0, 1200.0, 1000.0) == 2400.0
