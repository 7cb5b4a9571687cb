"""What a tenant's reservations keep free of a node: what they hold, less what it runs there, as time goes on."""

import numpy as np

from dovetail.engine.promises.promises import held_capacity
from dovetail.engine.reservations.windows import Window, as_of, overlapping, upcoming
from dovetail.model.record import ReservationRecord
from dovetail.model.reservation import Target

NEVER = float("inf")


def kept(
    windows: list[tuple[float, float, float]], runs: list[tuple[float, float]], now: float
) -> list[tuple[float, ...]]:
    found = held_capacity([(a, b, np.array([c])) for a, b, c in windows], [(e, np.array([c])) for e, c in runs], now)
    return [(start, end, float(column[0])) for start, end, column in found]


def every(s: float, start: float = 100.0, end: float = 150.0, last: float | None = None) -> ReservationRecord:
    return ReservationRecord(1, Target(nodes=("n",)), {}, start, end, every_s=s, last=last)


def test_a_window_keeps_all_of_it_from_now_on() -> None:
    assert kept([(10, 20, 4)], [], now=15) == [(15, 20, 4)]


def test_running_work_counts_until_it_ends() -> None:
    assert kept([(10, 20, 4)], [(15, 3), (5, 9)], now=0) == [(10, 15, 1), (15, 20, 4)]


def test_work_without_an_end_counts_all_the_time_and_never_below_nothing() -> None:
    assert kept([(10, 20, 4)], [(NEVER, 9)], now=0) == []


def test_a_task_counts_once_against_two_windows() -> None:
    assert kept([(10, 30, 2), (20, 40, 2)], [(NEVER, 3)], now=0) == [(20, 30, 1)]


def test_a_shorter_column_is_filled_up() -> None:
    found = list(held_capacity([(0, 9, np.array([4.0, 1.0]))], [(NEVER, np.array([1.0]))], 0))
    assert [column.tolist() for *_, column in found] == [[3.0, 1.0]]


def test_windows_come_at_their_distance_until_the_last() -> None:
    assert upcoming(every(300), 3) == [Window(100, 150), Window(400, 450), Window(700, 750)]
    assert upcoming(every(300, last=400), 9) == [Window(100, 150), Window(400, 450)]


def test_windows_touch_only_if_they_share_a_moment() -> None:
    assert overlapping(every(300), Window(150, 400)) == []
    assert overlapping(every(300), Window(149, 401)) == [Window(100, 150), Window(400, 450)]
    assert overlapping(every(300, last=400), Window(690, 9999)) == []
    assert overlapping(every(300), Window(10**9, 10**9 + 300))[0].start % 300 == 100


def test_very_many_windows_are_taken_as_one_long_one() -> None:
    (one,) = overlapping(every(300), Window(0, 10**9))
    assert one.start == 100
    assert one.end >= 10**9 - 300


def test_a_record_moves_on_to_the_window_that_is_now_or_next() -> None:
    record = every(300, last=700)
    moved = [as_of(record, now) for now in (99, 100, 149, 150, 400, 740, 750)]
    assert [None if found is None else (found.start, found.begun) for found in moved] == [
        (100, False), (100, True), (100, True), (400, False), (400, True), (700, True), None,
    ]  # fmt: skip
