"""Standing: how all nodes rank for one shape, kept up to date instead of computed anew.

When rows change, only those are evaluated again, and of the plugins only those that read what changed. When one shape
is placed again and again, not even that: the nodes at the top were evaluated ahead, as they would be with one, two, …
more copies (`leaders.Ladder`), all in one array pass. So the ten-thousandth replica costs about as much as a dictionary
lookup, and picks exactly the node that a full evaluation would.
"""

import numpy as np
import numpy.typing as npt

from dovetail.cluster.arrays import F8, Rows
from dovetail.cluster.state import DEVICES, PLACEMENTS, RESOURCES, Cluster
from dovetail.cluster.view import View
from dovetail.model.reason import NodePoints
from dovetail.placement.contract import Request
from dovetail.placement.evaluation import LOST, Evaluator, Sifted
from dovetail.placement.leaders import Ladder, Leaders

STEPS_AHEAD = 4
STEPS_AHEAD_SINGLE = 16
#: More changed rows than this are written as arrays, and the leaders given up.
ROW_BY_ROW = 4
#: Decisions in a row with nothing but our own tasks changing, until leaders are worth finding.
STREAK = 3


class Standing:
    """`masks` and `stages` are bool[filter, node] (each alone, and all so far), `points` float64[score, node],
    `total` float64[node] with LOST where a filter refuses."""

    masks: npt.NDArray[np.bool_]
    stages: npt.NDArray[np.bool_]
    points: F8
    total: F8
    counts: list[int]
    _changes: int
    _seen: dict[str, int]
    _epochs: tuple[int, ...]
    _failures: list[str]
    _failed: bool
    _constants: list[float | None]
    _leaders: Leaders | None
    _lines: dict[int, NodePoints]

    def __init__(self, request: Request, evaluator: Evaluator, cluster: Cluster) -> None:
        self.request = request
        self._evaluator = evaluator
        self._cluster = cluster
        # Looking ahead assumes that one more copy changes nothing but the node's own resources.
        self._can_look_ahead = (
            request.shape.service is None and evaluator.looks_ahead and not evaluator.outsiders_read_placements
        )
        self._filter_reads = [evaluator.reads_of(plugin, request) for plugin in evaluator.filters]
        self._score_reads = [evaluator.reads_of(plugin, request) for plugin in evaluator.scores]
        self._reads: frozenset[str] = frozenset().union(*self._filter_reads, *self._score_reads)
        # What placing one of our own tasks changes, as far as the profile looks at it.
        changed = (RESOURCES, PLACEMENTS) if request.shape.gpus is None else (RESOURCES, PLACEMENTS, DEVICES)
        self._own_groups = [group for group in changed if group in self._reads]
        self._own_rows: set[int] = set()  # taken by us since the last refresh
        self._streak = 0
        self._is_steady = True  # filters did not change their mind when it was last looked at
        self._evaluate_all()

    @property
    def size_bytes(self) -> int:
        arrays = (self.total, self.points, self.stages, self.masks)
        return 1 + sum(array.nbytes for array in arrays)

    @property
    def sifted(self) -> Sifted:
        """What the filters left, as of the last refresh."""
        return Sifted(list(self.stages), self.counts, tuple(filter(None, self._failures[: len(self.masks)])))

    @property
    def notes(self) -> tuple[str, ...]:
        """What went wrong with plugins, as of the last refresh."""
        return tuple(filter(None, self._failures)) if self._failed else ()

    # --- asking ----------------------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Take in everything that changed in the cluster since the last call."""
        if self._epoch != self._cluster.epoch or len(self.total) != self._cluster.width:
            self._evaluate_all()
            return
        if self._evaluator.minds_outlook:
            self._score_anew(self._evaluator.epochs(self.request))
        if self._changes == self._cluster.changes:
            return
        self._changes = self._cluster.changes
        dirty: set[int] = set()
        groups: set[str] = set()
        for group, seen in self._seen.items():
            log = self._cluster.log[group]
            if seen < len(log):
                dirty.update(log[seen:])
                groups.add(group)
                self._seen[group] = len(log)
        if not dirty:
            return
        if len(dirty) > 64 + len(self.total) // 4:
            self._evaluate_all()
            return
        self._evaluate_rows(np.array(sorted(dirty), dtype=np.intp), groups)
        self._streak = self._streak + 1 if dirty <= self._own_rows else 0
        self._own_rows.clear()
        if self._leaders is None and self._streak >= STREAK:
            self._find_leaders()

    def top(self, count: int) -> list[int]:
        """The best rows, best first; fewer if fewer are feasible."""
        if self._leaders is None:
            return self._top_of_all(count)
        found = self._leaders.top(count)
        if found is None:
            self._find_leaders()
            found = self._leaders.top(count)
        return found or []

    def lines(self, rows: list[int]) -> tuple[NodePoints, ...]:
        """The points of some rows, each made once until the row changes."""
        kept = self._lines
        return tuple([kept.get(row) or self._line(row) for row in rows])

    def _line(self, row: int) -> NodePoints:
        found = self._lines[row] = NodePoints(
            self._cluster.names[row],
            self.total.item(row),
            tuple(self.points[:, row].tolist()),
            self._cluster.resources.load.item(row),
        )
        return found

    def took(self, row: int) -> None:
        """One more task of this shape was just placed on the row, through `Cluster.place`."""
        if self._leaders is None:
            self._own_rows.add(row)
            return
        ladder = self._leaders.ladders.get(row)
        if ladder is None or self._changes + 1 != self._cluster.changes:
            return  # something else changed too: the next refresh evaluates the row
        ladder.step += 1
        if ladder.step >= len(ladder.totals):
            del self._leaders.ladders[row]
            self._look_ahead(self._leaders, np.array([row], dtype=np.intp), STEPS_AHEAD_SINGLE)
            ladder = self._leaders.ladders.get(row)
            if ladder is None:
                return
        for group in self._own_groups:
            self._seen[group] += 1
        self._changes += 1
        step = ladder.step
        self._set_row(row, ladder.totals[step], ladder.points[:, step], ladder.masks[:, step])

    # --- evaluating ------------------------------------------------------------------------------------------

    def _evaluate_all(self) -> None:
        cluster, evaluator = self._cluster, self._evaluator
        self._epoch, self._changes = cluster.epoch, cluster.changes
        self._epochs = evaluator.epochs(self.request) if evaluator.minds_outlook else ()
        self._seen = {group: len(cluster.log[group]) for group in self._reads}
        width = cluster.width
        self._failures = [""] * (len(evaluator.filters) + len(evaluator.scores))
        self.masks = np.empty((len(evaluator.filters), width), dtype=np.bool_)
        self.points = np.empty((len(evaluator.scores), width))
        # Scores that are the same for every node, as most are that have nothing to say about this shape.
        self._constants = [None] * len(evaluator.scores)
        self._fill(View(cluster), None, self.masks, self.points, self._failures, self._constants)
        self._failed = any(self._failures)
        self.total, self.stages = self._summed(self.masks, self.points)
        self.counts = np.count_nonzero(self.stages, axis=1).tolist()
        self._lines = {}
        self._leaders = None
        self._own_rows.clear()

    def _score_anew(self, epochs: tuple[int, ...]) -> None:
        """Scores that go by what is known otherwise now are asked again, of all nodes; filters are not."""
        if epochs == self._epochs:
            return
        evaluator, view = self._evaluator, View(self._cluster)
        for i, (was, now) in enumerate(zip(self._epochs, epochs, strict=True)):
            if was != now:
                answer, self._failures[len(self.masks) + i] = evaluator.points(evaluator.scores[i], self.request, view)
                self.points[i] = answer
                self._constants[i] = answer if isinstance(answer, float) else None
        self._epochs = epochs
        self._failed = any(self._failures)
        self.total = self._totals(self.points)
        np.putmask(self.total, ~self.stages[-1], LOST)
        self._lines = {}
        self._leaders = None

    def _evaluate_rows(self, rows: Rows, groups: set[str]) -> None:
        view = View(self._cluster).subset(rows)
        if self._leaders is None or len(rows) > ROW_BY_ROW:
            if self._is_steady and self._mended(view, rows, groups):
                return
            self._is_steady = not self._is_steady  # where verdicts change, asking first whether they do costs more
        found = self._evaluated(view, rows, groups)
        if found is None:
            self._evaluate_all()
            return
        masks, totals, points, stages = found
        if self._leaders is not None and len(rows) <= ROW_BY_ROW:
            for i, (row, total) in enumerate(zip(rows.tolist(), totals.tolist(), strict=True)):
                self._leaders.ladders.pop(row, None)
                self._set_row(row, total, points[:, i], masks[:, i])
            return
        self._leaders = None
        self.masks[:, rows] = masks
        self.total[rows] = totals
        self.points[:, rows] = points
        before = self.stages[:, rows]
        if (stages != before).any():
            more = stages.sum(axis=1) - before.sum(axis=1)
            self.counts = [count + change for count, change in zip(self.counts, more.tolist(), strict=True)]
            self.stages[:, rows] = stages
        for row in rows.tolist():
            self._lines.pop(row, None)

    def _mended(self, view: View, rows: Rows, groups: set[str]) -> bool:
        """The commonest case with the fewest array operations: no filter changes its mind about any of the rows.
        False, and nothing changed, if one does or a plugin fails; then the general way is taken."""
        if self._failed or not self._verdicts_hold(view, rows, groups):
            return False
        rescored = self._rescored(view, rows, groups)
        if rescored is None:
            return False
        total, fresh = rescored
        alive = self.stages[-1].take(rows)
        if not alive.all():
            np.putmask(total, ~alive, LOST)
        self.total[rows] = total
        for i, points in fresh:
            self.points[i, rows] = points
        self._leaders = None
        for row in rows.tolist():
            self._lines.pop(row, None)
        return True

    def _verdicts_hold(self, view: View, rows: Rows, groups: set[str]) -> bool:
        for i, filter_ in enumerate(self._evaluator.filters):
            if not groups.isdisjoint(self._filter_reads[i]):
                mask, failure = self._evaluator.mask(filter_, self.request, view)
                if failure or (mask != self.masks[i].take(rows)).any():
                    return False
        return True

    def _rescored(self, view: View, rows: Rows, groups: set[str]) -> tuple[F8, list[tuple[int, F8]]] | None:
        """Totals before filters, and the points that are new; None if a score fails or is no longer constant."""
        evaluator = self._evaluator
        total = np.zeros(view.size)
        fresh: list[tuple[int, F8]] = []
        for i, (score, weight) in enumerate(zip(evaluator.scores, evaluator.weights, strict=True)):
            constant = self._constants[i]
            points: F8 | float
            if groups.isdisjoint(self._score_reads[i]):
                points = self.points[i].take(rows) if constant is None else constant
            else:
                points, failure = evaluator.points(score, self.request, view)
                if failure or (points != constant if isinstance(points, float) else constant is not None):
                    return None
                if not isinstance(points, float):
                    fresh.append((i, points))
            if not isinstance(points, float) or points:
                total += points * weight
        return total, fresh

    def _evaluated(
        self, view: View, rows: Rows, groups: set[str]
    ) -> tuple[npt.NDArray[np.bool_], F8, F8, npt.NDArray[np.bool_]] | None:
        """Masks, totals, points and stages of a view over `rows`, asking only plugins that read these groups.
        None if a plugin fails here only, or no longer fails: such rows would not compare to the rest."""
        masks, points = self.masks[:, rows], self.points[:, rows]
        failures, constants = list(self._failures), list(self._constants)
        self._fill(view, groups, masks, points, failures, constants)
        if failures != self._failures:
            return None
        # What is constant over some rows need not be so over all.
        self._constants = [was if was == now else None for was, now in zip(self._constants, constants, strict=True)]
        total, stages = self._summed(masks, points)
        return masks, total, points, stages

    def _fill(
        self,
        view: View,
        groups: set[str] | None,
        masks: npt.NDArray[np.bool_],
        points: F8,
        failures: list[str],
        constants: list[float | None],
    ) -> None:
        evaluator = self._evaluator
        for i, filter_ in enumerate(evaluator.filters):
            if groups is None or not groups.isdisjoint(self._filter_reads[i]):
                masks[i], failures[i] = evaluator.mask(filter_, self.request, view)
        for i, score in enumerate(evaluator.scores):
            if groups is None or not groups.isdisjoint(self._score_reads[i]):
                answer, failures[len(masks) + i] = evaluator.points(score, self.request, view)
                points[i] = answer
                constants[i] = answer if isinstance(answer, float) else None

    def _summed(self, masks: npt.NDArray[np.bool_], points: F8) -> tuple[F8, npt.NDArray[np.bool_]]:
        """Score by score in the profile's order, as `Evaluator.score` does: the same bits."""
        total = self._totals(points)
        stages = np.logical_and.accumulate(masks, axis=0)
        np.putmask(total, ~stages[-1], LOST)
        return total, stages

    def _totals(self, points: F8) -> F8:
        total = np.zeros(points.shape[1])
        for one, weight in zip(points, self._evaluator.weights, strict=True):
            total += one * weight
        return total

    # --- the leaders -----------------------------------------------------------------------------------------

    def _top_of_all(self, count: int) -> list[int]:
        """A handful of argmax passes; cheaper than keeping leaders when many rows change between two decisions."""
        found: list[int] = []
        values: list[float] = []
        for _ in range(min(count, len(self.total))):
            row = int(self.total.argmax())
            value = float(self.total[row])
            if value == LOST:
                break
            found.append(row)
            values.append(value)
            self.total[row] = LOST
        self.total[found] = values
        return found

    def _find_leaders(self) -> None:
        self._leaders = Leaders(self.total)
        if self._can_look_ahead and len(self._leaders.rows):
            self._look_ahead(self._leaders, self._leaders.rows, STEPS_AHEAD)

    def _look_ahead(self, leaders: Leaders, rows: Rows, steps: int) -> None:
        copies = np.tile(np.arange(steps, dtype=np.float64), len(rows))
        repeated = np.repeat(rows, steps)
        view = View(self._cluster).after(repeated, self.request.column, copies)
        found = self._evaluated(view, repeated, {RESOURCES, DEVICES})
        if found is None:
            return
        masks, totals, points, _ = found
        listed = totals.tolist()
        for i, row in enumerate(rows.tolist()):
            cut = slice(i * steps, (i + 1) * steps)
            leaders.ladders[row] = Ladder(listed[cut], points[:, cut], masks[:, cut])

    def _set_row(self, row: int, total: float, points: F8, masks: npt.NDArray[np.bool_]) -> None:
        before = float(self.total[row])
        self._lines.pop(row, None)
        self.total[row] = total
        self.points[:, row] = points
        if total == LOST or before == LOST:  # only then can a filter have changed its mind
            stages = np.logical_and.accumulate(masks)
            for i, (now, then) in enumerate(zip(stages.tolist(), self.stages[:, row].tolist(), strict=True)):
                self.counts[i] += now - then
            self.masks[:, row] = masks
            self.stages[:, row] = stages
        if self._leaders is not None:
            self._leaders.changed(row, before, total)
