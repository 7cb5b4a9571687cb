"""How much a turn of the control loop does: short Ticks, short turns, small steps."""

import asyncio
import time
from collections.abc import Iterator

import pytest

from dovetail.control.loop.giving_way import in_pieces
from dovetail.control.loop.pace import FEWEST, FEWEST_ROWS, MOST, TICKS_OF_SLICE, WRITE_SLICES, TurnPace

SLICE_S = 0.008


@pytest.mark.parametrize("each_s", [1e-7, 1e-6, 1e-5, 1e-4])
def test_a_tick_takes_its_part_of_a_slice_whatever_a_decision_costs(each_s: float) -> None:
    pace = TurnPace(SLICE_S)
    for _ in range(20):
        pace.ticked(pace.limit, pace.limit * each_s)
    target_s = SLICE_S / TICKS_OF_SLICE
    assert pace.limit == pytest.approx(min(max(target_s / each_s, FEWEST), MOST), rel=0.1)


def test_little_work_says_nothing_about_how_long_much_would_take() -> None:
    pace = TurnPace(SLICE_S)
    before = pace.limit
    pace.ticked(1, 1e-6)
    assert pace.limit == before


@pytest.mark.parametrize("each_s", [1e-6, 1e-5, 1e-4, 1e-3])
def test_a_step_has_as_many_rows_as_can_be_written_in_time(each_s: float) -> None:
    pace = TurnPace(SLICE_S)
    for _ in range(20):
        pace.wrote(pace.most_rows, pace.most_rows * each_s)
    target_s = SLICE_S * WRITE_SLICES
    assert pace.most_rows == pytest.approx(min(max(target_s / each_s, FEWEST_ROWS), MOST), rel=0.1)


def test_long_work_leaves_others_time_for_several_turns() -> None:
    assert asyncio.run(_turns_of_others()) > 10


async def _turns_of_others() -> int:
    turns, ended = 0, False

    async def other() -> None:
        nonlocal turns
        while not ended:
            turns += 1
            await asyncio.sleep(0)

    def work() -> Iterator[None]:
        for _ in range(3):
            time.sleep(0.01)
            yield

    beside = asyncio.create_task(other())
    await in_pieces(work(), at_once_s=0.005)
    ended = True
    await beside
    return turns
