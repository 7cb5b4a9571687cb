"""Room over time, held against a plain reckoning that looks at every moment on its own."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from dovetail.cluster.arrays import F8
from dovetail.cluster.horizon import NEVER, Horizon, Release, RowProfile

NOW = 10.0
RESOURCES = 2
TIMES = st.sampled_from([10.0, 11.0, 12.0, 13.0, 15.0, 18.0, 20.0])
LATER = TIMES.filter(lambda at: at > NOW)
COLUMNS = st.tuples(st.integers(0, 3), st.integers(0, 3)).map(lambda pair: np.array(pair, dtype=float))
ASKED = COLUMNS.filter(lambda column: bool(column.any()))
RUN_TIMES = st.sampled_from([0.5, 1.0, 2.0, 4.0, 7.0, NEVER])


@dataclass
class Kept:
    """Room that was promised on a row."""

    row: int
    start: float
    end: float
    column: F8


@dataclass
class World:
    free: F8  # float64[resource, node]
    ends: list[Release]
    promises: list[Kept]
    mask: np.ndarray

    def horizon(self) -> Horizon:
        found = Horizon(self.free, NOW, self.ends, lambda row: [(e.at, e.column) for e in self.ends if e.row == row])
        for kept in self.promises:
            found.occupy(kept.row, kept.start, kept.end, kept.column)
        return found

    def free_at(self, row: int, at: float) -> F8:
        """By the meaning of the words: what is free now, and what came back, less what is promised then."""
        found: F8 = self.free[:, row].copy()
        for end in self.ends:
            if end.row == row and end.at <= at:
                found += end.column
        for kept in self.promises:
            if kept.row == row and kept.start <= at < kept.end:
                found -= kept.column
        return found

    def least(self, row: int, start: float, end: float) -> F8:
        moments = [start, *(at for at in self.moments() if start < at < end)]
        found: F8 = np.array([self.free_at(row, at) for at in moments]).min(axis=0)
        return found

    def moments(self) -> list[float]:
        times = {NOW, *(end.at for end in self.ends)}
        times |= {at for kept in self.promises for at in (kept.start, kept.end) if at != NEVER}
        return sorted(times)

    def copies(self, row: int, start: float, run_s: float, column: F8) -> int:
        room = np.maximum(self.least(row, start, start + run_s), 0.0)
        asked = column > 0
        return int((room[asked] // column[asked]).min()) if self.mask[row] else 0

    def together(self, start: float, run_s: float, column: F8) -> int:
        return sum(self.copies(row, start, run_s, column) for row in range(self.free.shape[1]))

    def earliest(self, count: int, run_s: float, column: F8) -> float:
        """The answer can only change for the better at a step, or just after a task would run into one."""
        starts = set(self.moments())
        starts |= {np.nextafter(at - run_s, NEVER) for at in self.moments() if run_s != NEVER}
        for start in sorted(at for at in starts if at >= NOW):
            if self.together(start, run_s, column) >= count:
                return start
        return NEVER


@st.composite
def worlds(draw: st.DrawFn) -> World:
    nodes = draw(st.integers(1, 3))
    free = np.array([draw(COLUMNS) for _ in range(nodes)]).T
    ends = draw(st.lists(st.builds(Release, LATER, st.integers(0, nodes - 1), COLUMNS), max_size=6))
    promises = []
    for _ in range(draw(st.integers(0, 3))):
        start = draw(TIMES)
        end = draw(st.sampled_from([start + 1.0, start + 3.0, start + 6.0, NEVER]))
        promises.append(Kept(draw(st.integers(0, nodes - 1)), start, end, draw(COLUMNS)))
    mask = np.array([draw(st.booleans()) or nodes == 1 for _ in range(nodes)])
    return World(free, sorted(ends, key=lambda end: end.at), promises, mask)


@examples(200)
@given(world=worlds(), start=TIMES, length_s=st.sampled_from([0.5, 1.0, 3.0, NEVER]))
def test_the_room_of_a_row_is_the_least_of_every_moment(world: World, start: float, length_s: float) -> None:
    horizon = world.horizon()
    for row in range(world.free.shape[1]):
        found = horizon.profile(row).room(start, start + length_s)
        assert found.tolist() == world.least(row, start, start + length_s).tolist()


@examples(200)
@given(world=worlds(), column=ASKED, run_s=RUN_TIMES)
def test_one_task_starts_as_early_as_looking_at_every_moment_finds(world: World, column: F8, run_s: float) -> None:
    slot = world.horizon().earliest(world.mask, column, 1, run_s)
    assert (NEVER if slot is None else slot.start) == world.earliest(1, run_s, column)
    if slot is not None:
        (row,) = slot.rows
        assert world.copies(row, slot.start, run_s, column) >= 1


@examples(250)
@given(world=worlds(), column=ASKED, run_s=RUN_TIMES, count=st.integers(2, 5))
def test_many_tasks_start_together_as_early_as_looking_at_every_moment_finds(
    world: World, column: F8, run_s: float, count: int
) -> None:
    slot = world.horizon().earliest(world.mask, column, count, run_s)
    assert (NEVER if slot is None else slot.start) == world.earliest(count, run_s, column)
    if slot is not None:
        assert len(slot.rows) == count
        for row in set(slot.rows):
            assert world.copies(row, slot.start, run_s, column) >= slot.rows.count(row)


@examples(100)
@given(world=worlds(), column=ASKED, run_s=RUN_TIMES)
def test_a_start_that_is_taken_leaves_no_less_than_nothing(world: World, column: F8, run_s: float) -> None:
    """Plans that follow one another never promise the same room twice."""
    horizon = world.horizon()
    for _ in range(4):
        slot = horizon.earliest(world.mask, column, 1, run_s)
        if slot is None:
            break
        row, end = slot.rows[0], slot.start + run_s
        assert (horizon.profile(row).room(slot.start, end) >= column)[column > 0].all()
        horizon.occupy(row, slot.start, end, column)
        assert (horizon.profile(row).room(slot.start, end)[column > 0] >= 0).all()


def test_work_that_ends_at_one_moment_gives_back_all_of_it_at_that_moment() -> None:
    one = np.array([1.0])
    ends = [Release(12.0, 0, one), Release(12.0, 1, one), Release(12.0, 1, one)]
    horizon = Horizon(np.zeros((1, 2)), NOW, ends, lambda _: [])
    slot = horizon.earliest(np.array([True, True]), one, 3, 5.0)
    assert slot is not None
    assert (slot.start, sorted(slot.rows)) == (12.0, [0, 1, 1])


def test_a_task_that_ends_just_when_a_promise_begins_fits_before_it() -> None:
    profile = RowProfile(NOW, np.array([1.0]), [])
    profile.occupy(15.0, NEVER, np.array([1.0]))
    assert profile.earliest(np.array([1.0]), 5.0) == NOW
    assert profile.earliest(np.array([1.0]), 5.5) == NEVER


def test_a_gap_between_two_promises_takes_only_what_is_short_enough() -> None:
    profile = RowProfile(NOW, np.array([1.0]), [])
    profile.occupy(12.0, 14.0, np.array([1.0]))
    profile.occupy(17.0, 20.0, np.array([1.0]))
    assert profile.earliest(np.array([1.0]), 2.0) == NOW
    assert profile.earliest(np.array([1.0]), 3.0) == 14.0
    assert profile.earliest(np.array([1.0]), 3.5) == 20.0


def test_the_steps_of_a_profile_are_in_order_whatever_is_cut_into_it() -> None:
    profile = RowProfile(NOW, np.array([4.0]), [(12.0, np.array([1.0])), (11.0, np.array([1.0]))])
    for start, end in [(11.5, 13.0), (10.0, 12.0), (9.0, 10.5), (12.0, NEVER)]:
        profile.occupy(start, end, np.array([1.0]))
    assert all(before < after for before, after in pairwise(profile.times))
    assert profile.room(12.0, 12.5).tolist() == [pytest.approx(4.0)]


def test_a_resource_that_came_later_counts_as_free_of_older_promises() -> None:
    """Columns are as long as there were resources when they were made."""
    profile = RowProfile(NOW, np.array([2.0, 5.0]), [(12.0, np.array([1.0]))])
    profile.occupy(11.0, 13.0, np.array([2.0]))
    assert profile.room(11.0, 14.0).tolist() == [0.0, 5.0]
