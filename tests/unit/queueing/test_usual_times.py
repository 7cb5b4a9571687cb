"""What a kind of work usually takes, and how much slower one run was, judged by the others alone."""

import json

import pytest

from dovetail.queueing.run_times import REMEMBERED_RUNS, UsualTimes


def after(*runs: tuple[str, float], kinds: int = 10) -> UsualTimes:
    found = UsualTimes(kinds)
    for run, seconds in runs:
        found.finished("k", run, seconds)
    return found


def test_nobody_knows_what_is_usual_before_another_run_has_ended() -> None:
    assert UsualTimes().slowdown("k", "a", 10.0) is None
    assert after(("a", 10.0), ("a", 90.0)).slowdown("k", "a", 10.0) is None, "its own tasks are no yardstick"
    assert after(("a", 10.0)).slowdown("other", "b", 10.0) is None


def test_a_run_is_compared_with_the_middle_one_of_the_others() -> None:
    found = after(("a", 10.0), ("b", 20.0), ("c", 1000.0), ("mine", 7.0))
    assert found.expected_s("k", "mine") == 20.0
    assert found.slowdown("k", "mine", 50.0) == 2.5
    assert after(("a", 10.0), ("b", 20.0)).expected_s("k", "mine") == 10.0, "of two the shorter"


def test_a_run_of_many_tasks_counts_once_with_what_they_took_on_average() -> None:
    found = after(("gang", 10.0), ("gang", 20.0), ("gang", 30.0), ("other", 50.0))
    assert found.expected_s("k", "gang") == 50.0
    assert found.expected_s("k", "other") == 20.0
    assert found.expected_s("k", "third") == 20.0, "of two, not of four"


def test_only_the_last_runs_count_and_kinds_that_nobody_ran_for_long_are_forgotten() -> None:
    found = after(("old", 1000.0), *((str(number), 10.0) for number in range(REMEMBERED_RUNS)))
    assert len(found.to_json()["k"]) == REMEMBERED_RUNS
    assert found.expected_s("k", "mine") == 10.0
    small = after(("a", 10.0), kinds=2)
    small.finished("l", "a", 1.0)
    small.finished("k", "b", 10.0)
    small.finished("m", "a", 1.0)
    assert list(small.to_json()) == ["k", "m"]


def test_work_of_no_time_at_all_makes_nothing_infinitely_slow() -> None:
    assert after(("a", 0.0)).slowdown("k", "b", 0.0) == 1.0
    assert after(("a", 0.0)).slowdown("k", "b", 3.0) == 3.0


def test_what_was_learned_survives_being_written_down() -> None:
    found = after(("a", 0.1 + 0.2), ("b", 20.0), ("b", 22.0))
    again = UsualTimes.from_json(json.loads(json.dumps(found.to_json())))
    assert again == UsualTimes.from_json(found.to_json())
    again.finished("k", "b", 24.0)
    assert again.expected_s("k", "a") == pytest.approx(22.0), "the mean of the three"
