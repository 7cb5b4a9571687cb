"""The ranking cache: how all nodes rank for one shape, updated instead of computed again.

When rows change, only those rows are evaluated again, only by plugins that read what changed, and scores only where the
filters pass. While one shape is placed again and again, even that is unnecessary: one array pass has evaluated the best
nodes as they would be with one, two, … more copies (`lookahead`). So the ten-thousandth replica costs about as much as
a dictionary lookup.
Guarantees: it picks exactly the node that a full evaluation would pick.
"""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from dovetail.cluster.arrays import B1, F8, Rows
from dovetail.cluster.change_log import DEVICES, PLACEMENTS, RESOURCES, LogCursor
from dovetail.cluster.state import Cluster
from dovetail.cluster.views.view import View
from dovetail.model.reason import Explanation, NodePoints
from dovetail.placement.contract import Request
from dovetail.placement.pipeline.evaluation import LOST, Evaluator, FilterResult
from dovetail.placement.pipeline.lookahead import Lookahead, TopK

STEPS_AHEAD = 4
STEPS_AHEAD_SINGLE = 16
#: Below this share of feasible nodes it pays to score only those.
SPARSE = 0.4
#: More changed rows than this are written as arrays, and the top K are dropped.
ROW_BY_ROW = 4
#: Decisions in a row with nothing but our own tasks changing, until finding the top K pays.
STREAK = 3


class RankingCache:
    """`masks` and `stages` are bool[filter, node] (each alone, and all so far), `points` float64[score, node], to be
    read where `_scored`, `total` float64[node] with LOST where a filter refuses."""

    masks: npt.NDArray[np.bool_]
    stages: npt.NDArray[np.bool_]
    points: F8
    total: F8
    counts: list[int]
    _changes: int
    _epochs: tuple[int, ...]
    _failures: list[str]
    _failed: bool
    _scored: B1  # the points of the row are those of the row as it is
    _constants: list[float | None]
    _top_k: TopK | None
    _lines: dict[int, NodePoints]

    def __init__(self, request: Request, evaluator: Evaluator, cluster: Cluster) -> None:
        self.request = request
        #: Why no node fits, as of these versions of the cluster.
        self.refusal: tuple[tuple[int, int], Explanation] | None = None
        self._evaluator = evaluator
        self._cluster = cluster
        self._filter_reads = [evaluator.reads_of(plugin, request) for plugin in evaluator.filters]
        self._score_reads = [evaluator.reads_of(plugin, request) for plugin in evaluator.scores]
        self._reads: frozenset[str] = frozenset().union(*self._filter_reads, *self._score_reads)
        # Looking ahead assumes that one more copy changes nothing but the node's own resources.
        self._can_look_ahead = evaluator.looks_ahead and PLACEMENTS not in self._reads
        # What placing one of our own tasks changes, as far as the profile looks at it.
        changed = (RESOURCES, PLACEMENTS) if request.shape.gpus is None else (RESOURCES, PLACEMENTS, DEVICES)
        self._own_groups = [group for group in changed if group in self._reads]
        self._own_rows: set[int] = set()  # taken by us since the last refresh
        self._log = LogCursor(cluster, self._reads)
        self._streak = 0
        self._evaluate_all()

    @property
    def size_bytes(self) -> int:
        arrays = (self.total, self.points, self.stages, self.masks, self._scored)
        return 1 + sum(array.nbytes for array in arrays)

    @property
    def filtered(self) -> FilterResult:
        """What the filters left, as of the last refresh."""
        notes = tuple(filter(None, self._failures[: len(self.masks)]))
        return FilterResult(list(self.stages), self.counts, notes, self._evaluator.eligibility, self.masks)

    @property
    def notes(self) -> tuple[str, ...]:
        """What went wrong with plugins, as of the last refresh."""
        return tuple(filter(None, self._failures)) if self._failed else ()

    # --- asking ----------------------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Apply everything that changed in the cluster since the last call."""
        if self._log.is_lost or len(self.total) != self._cluster.width:
            self._evaluate_all()
            return
        if self._evaluator.minds_outlook:
            self._score_anew(self._evaluator.epochs(self.request))
        if self._changes == self._cluster.changes:
            return
        self._changes = self._cluster.changes
        changed = self._log.changed()
        if not changed:
            return
        groups, dirty = set(changed), set[int]().union(*changed.values())
        if len(dirty) > 64 + len(self.total) // 4:
            self._evaluate_all()
            return
        self._evaluate_rows(np.array(sorted(dirty), dtype=np.intp), groups)
        self._streak = self._streak + 1 if dirty <= self._own_rows else 0
        self._own_rows.clear()
        if self._top_k is None and self._streak >= STREAK:
            self._find_top_k()

    def top(self, count: int) -> list[int]:
        """The best rows, best first; fewer if fewer are feasible."""
        if self._top_k is None:
            return self._top_of_all(count)
        found = self._top_k.top(count)
        if found is None:
            self._find_top_k()
            found = self._top_k.top(count)
        return found or []

    def lines(self, rows: list[int]) -> tuple[NodePoints, ...]:
        """The points of some rows, cached until the row changes."""
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
        if self._top_k is None:
            self._own_rows.add(row)
            return
        lookahead = self._top_k.lookaheads.get(row)
        if lookahead is None or self._changes != self._cluster.changes_before:
            return  # something else changed too: the next refresh evaluates the row
        lookahead.step += 1
        if lookahead.step >= len(lookahead.totals):
            del self._top_k.lookaheads[row]
            self._look_ahead(self._top_k, np.array([row], dtype=np.intp), STEPS_AHEAD_SINGLE)
            lookahead = self._top_k.lookaheads.get(row)
            if lookahead is None:
                return
        self._log.skip_one(self._own_groups)
        self._changes = self._cluster.changes
        step = lookahead.step
        self._set_row(row, lookahead.totals[step], lookahead.points[:, step], lookahead.masks[:, step])

    # --- evaluating ------------------------------------------------------------------------------------------

    def _evaluate_all(self) -> None:
        cluster, evaluator = self._cluster, self._evaluator
        self._changes = cluster.changes
        self._log.skip()
        self._epochs = evaluator.epochs(self.request) if evaluator.minds_outlook else ()
        width = cluster.width
        self._failures = [""] * (len(evaluator.filters) + len(evaluator.scores))
        self.masks = np.empty((len(evaluator.filters), width), dtype=np.bool_)
        self.points = np.empty((len(evaluator.scores), width))
        # Scores that are the same for every node, as most are that have nothing to say about this shape.
        self._constants = [None] * len(evaluator.scores)
        view = View(cluster)
        for i, filter_ in enumerate(evaluator.filters):
            self.masks[i], self._failures[i] = evaluator.mask(filter_, self.request, view)
        self.stages = np.logical_and.accumulate(self.masks, axis=0)
        self.counts = np.count_nonzero(self.stages, axis=1).tolist()
        self._scored = np.zeros(width, dtype=np.bool_)
        self._score(range(len(evaluator.scores)))
        self._own_rows.clear()

    def _score_anew(self, epochs: tuple[int, ...]) -> None:
        """Ask scores again whose epoch changed; filters are not asked."""
        if epochs != self._epochs:
            changed = [i for i, (was, now) in enumerate(zip(self._epochs, epochs, strict=True)) if was != now]
            self._epochs = epochs
            self._score(changed)

    def _score(self, asked: Iterable[int]) -> None:
        """Ask some scores about every feasible node (about all nodes, where most are feasible: that is cheaper), and
        add up. Points of other nodes are dropped."""
        evaluator, alive, feasible = self._evaluator, self.stages[-1], self.counts[-1]
        view, rows = View(self._cluster), None
        if feasible < SPARSE * len(alive):
            rows = np.flatnonzero(alive)
            view = view.subset(rows)
        for i in asked if feasible else ():
            answer, self._failures[len(self.masks) + i] = evaluator.points(evaluator.scores[i], self.request, view)
            if rows is None or isinstance(answer, float):
                self.points[i] = answer
            else:
                self.points[i, rows] = answer
            self._constants[i] = answer if isinstance(answer, float) else None
        self._failed = any(self._failures)
        if rows is None:
            self._scored |= alive
            self.total = self._totals(self.points)
            np.putmask(self.total, ~alive, LOST)
        else:
            self._scored = alive.copy()
            self.total = np.full(len(alive), LOST)
            self.total[rows] = self._totals(self.points[:, rows])
        self._lines = {}
        self._top_k = None

    def _evaluate_rows(self, rows: Rows, groups: set[str]) -> None:
        """Evaluate some rows again: only plugins that read what changed, and scores only where filters pass."""
        alive = self._filtered_rows(rows, groups)
        if alive is None:
            self._evaluate_all()
            return
        live = rows if alive.all() else rows[alive]
        totals = self._scored_rows(live, groups) if len(live) else np.zeros(0)
        if totals is None:
            self._evaluate_all()
            return
        if len(live) < len(rows):
            self._scored[rows] = alive
            among, totals = totals, np.full(len(rows), LOST)
            totals[alive] = among
        self._note_totals(rows, totals)

    def _filtered_rows(self, rows: Rows, groups: set[str]) -> B1 | None:
        """Which of the rows pass every filter now. Usually no filter changes its answer; from the first that does,
        stages and counts are updated. None if a filter newly fails, or no longer fails: then all rows are evaluated."""
        evaluator = self._evaluator
        view = View(self._cluster).subset(rows)
        alive: B1 | None = None  # after the filters so far, once one has changed its mind
        for i, filter_ in enumerate(evaluator.filters):
            mask: B1 | bool
            if groups.isdisjoint(self._filter_reads[i]):
                if alive is None:
                    continue
                mask = self.masks[i].take(rows)
            else:
                mask, failure = evaluator.mask(filter_, self.request, view)
                if failure != self._failures[i]:
                    return None
                if (mask == self.masks[i].take(rows)).all():
                    if alive is None:
                        continue
                else:
                    self.masks[i, rows] = mask
                if alive is None:
                    alive = self.stages[i - 1].take(rows) if i else np.ones(len(rows), dtype=np.bool_)
            alive = alive & mask
            more = np.count_nonzero(alive) - np.count_nonzero(self.stages[i].take(rows))
            self.counts[i] += int(more)
            self.stages[i, rows] = alive
        return self.stages[-1].take(rows) if alive is None else alive

    def _scored_rows(self, rows: Rows, groups: set[str]) -> F8 | None:
        """The totals of some rows that pass every filter. None if a score newly fails, or no longer fails: such rows
        would not compare to the rest."""
        evaluator = self._evaluator
        view = View(self._cluster).subset(rows)
        known = self._scored.take(rows).all()
        total = np.zeros(len(rows))
        for i, (score, weight) in enumerate(zip(evaluator.scores, evaluator.weights, strict=True)):
            constant = self._constants[i]
            points: F8 | float
            if known and groups.isdisjoint(self._score_reads[i]):
                points = self.points[i].take(rows) if constant is None else constant
            else:
                points, failure = evaluator.points(score, self.request, view)
                if failure != self._failures[len(self.masks) + i]:
                    return None
                if points is not constant and not (isinstance(points, float) and points == constant):
                    self._constants[i] = None
                    self.points[i, rows] = points
            if not isinstance(points, float) or points:
                total += points * weight
        if not known:
            self._scored[rows] = True
        return total

    def _note_totals(self, rows: Rows, totals: F8) -> None:
        top_k = self._top_k if len(rows) <= ROW_BY_ROW else None
        if top_k is not None:
            before = self.total.take(rows).tolist()
            for row, was, now in zip(rows.tolist(), before, totals.tolist(), strict=True):
                top_k.lookaheads.pop(row, None)
                top_k.changed(row, was, now)
        self._top_k = top_k
        self.total[rows] = totals
        for row in rows.tolist():
            self._lines.pop(row, None)

    def _evaluated(self, view: View, rows: Rows, groups: set[str]) -> tuple[npt.NDArray[np.bool_], F8, F8] | None:
        """Masks, totals and points of a view over `rows` whose points are known, asking only plugins that read these
        groups. None if a plugin newly fails, or no longer fails: such rows would not compare to the rest."""
        evaluator = self._evaluator
        masks, points = self.masks[:, rows], self.points[:, rows]
        for i, filter_ in enumerate(evaluator.filters):
            if not groups.isdisjoint(self._filter_reads[i]):
                masks[i], failure = evaluator.mask(filter_, self.request, view)
                if failure != self._failures[i]:
                    return None
        for i, score in enumerate(evaluator.scores):
            if not groups.isdisjoint(self._score_reads[i]):
                answer, failure = evaluator.points(score, self.request, view)
                if failure != self._failures[len(masks) + i]:
                    return None
                points[i] = answer
                if not (isinstance(answer, float) and answer == self._constants[i]):
                    self._constants[i] = None  # what is constant over some rows need not be so over all
        total = self._totals(points)
        np.putmask(total, ~masks.all(axis=0), LOST)
        return masks, total, points

    def _totals(self, points: F8) -> F8:
        """Score by score in the profile's order, as `Evaluator.score` does: the same bits."""
        total = np.zeros(points.shape[1])
        for one, weight in zip(points, self._evaluator.weights, strict=True):
            total += one * weight
        return total

    # --- the top K -----------------------------------------------------------------------------------------

    def _top_of_all(self, count: int) -> list[int]:
        """A handful of argmax passes; cheaper than keeping the top K when many rows change between two decisions."""
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

    def _find_top_k(self) -> None:
        self._top_k = TopK(self.total)
        if self._can_look_ahead and len(self._top_k.rows):
            self._look_ahead(self._top_k, self._top_k.rows, STEPS_AHEAD)

    def _look_ahead(self, top_k: TopK, rows: Rows, steps: int) -> None:
        copies = np.tile(np.arange(steps, dtype=np.float64), len(rows))
        repeated = np.repeat(rows, steps)
        view = View(self._cluster).after(repeated, self.request.column, copies)
        found = self._evaluated(view, repeated, {RESOURCES, DEVICES})
        if found is None:
            return
        masks, totals, points = found
        listed = totals.tolist()
        for i, row in enumerate(rows.tolist()):
            cut = slice(i * steps, (i + 1) * steps)
            top_k.lookaheads[row] = Lookahead(listed[cut], points[:, cut], masks[:, cut])

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
        if self._top_k is not None:
            self._top_k.changed(row, before, total)
