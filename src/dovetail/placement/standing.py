"""Standing: how all nodes rank for one shape, kept up to date instead of computed anew.

When a row changes, only that row is evaluated again. When the change is one more task of this very shape, not even
that: the nodes at the top were evaluated ahead, as they would be with one, two, … more copies (`Ladder`), all in one
array pass. The best node is read from a short sorted list of leaders that is refilled from the arrays when it runs
low. So the ten-thousandth replica costs about as much as a dictionary lookup, and picks exactly the node that a
full evaluation would.
"""

from bisect import bisect_left, insort
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dovetail.cluster.arrays import F8, Rows
from dovetail.cluster.state import PLACEMENTS, RESOURCES, Cluster
from dovetail.cluster.view import View
from dovetail.model.reason import NodePoints
from dovetail.placement.contract import Request
from dovetail.placement.evaluation import LOST, Evaluator, Sifted

LEADERS = 128
STEPS_AHEAD = 4
STEPS_AHEAD_SINGLE = 16


@dataclass(slots=True)
class Ladder:
    """One node as it would be after `step` more copies; index 0 is now."""

    totals: list[float]
    points: F8  # float64[score, step]
    stages: npt.NDArray[np.bool_]  # bool[filter, step]
    step: int = 0


class Standing:
    def __init__(self, request: Request, evaluator: Evaluator, cluster: Cluster) -> None:
        self.request = request
        self._evaluator = evaluator
        self._cluster = cluster
        # Looking ahead assumes that one more copy changes nothing but the node's own resources.
        self._can_look_ahead = request.shape.service is None and not evaluator.outsiders_read_placements
        # What placing one of our own tasks changes, as far as the profile looks at it.
        self._own_groups = [group for group in (RESOURCES, PLACEMENTS) if group in evaluator.reads]
        self._evaluate_all()

    @property
    def size_bytes(self) -> int:
        return int(self.total.nbytes + self.points.nbytes + self.stages.nbytes)

    @property
    def sifted(self) -> Sifted:
        """What the filters left, as of the last refresh."""
        return Sifted(list(self.stages), self.counts, self._filter_notes)

    # --- asking ----------------------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Take in everything that changed in the cluster since the last call."""
        if self._epoch != self._cluster.epoch or len(self.total) != self._cluster.width:
            self._evaluate_all()
            return
        dirty: set[int] = set()
        for group in self._evaluator.reads:
            log = self._cluster.log[group]
            if self._seen[group] < len(log):
                dirty.update(log[self._seen[group] :])
                self._seen[group] = len(log)
        if not dirty:
            return
        if len(dirty) > 64 + len(self.total) // 8:
            self._evaluate_all()
            return
        self._evaluate_rows(np.array(sorted(dirty), dtype=np.intp))

    def top(self, count: int) -> list[int]:
        """The best rows, best first; fewer if fewer are feasible."""
        if len(self._leaders) < count and self._beyond:
            self._fill_leaders()
        return [row for _, row in self._leaders[:count]]

    def line(self, row: int) -> NodePoints:
        """The row's points, made once until the row changes."""
        found = self._lines.get(row)
        if found is None:
            found = self._lines[row] = NodePoints(
                self._cluster.names[row],
                float(self.total[row]),
                tuple(self.points[:, row].tolist()),
                float(self._cluster.resources.load[row]),
            )
        return found

    def took(self, row: int) -> None:
        """One more task of this shape was just placed on the row, through `Cluster.place`."""
        ladder = self._ladders.get(row)
        logs = self._cluster.log
        if ladder is None or any(self._seen[group] != len(logs[group]) - 1 for group in self._own_groups):
            return  # something else changed too: the next refresh evaluates the row
        ladder.step += 1
        if ladder.step >= len(ladder.totals):
            del self._ladders[row]
            self._look_ahead(np.array([row], dtype=np.intp), STEPS_AHEAD_SINGLE)
            ladder = self._ladders.get(row)
            if ladder is None:
                return
        self._advance_log()
        step = ladder.step
        self._set_row(row, ladder.totals[step], ladder.points[:, step], ladder.stages[:, step])

    # --- evaluating ------------------------------------------------------------------------------------------

    def _advance_log(self) -> None:
        for group in self._own_groups:
            self._seen[group] += 1

    def _evaluate_all(self) -> None:
        cluster = self._cluster
        view = View(cluster)
        sifted = self._evaluator.sift(self.request, view)
        scored = self._evaluator.score(self.request, view)
        self._epoch = cluster.epoch
        self._seen = {group: len(cluster.log[group]) for group in self._evaluator.reads}
        self._filter_notes, self.notes = sifted.notes, sifted.notes + scored.notes
        self.stages = np.array(sifted.stages)
        self.counts = list(sifted.counts)
        self._lines: dict[int, NodePoints] = {}
        self.points = np.empty((len(scored.points), view.size))
        for i, points in enumerate(scored.points):
            self.points[i] = points
        self.total = np.where(sifted.alive, scored.total, LOST)
        self._fill_leaders()

    def _evaluate_rows(self, rows: Rows) -> None:
        totals, points, stages, notes = self._evaluated(View(self._cluster).subset(rows))
        if notes != self.notes:  # a plugin failed here only, or no longer fails: these rows do not compare to the rest
            self._evaluate_all()
            return
        for i, (row, total) in enumerate(zip(rows.tolist(), totals.tolist(), strict=True)):
            self._ladders.pop(row, None)
            self._set_row(row, total, points[:, i], stages[:, i])

    def _evaluated(self, view: View) -> tuple[F8, F8, npt.NDArray[np.bool_], tuple[str, ...]]:
        sifted = self._evaluator.sift(self.request, view)
        scored = self._evaluator.score(self.request, view)
        points = np.empty((len(scored.points), view.size))
        for i, one in enumerate(scored.points):
            points[i] = one
        total = np.where(sifted.alive, scored.total, LOST)
        return total, points, np.array(sifted.stages), sifted.notes + scored.notes

    def _look_ahead(self, rows: Rows, steps: int) -> None:
        copies = np.tile(np.arange(steps, dtype=np.float64), len(rows))
        view = View(self._cluster).after(np.repeat(rows, steps), self.request.column, copies)
        totals, points, stages, notes = self._evaluated(view)
        if notes != self.notes:
            return
        listed = totals.tolist()
        for i, row in enumerate(rows.tolist()):
            cut = slice(i * steps, (i + 1) * steps)
            self._ladders[row] = Ladder(listed[cut], points[:, cut], stages[:, cut])

    # --- the leaders -----------------------------------------------------------------------------------------

    def _set_row(self, row: int, total: float, points: F8, stages: npt.NDArray[np.bool_]) -> None:
        before = float(self.total[row])
        self._lines.pop(row, None)
        self.total[row] = total
        self.points[:, row] = points
        if total == LOST or before == LOST:
            for i, (now, then) in enumerate(zip(stages.tolist(), self.stages[:, row].tolist(), strict=True)):
                self.counts[i] += now - then
            self.stages[:, row] = stages
        if before != LOST:
            key = (-before, row)
            if key <= self._bound:
                del self._leaders[bisect_left(self._leaders, key)]
            else:
                self._beyond -= 1
        if total != LOST:
            key = (-total, row)
            if key <= self._bound:
                insort(self._leaders, key)
            else:
                self._beyond += 1

    def _fill_leaders(self) -> None:
        """The first LEADERS rows by (total, then lower row). `_bound` is the last of them: whatever sorts after it
        is not in the list, and `_beyond` counts those."""
        feasible = np.flatnonzero(self.total > LOST)
        totals = self.total[feasible]
        if len(feasible) > LEADERS:
            threshold = np.partition(totals, len(totals) - LEADERS)[len(totals) - LEADERS]
            above = feasible[totals > threshold]
            ties = feasible[totals == threshold][: LEADERS - len(above)]
            leaders = np.concatenate([above, ties])
        else:
            leaders = feasible
        self._leaders = sorted(zip((-self.total[leaders]).tolist(), leaders.tolist(), strict=True))
        self._beyond = len(feasible) - len(leaders)
        self._bound = self._leaders[-1] if self._beyond else (np.inf, 0)
        self._ladders: dict[int, Ladder] = {}
        if self._can_look_ahead and len(leaders):
            self._look_ahead(leaders, STEPS_AHEAD)
