"""First come first served with backfilling, played beside the real machine."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.queueing.fcfs_simulation import DEPTH, PERIOD_S, FcfsSimulation

HOUR_S = 3600.0


def test_an_empty_machine_makes_nobody_wait() -> None:
    assert FcfsSimulation().longest_wait_s(1000.0) == 0.0


def test_the_second_of_two_that_need_everything_waits_for_the_first() -> None:
    shadow = FcfsSimulation()
    shadow.arrived(0.0, "first", 1.0, HOUR_S)
    shadow.longest_wait_s(0.0)
    shadow.arrived(0.0, "second", 1.0, 1.0)
    shadow.arrived(2 * HOUR_S, "third", 0.1, 1.0)
    # 3600 s waited; at the time of the first question an hour of work lay before a newcomer.
    assert shadow.longest_wait_s(2 * HOUR_S) == HOUR_S


def test_ten_tenths_fit_side_by_side() -> None:
    shadow = FcfsSimulation()
    for number in range(10):
        shadow.arrived(0.0, number, 0.1, HOUR_S)
    shadow.arrived(HOUR_S, "later", 1.0, 1.0)
    assert shadow.longest_wait_s(HOUR_S) < HOUR_S


def test_a_short_task_overtakes_a_head_that_waits_but_a_long_one_does_not() -> None:
    waits = {}
    for run_s in (HOUR_S / 2, 3 * HOUR_S):
        shadow = FcfsSimulation()
        shadow.arrived(0.0, "half", 0.5, HOUR_S)
        shadow.longest_wait_s(0.0)
        shadow.arrived(1.0, "head", 1.0, 1.0)
        shadow.arrived(1.0, "behind", 0.5, run_s)
        shadow.longest_wait_s(1.0)
        waits[run_s] = "behind" in shadow._running
    assert waits == {HOUR_S / 2: True, 3 * HOUR_S: False}


def test_a_task_that_really_ended_early_ends_early_in_the_imagination() -> None:
    shadow, ignorant = FcfsSimulation(), FcfsSimulation()
    for either in (shadow, ignorant):
        either.arrived(0.0, "over-asked", 0.5, 100 * HOUR_S)
        either.longest_wait_s(0.0)
        either.arrived(0.0, "next", 1.0, 1.0)
        either.longest_wait_s(0.0)
    shadow.ended(60.0, "over-asked", 60.0)
    assert "next" not in ignorant._running
    shadow.longest_wait_s(60.0)
    assert "next" in shadow._running
    assert ignorant.longest_wait_s(90 * HOUR_S) == 90 * HOUR_S
    assert shadow.longest_wait_s(90 * HOUR_S) < 90 * HOUR_S


def test_a_task_withdrawn_is_forgotten_whether_it_waits_or_runs() -> None:
    shadow = FcfsSimulation()
    shadow.arrived(0.0, "runs", 1.0, HOUR_S)
    shadow.longest_wait_s(0.0)
    shadow.arrived(0.0, "waits", 1.0, HOUR_S)
    shadow.withdrawn(0.0, "waits")
    shadow.withdrawn(0.0, "runs")
    assert not shadow._waiting
    assert not shadow._running
    assert shadow._free == 1.0


JOBS = st.lists(st.tuples(st.floats(0, 1000), st.floats(0.01, 1.0), st.floats(1, 5000)), min_size=1, max_size=40)


@given(JOBS)
def test_the_imagined_machine_is_never_overfull_and_the_longest_wait_never_falls_within_a_period(
    jobs: list[tuple[float, float, float]],
) -> None:
    shadow = FcfsSimulation()
    now = longest_s = 0.0
    for number, (gap_s, share, run_s) in enumerate(jobs):
        now += gap_s
        shadow.arrived(now, number, share, run_s)
        wait_s = shadow.longest_wait_s(now)
        assert wait_s >= longest_s
        assert all(wait_s >= now - task.submitted_at for task in shadow._waiting.values())
        longest_s = wait_s
        assert abs(shadow._queued_s - sum(task.work_s for task in shadow._waiting.values())) < 1e-6
        assert sum(task.share for task in shadow._running.values()) <= 1.0 + 1e-6


def test_more_than_are_tried_at_a_time_all_start_if_they_fit() -> None:
    shadow = FcfsSimulation()
    for number in range(2 * DEPTH):
        shadow.arrived(0.0, number, 0.1 / DEPTH, HOUR_S)
    shadow.longest_wait_s(0.0)
    assert not shadow._waiting


def test_the_share_of_tasks_that_wait_is_learned() -> None:
    shadow = FcfsSimulation()
    assert shadow.waiting_share == 0.0
    for number in range(200):
        shadow.arrived(number * HOUR_S, number, 0.5, 60.0)
        shadow.longest_wait_s(number * HOUR_S)
    assert shadow.waiting_share == 0.0
    for number in range(200, 300):
        shadow.arrived(200 * HOUR_S, number, 1.0, 60.0)
    shadow.longest_wait_s(205 * HOUR_S)
    assert shadow.waiting_share > 0.2


def test_the_longest_wait_of_an_overload_long_ago_is_forgotten() -> None:
    shadow, over = FcfsSimulation(), 99 * HOUR_S
    for number in range(100):
        shadow.arrived(0.0, number, 1.0, HOUR_S)
    assert shadow.longest_wait_s(over) == pytest.approx(100 * HOUR_S, rel=0.1)
    remembered = shadow.longest_wait_s(over)
    for day in range(5, 121):
        shadow.arrived(day * 24 * HOUR_S, day, 0.5, 60.0)
        found = shadow.longest_wait_s(day * 24 * HOUR_S)
        assert found == (remembered if day * 24 * HOUR_S < 2 * PERIOD_S else pytest.approx(30.0))
    for number in range(20):
        shadow.arrived(3 * PERIOD_S, number, 1.0, HOUR_S)
    assert shadow.longest_wait_s(3 * PERIOD_S) == pytest.approx(20 * HOUR_S)  # and it can rise again


@given(JOBS, st.integers(0, 39))
def test_written_and_read_back_it_goes_on_as_before(jobs: list[tuple[float, float, float]], at: int) -> None:
    shadow, now = FcfsSimulation(), 0.0
    copy = shadow
    for number, (gap_s, share, run_s) in enumerate(jobs):
        if number == at:
            copy = FcfsSimulation.from_json(json.loads(json.dumps(shadow.to_json())))
        now += gap_s
        for either in (shadow, copy) if copy is not shadow else (shadow,):
            either.arrived(now, number, share, run_s)
            either.longest_wait_s(now)
    assert copy.to_json() == shadow.to_json()
