"""What it costs to start waiting work on a node in time: the cheapest moment, and the tasks that would have to leave.

Running tasks end when they are expected to. Until then they hold their capacity, unless they can leave, for what that
costs at the last moment at which they still could. Amounts alone are looked at.
"""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from dovetail.cluster.arrays import F8
from dovetail.engine.preemption.elsewhere import LeavingTask
from dovetail.engine.state.engine_state import EngineState
from dovetail.placement.market.elsewhere import cheapest_elsewhere

T = TypeVar("T")


def cheapest_set(short: F8, among: Sequence[tuple[float, F8, T]]) -> list[T] | None:
    """Of those that cost something and free something, some that together free what is short, and cost little: those
    that free most for the money, without the ones that were not needed after all. None if all are not enough."""
    missing = short > 0
    if not missing.any():
        return []
    needed = short[missing]

    def freed(column: F8) -> F8:
        wide = np.zeros(len(short))
        wide[: len(column)] = column[: len(short)]
        return wide[missing]

    useful = [(cost, amounts, one) for cost, column, one in among if (amounts := freed(column)).any()]
    useful.sort(key=lambda entry: entry[0] / float(np.minimum(entry[1] / needed, 1.0).max()))
    chosen: list[tuple[float, F8, T]] = []
    got: F8 = np.zeros(len(needed))
    for entry in useful:
        if (got >= needed).all():
            break
        chosen.append(entry)
        got = got + entry[1]
    if (got < needed).any():
        return None
    for entry in sorted(chosen, key=lambda entry: -entry[0]):
        if (got - entry[1] >= needed).all():
            chosen = [other for other in chosen if other is not entry]
            got = got - entry[1]
    return [one for _, _, one in chosen]


class StartCosts:
    def __init__(self, state: EngineState, leaving: dict[int, list[LeavingTask]], now: float) -> None:
        self._state, self._leaving, self._now = state, leaving, now

    def of(self, row: int, column: F8, until: float, subject: LeavingTask, *, leaves: bool) -> float | None:
        """If `subject` leaves or not, what that costs left out, in money; None: it cannot start there until then."""
        state, now = self._state, self._now
        placements = state.cluster.placements
        free = state.cluster.resources.free[: len(column), row]
        can_leave = {one.task: one for one in self._leaving.get(row, ())}
        ends = {task: state.ends.at(task) for task in placements.by_row[row]}
        best: float | None = None
        for moment in sorted({now, *[end for end in ends.values() if end is not None and now < end <= until]}):
            short = column - free
            among: list[tuple[float, F8, float]] = []
            for task, end in ends.items():
                held = placements.by_task[task].column[: len(column)]
                gone = task in state.stopping or (end is not None and end <= moment)
                if gone or (leaves and task == subject.task):
                    short[: len(held)] -= held
                elif task != subject.task and (one := can_leave.get(task)) is not None:
                    choice = cheapest_elsewhere(one.choices, min(moment, one.last))
                    assert choice is not None
                    among.append((choice.cost, held, choice.cost))
            chosen = cheapest_set(short, among)
            if chosen is not None and (best is None or sum(chosen) < best):
                best = sum(chosen)
            if best == 0:
                break
        return best
