"""The order of batch work: short first, nobody for ever, the widest work in quiet hours."""

import numpy as np
import pytest

from dovetail.queueing.batch_order import (
    DAY_S,
    FEW,
    HOUR_S,
    MOST_RELAXED,
    WAIT_LIMIT_FACTOR,
    BatchOrder,
    BatchOrdering,
    Floats,
    _integrals,
)
from dovetail.queueing.fcfs_simulation import PERIOD_S
from dovetail.queueing.sorted_entries import QueueEntry


def floats(*values: float) -> Floats:
    return np.array(values, dtype=np.float64)


def a_week_with_busy_days_and_quiet_nights() -> BatchOrder:
    order = BatchOrder()
    for day in range(7):
        for minute in range(8 * 60, 18 * 60):
            order.arrived(day * DAY_S + minute * 60.0, 10.0)
    return order


def test_the_short_go_before_the_long_and_the_narrow_before_the_wide() -> None:
    keys = BatchOrder().keys(0.0, floats(0, 0, 0), floats(60, 3600, 60), floats(0.1, 0.1, 0.2), 1000.0)
    assert keys[0] < keys[2] < keys[1]


def test_below_ten_seconds_nobody_is_preferred() -> None:
    keys = BatchOrder().keys(0.0, floats(0, 0), floats(1, 10), floats(0.1, 0.1), 0.0)
    assert keys[0] == keys[1]


def test_who_waited_to_the_limit_goes_before_the_shortest_newcomer() -> None:
    limit_s = WAIT_LIMIT_FACTOR * 10_000.0
    keys = BatchOrder().keys(limit_s, floats(0, limit_s), floats(10_000, 10), floats(0.5, 0.5), 10_000.0)
    assert keys[0] < keys[1]


def test_the_limit_is_for_the_few_and_grows_up_to_its_bound_when_many_wait_long() -> None:
    limit_s = WAIT_LIMIT_FACTOR * 10_000.0 + 1.0
    limits = {
        waiting: BatchOrder().wait_limit_s(10_000.0, np.full(waiting, 0.5 * limit_s))
        for waiting in (0, FEW, 2 * FEW, 1000 * FEW)
    }
    assert limits == pytest.approx({0: limit_s, FEW: limit_s, 2 * FEW: 2 * limit_s, 1000 * FEW: MOST_RELAXED * limit_s})
    assert BatchOrder().wait_limit_s(10_000.0, np.full(1000, 0.3 * limit_s)) == pytest.approx(limit_s)


def test_after_an_overload_is_long_over_work_rises_as_soon_as_before_it() -> None:
    def keys_after(overloaded: bool) -> list[tuple[float, ...]]:
        ordering = BatchOrdering()
        for id_ in range(200 if overloaded else 2):
            ordering.arrived(QueueEntry(id_, 0, "", None, 0, 0.0, HOUR_S, 1.0), 0.0)
        later = 3 * PERIOD_S
        entries = [
            QueueEntry(1000, 0, "", None, 0, later - HOUR_S, 600.0, 0.5),
            QueueEntry(1001, 0, "", None, 0, later, 60.0, 0.5),
        ]
        for entry in entries:
            ordering.arrived(entry, entry.submitted_at)
        ordering.rekey(entries, later)
        return [ordering.key(entry) for entry in entries]

    assert keys_after(overloaded=True) == pytest.approx(keys_after(overloaded=False))


def test_past_the_limit_a_task_keeps_rising() -> None:
    order = BatchOrder()
    once = order.keys(30_000.0, floats(0), floats(100), floats(0.5), 10_000.0)
    later = order.keys(60_000.0, floats(0), floats(100), floats(0.5), 10_000.0)
    assert later[0] < once[0] - 10.0


def test_work_for_the_whole_machine_goes_sooner_by_night_than_by_day() -> None:
    submitted_at, longest_s = 6 * DAY_S, 2 * DAY_S
    keys = {}
    for share in (1.0, 0.5):
        for hour in (9, 20):
            order = a_week_with_busy_days_and_quiet_nights()
            now = 7 * DAY_S + hour * HOUR_S
            # The same age at both hours: only the hour differs.
            begun = now - (7 * DAY_S - submitted_at)
            keys[share, hour] = order.keys(now, floats(begun), floats(4 * HOUR_S), floats(share), longest_s)[0]
    assert keys[1.0, 20] < keys[1.0, 9] - 5.0
    assert keys[0.5, 20] == pytest.approx(keys[0.5, 9])


def test_without_any_arrival_every_hour_is_an_ordinary_one() -> None:
    assert BatchOrder()._busyness(0.0, floats(100.0, 1e6)).tolist() == [1.0, 1.0]


def test_when_all_hours_are_alike_a_long_run_is_as_busy_as_a_short_one() -> None:
    order = BatchOrder()
    for hour in range(24 * 14):
        order.arrived(hour * HOUR_S, 10.0)
    assert order._busyness(14 * DAY_S, floats(100.0, HOUR_S, 3 * DAY_S)) == pytest.approx(1.0, rel=0.02)


def test_the_integrals_equal_a_sum_over_small_steps() -> None:
    rate = np.arange(24.0) % 7
    for until_s in (0.0, 1234.0, DAY_S, 2.3 * DAY_S):
        steps = np.arange(0.0, until_s, 10.0) + 5.0
        each = rate[(steps // HOUR_S).astype(int) % 24] * 10.0
        once, twice = _integrals(rate, floats(until_s))
        assert once[0] == pytest.approx(each.sum(), rel=0.01, abs=50)
        assert twice[0] == pytest.approx((each * (until_s - steps)).sum(), rel=0.01, abs=1e6)


def test_long_work_leaves_a_lane_free_and_short_work_may_use_it() -> None:
    order = BatchOrder()
    for expected_s in (10.0, 100.0, 1000.0):
        order.arrived(0.0, expected_s)
    assert order.needed_share(floats(50, 5000, 5000), floats(0.3, 0.3, 1.0)) == pytest.approx([0.3, 0.32, 1.0])


def test_what_counts_as_long_falls_when_the_work_becomes_shorter() -> None:
    order = BatchOrder()
    for hour in range(24 * 365):
        order.arrived(hour * HOUR_S, 10 * HOUR_S)
    assert order.usual_s == pytest.approx(10 * HOUR_S)
    for hour in range(24 * 120):
        order.arrived((24 * 365 + hour) * HOUR_S, 60.0)
    assert order.usual_s < 120.0  # with all arrivals alike it would still be hours
    assert order.needed_share(floats(HOUR_S), floats(0.3)) == pytest.approx([0.32])


def test_what_counts_as_long_stays_as_it_is_while_nothing_arrives() -> None:
    order = BatchOrder()
    order.arrived(0.0, 100.0)
    order.arrived(0.0, 400.0)
    order.keys(400 * DAY_S, floats(0), floats(1), floats(1), 0.0)
    assert order.usual_s == pytest.approx(200.0)


def test_the_hours_seen_add_up_to_the_time_that_passed() -> None:
    order = BatchOrder()
    order.arrived(1000.5, 10.0)
    order.arrived(3 * DAY_S + 77.25, 10.0)
    assert order._seen_s.sum() == pytest.approx(3 * DAY_S + 77.25 - 1000.5)


def test_an_empty_queue_has_no_keys() -> None:
    assert BatchOrder().keys(0.0, floats(), floats(), floats(), 0.0).shape == (0,)


def test_work_that_asks_for_nothing_still_has_a_key() -> None:
    assert np.isfinite(BatchOrder().keys(0.0, floats(0), floats(0), floats(0), 0.0)).all()
