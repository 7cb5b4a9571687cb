"""In which order work is entered in a timetable, so that what is left out costs little elsewhere.

Squeaky-wheel optimisation: work is entered in order of its weights; the dearest work that is left out gets more weight,
and all is entered again. Dear work goes first at the beginning, and of equally dear work that which takes less.
Guarantees: no randomness; an effort is counted for each work that is tried, so that whoever calls decides when to
pause. The weights are all that is kept between two searches.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import log

import numpy as np

from dovetail.cluster.horizon import RowProfile
from dovetail.placement.market.timetable import Candidate, OwnStart, Timetable

BUMPS = (0.3, 0.6, 0.9)
"""By which weights grow, in turn; weights are logarithms of money."""
BACK_AFTER = 11
"""Rounds without success, after which the search goes on from the best weights it knows."""

ROWS_FOR_ONE = 4
"""Nodes that are looked at for an effort of one."""


def first_weight(one: Candidate, amounts: float) -> float:
    """`amounts`: of the node, the part that it takes."""
    return log(max(one.value, 1e-9)) - 0.5 * log(max(one.run_s * amounts, 1e-9))


class TimetableSearch:
    def __init__(
        self,
        now: float,
        profiles: Mapping[int, RowProfile],
        candidates: Sequence[Candidate],
        weights: dict[int, float],
        rounds: int,
    ) -> None:
        self.now = now
        self.best: dict[int, OwnStart] = {}
        self.best_value = -np.inf
        self.best_weights = weights
        self._profiles, self._candidates, self._rounds = profiles, candidates, rounds
        self.is_over = False
        self._steps = self._search(dict(weights))

    def go_on(self, effort: int) -> int:
        """Spend about so much effort. Returns how much; less, if the search is over."""
        done = 0
        for spent in self._steps:
            done += spent
            if done >= effort:
                return done
        self.is_over = True
        return done

    def _search(self, weights: dict[int, float]) -> Iterator[int]:
        without_success = 0
        for number in range(self._rounds):
            table = Timetable(self.now, self._profiles)
            for one in sorted(self._candidates, key=lambda one: (one.rank, -weights[one.id], one.latest, one.id)):
                table.enter(one)
                yield 1 + len(one.rows) // ROWS_FOR_ONE
            if table.value > self.best_value:
                self.best, self.best_value, self.best_weights = table.starts, table.value, dict(weights)
                without_success = 0
            else:
                without_success += 1
            left_out = [one for one in self._candidates if one.id not in table.starts]
            if not left_out:
                return
            if without_success and without_success % BACK_AFTER == 0:
                weights = dict(self.best_weights)
            left_out.sort(key=lambda one: (-one.value, one.id))
            for one in left_out[: max(3, len(left_out) // 10)]:
                weights[one.id] += BUMPS[number % len(BUMPS)]
