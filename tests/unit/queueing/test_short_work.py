"""Work that fits waits for the sake of short work only where that pays."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.queueing.batch_order import FREE_SHARE, BatchOrdering
from dovetail.queueing.short_work import HALF_LIFE_S, ShortWork, _delayed
from dovetail.queueing.sorted_entries import QueueEntry

HOUR_S, DAY_S = 3600.0, 86_400.0


def entry(id_: int, share: float, run_s: float, submitted_at: float = 0.0) -> QueueEntry:
    return QueueEntry(id_, 0, "", None, 0, submitted_at, run_s, share)


LONG = entry(1, 0.5, 10 * HOUR_S)


def half_used(every_s: float, until: float = DAY_S) -> ShortWork:
    """Half of the machine runs for another hour, and work of ten seconds came at this pace until now."""
    found = ShortWork()
    for number, at in enumerate(np.arange(0.0, until, every_s)):
        found.arrived(at, entry(100 + number, 0.1, 10.0, at))
    found.started(until, entry(2, 0.5, HOUR_S))
    return found


def test_long_work_waits_for_the_next_end_if_much_short_work_is_expected() -> None:
    short_work = half_used(every_s=60.0)
    short_work.look(DAY_S, [LONG])
    assert short_work.profits(LONG, 0.5, 0.5)


def test_it_starts_at_once_if_hardly_any_short_work_is_expected() -> None:
    short_work = ShortWork()
    short_work.arrived(0.0, entry(9, 0.1, 5 * HOUR_S))
    short_work.started(DAY_S, entry(2, 0.5, HOUR_S))
    short_work.look(DAY_S, [LONG])
    assert not short_work.profits(LONG, 0.5, 0.5)


def test_it_starts_at_once_if_it_leaves_room_for_short_work() -> None:
    short_work = half_used(every_s=60.0)
    short_work.look(DAY_S, [LONG])
    assert not short_work.profits(LONG, 0.3, 0.5)


def test_it_starts_at_once_if_many_wait_for_the_time_that_would_be_lost() -> None:
    short_work = half_used(every_s=60.0)
    short_work.look(DAY_S, [LONG, *(entry(1000 + number, 0.5, HOUR_S) for number in range(500))])
    assert not short_work.profits(LONG, 0.5, 0.5)


def test_it_starts_at_once_if_nothing_runs_whose_end_it_could_wait_for() -> None:
    short_work = half_used(every_s=60.0)
    short_work.ended(2)
    short_work.look(DAY_S, [LONG])
    assert not short_work.profits(LONG, 0.5, 0.5)


def test_short_work_that_stopped_coming_is_expected_no_longer() -> None:
    later = DAY_S + 20 * HALF_LIFE_S
    short_work = half_used(every_s=60.0)
    short_work.ended(2)
    short_work.started(later, entry(3, 0.5, HOUR_S))
    short_work.look(later, [LONG])
    assert not short_work.profits(LONG, 0.5, 0.5)


@given(run_s=st.floats(1, 5000), fits_without=st.floats(0, 5000), later_s=st.floats(0, 5000))
def test_the_delay_equals_a_sum_over_single_arrivals(run_s: float, fits_without: float, later_s: float) -> None:
    until = min(run_s, fits_without + later_s)
    arrivals = np.arange(0.5, until)
    each = np.maximum(0.0, until - np.maximum(arrivals, fits_without))
    found = _delayed(0.0, run_s, np.array([fits_without]), np.array([fits_without + later_s]))
    assert found[0] == pytest.approx(each.sum(), rel=0.01, abs=until + 1.0)


# --- the ordering --------------------------------------------------------------------------------------------------


def busy_ordering() -> BatchOrdering:
    """Short work came all day and often had to wait."""
    ordering = BatchOrdering()
    for number in range(1440):
        ordering.arrived(entry(100 + number, 0.1, 10.0, 60.0 * number), 60.0 * number)
    ordering.arrived(entry(2, 0.5, HOUR_S, DAY_S), DAY_S)
    ordering.started(entry(2, 0.5, HOUR_S, DAY_S), DAY_S)
    return ordering


def test_nothing_is_held_back_where_work_rarely_has_to_wait() -> None:
    ordering, long = busy_ordering(), entry(1, 0.5, 10 * HOUR_S, DAY_S)
    ordering.arrived(long, DAY_S)
    ordering.rekey([long], DAY_S)
    assert ordering._short_work.profits(long, 0.5, 0.5)
    assert not ordering.holds_back(long, 0.5, 0.5)
    ordering._fcfs._served.sums[1] = 100.0  # a hundred of 1,440 waited
    assert ordering.holds_back(long, 0.5, 0.5)


def test_work_beyond_its_wait_limit_is_not_held_back() -> None:
    ordering, old = busy_ordering(), entry(1, 0.5, 10 * HOUR_S, -1e9)
    ordering._fcfs._served.sums[1] = 100.0
    ordering.rekey([old], DAY_S)
    assert ordering._short_work.profits(old, 0.5, 0.5)
    assert not ordering.holds_back(old, 0.5, 0.5)


def test_a_share_stays_free_only_while_first_come_first_served_makes_work_wait() -> None:
    ordering, long = BatchOrdering(), entry(1, 0.5, 10 * HOUR_S)
    ordering.arrived(entry(2, 0.1, 10.0), 0.0)
    ordering.arrived(long, 0.0)
    ordering.rekey([long], 0.0)
    assert ordering.free_share(long) == 0.0
    ordering.arrived(entry(3, 1.0, 10.0), 1.0)
    ordering.rekey([long], 1.0)
    assert ordering.free_share(long) == pytest.approx(FREE_SHARE)


ARRIVALS = st.lists(st.tuples(st.floats(0, 5000), st.floats(0.01, 1.0), st.floats(1, 50_000)), min_size=1, max_size=30)


@given(ARRIVALS)
def test_the_same_events_give_the_same_answers(arrivals: list[tuple[float, float, float]]) -> None:
    def answers() -> list[bool]:
        ordering, now, found = BatchOrdering(), 0.0, []
        for number, (gap_s, share, run_s) in enumerate(arrivals):
            now += gap_s
            one = entry(number, share, run_s, now)
            ordering.arrived(one, now)
            ordering.rekey([one], now)
            found.append(ordering.holds_back(one, share, 1.0))
            if not found[-1]:
                ordering.started(one, now)
        return found

    assert answers() == answers()


@given(ARRIVALS, st.integers(0, 29))
def test_after_a_restart_the_answers_are_the_same(arrivals: list[tuple[float, float, float]], at: int) -> None:
    def answers(restart_at: int | None) -> list[tuple[bool, float, tuple[float, ...]]]:
        ordering, now, found, waiting = BatchOrdering(), 0.0, [], list[QueueEntry]()
        for number, (gap_s, share, run_s) in enumerate(arrivals):
            if number == restart_at:
                memory = json.loads(json.dumps(ordering.memory()))
                ordering = BatchOrdering()
                ordering.recall(memory)
                for one in waiting:
                    ordering.arrived(one, one.submitted_at)
            now += gap_s
            new = entry(number, share, run_s, now)
            ordering.arrived(new, now)
            waiting.append(new)
            ordering.rekey(waiting, now)
            found.append((ordering.holds_back(new, share, 1.0), ordering.free_share(new), ordering.key(new)))
            if number % 2:
                ordering.started(waiting.pop(0), now)
            if number % 5 == 4:
                ordering.ended(number - 4, now, run_s)
        return found

    assert answers(at) == answers(None)
