"""The timetable of own nodes: work is entered as late as it may start, and what can start now is brought forward."""

import numpy as np
import pytest

from dovetail.cluster.horizon import NEVER, RowProfile
from dovetail.placement.market.elsewhere import Elsewhere, likely_cost
from dovetail.placement.market.timetable import Candidate, OwnStart, Timetable
from dovetail.placement.market.timetable_search import TimetableSearch, first_weight


def profile(cores: float = 8, *releases: tuple[float, float]) -> RowProfile:
    return RowProfile(0.0, np.array([cores]), [(at, np.array([amount])) for at, amount in releases])


def job(id_: int, cores: float, run_s: float, latest: float, value: float = 1.0) -> Candidate:
    return Candidate(id_, 0, np.array([cores]), (0,), run_s, latest, value)


def test_the_latest_start_is_the_last_at_which_the_column_fits_for_so_long() -> None:
    one = profile(2, (10.0, 6.0))
    one.occupy(30.0, 40.0, np.array([7.0]))
    assert one.latest(np.array([4.0]), 5.0, 100.0) == 100.0
    assert one.latest(np.array([4.0]), 5.0, 35.0) == 25.0
    assert one.latest(np.array([4.0]), 21.0, 35.0) is None
    assert one.latest(np.array([1.0]), 5.0, 35.0) == 35.0


def test_work_is_entered_as_late_as_it_may_start() -> None:
    table = Timetable(0.0, {0: profile()})
    assert table.enter(job(1, 8, 10.0, 50.0))
    assert table.enter(job(2, 8, 10.0, 50.0))
    assert not table.enter(job(3, 8, 60.0, 50.0))
    assert table.starts == {1: OwnStart(0, 50.0), 2: OwnStart(0, 40.0)}


def test_what_can_start_at_once_is_brought_forward_without_moving_what_cannot() -> None:
    table = Timetable(0.0, {0: profile()})
    wide, narrow, long = job(1, 8, 10.0, 5.0), job(2, 4, 5.0, 50.0), job(3, 4, 30.0, 60.0)
    for one in (wide, narrow, long):
        table.enter(one)
    table.starts[1] = table.take_out(wide)._replace(at=5.0)
    table.put(wide, OwnStart(0, 5.0))
    table.bring_forward([narrow, long])
    assert table.starts == {1: OwnStart(0, 5.0), 2: OwnStart(0, 0.0), 3: OwnStart(0, 60.0)}


def test_a_start_moves_a_little_where_a_task_ends_later_than_expected_and_is_lost_where_that_is_too_late() -> None:
    one, other = job(1, 8, 10.0, 20.0), job(2, 8, 10.0, 30.0)
    table = Timetable(0.0, {0: profile(0, (22.0, 8.0))})
    starts = {1: OwnStart(0, 20.0), 2: OwnStart(0, 30.0)}
    table.keep({1: one, 2: other}, starts, {1: 25.0, 2: 31.0})
    assert table.starts == {1: OwnStart(0, 22.0)}
    table.keep({2: other}, starts, {2: 32.0})
    assert table.starts == {1: OwnStart(0, 22.0), 2: OwnStart(0, 32.0)}


def test_starts_that_still_fit_are_kept_as_they_are() -> None:
    one, other = job(1, 8, 10.0, 20.0, 3.0), job(2, 8, 10.0, 30.0, 4.0)
    table = Timetable(0.0, {0: profile(0, (20.0, 8.0))})
    starts = {1: OwnStart(0, 20.0), 2: OwnStart(0, 30.0), 3: OwnStart(0, 50.0)}
    table.keep({1: one, 2: other}, starts, {1: 25.0, 2: 31.0})
    assert (table.starts, table.value) == ({1: OwnStart(0, 20.0), 2: OwnStart(0, 30.0)}, 7.0)
    assert table.profiles[0].room(20.0, 40.0).tolist() == [0.0]
    assert table.profiles[0].room(40.0, NEVER).tolist() == [8.0]


def search(candidates: list[Candidate], rounds: int) -> TimetableSearch:
    weights = {one.id: first_weight(one, one.column[0] / 8) for one in candidates}
    return TimetableSearch(0.0, {0: profile()}, candidates, weights, rounds)


def test_the_search_finds_room_for_what_the_first_order_leaves_out() -> None:
    # The dear one first, as late as it may start, leaves no room for the other two, which together are worth more.
    dear, one, other = job(1, 8, 20.0, 15.0, 10.0), job(2, 8, 15.0, 0.0, 6.0), job(3, 8, 15.0, 15.0, 6.0)
    first, better = search([dear, one, other], 1), search([dear, one, other], 12)
    first.go_on(100)
    better.go_on(1000)
    assert (first.best_value, better.best_value) == (16.0, 16.0)
    tight = [job(1, 8, 20.0, 5.0, 10.0), job(2, 8, 15.0, 0.0, 7.0), job(3, 8, 15.0, 15.0, 7.0)]
    first, better = search(tight, 1), search(tight, 12)
    first.go_on(100)
    better.go_on(1000)
    assert (first.best_value, better.best_value) == (10.0, 14.0)


def test_a_search_pauses_when_its_effort_is_spent_and_ends_the_same() -> None:
    jobs = [job(number, 1 + number % 8, 5.0 + number, 10.0 + number % 3, 1.0 + number % 5) for number in range(20)]
    whole, pieces = search(jobs, 8), search(jobs, 8)
    whole.go_on(10_000)
    while not pieces.is_over:
        assert pieces.go_on(7) <= 7
    assert (whole.best, whole.best_value) == (pieces.best, pieces.best_value)


@pytest.mark.parametrize(("at", "low", "high"), [(-50.0, 4.0, 8.5), (9.0, 8.5, 10.0), (20.0, 9.0, 9.0)])
def test_work_that_is_interrupted_too_late_for_another_spot_machine_pays_for_a_dear_one_too(
    at: float, low: float, high: float
) -> None:
    choices = (Elsewhere(10.0, 4.0, 0.05, 3.0), Elsewhere(30.0, 9.0, 0.0, 9.0))
    found = likely_cost(choices, 30.0, at)
    assert found is not None
    assert low <= found <= high
    assert likely_cost(choices, 30.0, 31.0) is None
