"""A cache of the victims on each node for a task of one shape and priority.

A hundred pods of one template that meet a full cluster ask the same of every node again and again; only rows that have
changed since are computed again.
Guarantees: the best row is the one that looking at all rows would give. Nothing is kept where disruption budgets or
promises have a say in it, which change without any row doing so.
"""

import numpy as np

from dovetail.cluster.arrays import B1, F8, Rows
from dovetail.cluster.change_log import LogCursor
from dovetail.cluster.state import PLACEMENTS, RESOURCES, Cluster
from dovetail.model.requests.shape import Shape
from dovetail.placement.preemption.nomination import NominatedPlacements, Preemptor, RankedNomination
from dovetail.placement.preemption.reprieve import MEASURES, ranked_nomination, reprieve
from dovetail.placement.preemption.victim_table import VictimTable

#: How many pairs of shape and priority are cached.
KEPT = 8


class _Kept:
    """`measures`: float64[measure, row], infinite where preemption does not help."""

    def __init__(self, cluster: Cluster, width: int) -> None:
        self.measures: F8 = np.full((MEASURES, width), np.inf)
        self.looked_at: B1 = np.zeros(width, dtype=np.bool_)
        self.coming, self.seen_coming = NominatedPlacements(), 0
        self.log = LogCursor(cluster, (PLACEMENTS, RESOURCES))


class ReprieveCache:
    """Keep one beside each `VictimTable`."""

    def __init__(self, victim_table: VictimTable) -> None:
        self._victim_table = victim_table
        self._kept: dict[tuple[Shape, int], _Kept] = {}  # by shape and priority

    def best(self, pod: Preemptor, candidates: B1) -> RankedNomination | None:
        """The best of the candidate rows; None if preemption helps on none. The victim table must be up to date."""
        rows = np.flatnonzero(candidates)
        if pod.budgets.any or pod.request.promised is not None:
            found = reprieve(self._victim_table, pod, rows)
            return None if found is None else ranked_nomination(self._victim_table, found, _first(found.measures))
        kept = self._of((pod.request.shape, pod.priority), len(candidates))
        self._refresh(kept, pod, candidates)
        measures = kept.measures[:, rows]
        if not len(rows) or not np.isfinite(measures[0]).any():
            return None
        row = rows[_first(measures) :][:1]
        found = reprieve(self._victim_table, pod, row)
        assert found is not None, "what is kept of a row is not true any more"
        return ranked_nomination(self._victim_table, found, 0)

    def _of(self, asked: tuple[Shape, int], width: int) -> _Kept:
        found = self._kept.pop(asked, None)
        if found is None or len(found.looked_at) != width:
            found = _Kept(self._victim_table.cluster, width)
        self._kept[asked] = found  # the last is the one that was asked for last
        while len(self._kept) > KEPT:
            del self._kept[next(iter(self._kept))]
        return found

    def _refresh(self, kept: _Kept, pod: Preemptor, candidates: B1) -> None:
        rows = self._changed(kept, candidates, pod.coming)
        if not len(rows):
            return
        kept.measures[:, rows] = np.inf
        kept.looked_at[rows] = True
        found = reprieve(self._victim_table, pod, rows)
        if found is not None:
            kept.measures[:, found.rows] = found.measures

    def _changed(self, kept: _Kept, candidates: B1, coming: NominatedPlacements) -> Rows:
        """Candidates that have changed since they were computed."""
        if kept.log.is_lost:
            kept.looked_at[:] = False
            kept.log.skip()
        for rows in kept.log.changed().values():
            kept.looked_at[list(rows)] = False
        kept.looked_at[kept.coming.log[kept.seen_coming :]] = False
        if coming is not kept.coming:
            kept.looked_at[[*kept.coming.rows, *coming.rows]] = False
        kept.coming, kept.seen_coming = coming, len(coming.log)
        return np.flatnonzero(candidates & ~kept.looked_at)


def _first(measures: F8) -> int:
    """The place that compares best; of equal ones the first."""
    best = np.arange(measures.shape[1])
    for values in measures:
        here = values[best]
        best = best[here == here.min()]
    return int(best[0])
