"""Columns of what is around nodes: the tasks on them, their domains, how far they are from others, and what links have
left."""

from collections.abc import Sequence

import numpy as np

from dovetail.cluster.arrays import B1, F8, I4, Rows
from dovetail.cluster.labels import ABSENT, LabelColumn
from dovetail.cluster.network.distance import distance_to, proximity_to
from dovetail.cluster.network.domains import SINGLE, domain_sum, level_column
from dovetail.cluster.network.levels import headroom_from, narrowest_level
from dovetail.cluster.network.uplinks import UplinkShortage, room_to_join, shortage_at
from dovetail.cluster.selector_counts import Counted, SelectorCount
from dovetail.cluster.views.rows import RowsOfView
from dovetail.model.task import TaskId


class SurroundingColumns(RowsOfView):
    def task_counts(self, workload: int, replicas: int) -> F8:
        """Tasks of one workload on each node."""
        placed = self._cluster.placements.by_task
        rows = [p.row for r in range(replicas) if (p := placed.get(TaskId(workload, r))) is not None]
        return self._cut(np.bincount(np.array(rows, dtype=np.intp), minlength=self._cluster.width).astype(np.float64))

    def level_codes(self, level: str) -> tuple[I4, LabelColumn] | None:
        """As `label_codes`, for the label that says in which domain of a level a node is."""
        column = None if level in SINGLE else level_column(self._cluster, level)
        return None if column is None else (self._cut(column.codes), column)

    def domain_sum(self, level: str, values: F8) -> F8:
        """For each row of this view, the sum over its domain of `values`, which cover all rows (`whole`)."""
        return self._cut(domain_sum(self._cluster, level, values))

    @property
    def narrowest_level(self) -> str | None:
        """The label of the narrowest level at which nodes share domains; None: no node has a place in the network."""
        return narrowest_level(self._cluster)

    def selector_count(self, counted: Counted) -> SelectorCount:
        """How many tasks of a kind each node of the whole cluster holds."""
        return self._cluster.placements.selector_count(counted)

    def attached_volumes(self, driver: str) -> F8:
        """How many different volumes of a driver each node has attached for its tasks."""
        return self._cut(self._cluster.placements.volumes.counts(driver, self._cluster.width))

    def has_volume(self, driver: str, volume: str) -> F8:
        """1 where a node has attached it, 0 elsewhere."""
        return self._cut(self._cluster.placements.volumes.has(driver, volume, self._cluster.width))

    def in_domain(self, level: str, counts: F8) -> F8:
        """For each row of this view, how many of `counts` (over all rows) are in its domain; 0 for a node in none."""
        if level in SINGLE:
            return self._cut(counts)
        column = level_column(self._cluster, level)
        if column is None:
            return np.zeros(self.size)
        sums = _domain_sums(column, counts[: self._cluster.width])
        found: F8 = sums.take(self._cut(column.codes))
        return found

    def in_some_domain(self, level: str) -> B1 | bool:
        """Which nodes are in a domain of the level at all."""
        if level in SINGLE:
            return True
        column = level_column(self._cluster, level)
        return False if column is None else self._cut(column.codes) != ABSENT

    def domains_with(self, level: str, counts: F8) -> int:
        """In how many domains of the level any of `counts` is."""
        if level in SINGLE:
            return int(np.count_nonzero(counts))
        column = level_column(self._cluster, level)
        return 0 if column is None else int(np.count_nonzero(_domain_sums(column, counts[: self._cluster.width])))

    def domain_counts(self, level: str, counts: F8, among: B1, at_least: int) -> tuple[F8, float]:
        """As `in_domain`, and the least of any domain that has one of the nodes `among` (over all rows); 0 if there are
        fewer such domains than `at_least`."""
        here = self.in_domain(level, counts)
        column = level_column(self._cluster, level)
        if level in SINGLE:  # each node is one
            eligible = counts[: len(among)][among]
        elif column is None:
            return here, 0.0
        else:
            sums = _domain_sums(column, counts[: self._cluster.width])
            has = np.bincount(column.codes[: len(among)][among], minlength=len(sums)) > 0
            has[ABSENT] = False
            eligible = sums[has]
        return here, float(eligible.min()) if len(eligible) >= max(at_least, 1) else 0.0

    def workload_rows(self, namespace: str, name: str) -> Rows:
        """The rows, of the whole cluster, of a live workload's placed tasks, one entry a task."""
        return np.array(self._cluster.placements.rows_of_workload(namespace, name), dtype=np.intp)

    def on_rows(self, rows: Rows) -> F8:
        """How often each node of this view is among these rows of the whole cluster."""
        return self._cut(np.bincount(rows, minlength=self._cluster.width).astype(np.float64))

    def distance_to(self, rows: Rows) -> F8:
        """Distance, 0 to 100, from the nearest of these rows of the whole cluster."""
        return self._cut(distance_to(self._cluster, rows))

    def service_counts(self, namespace: str, service: str) -> F8 | None:
        """Tasks of a service on each node; None where it runs nowhere."""
        counts = self._cluster.placements.by_service.get((namespace, service))
        if counts is None:
            return None
        found = np.zeros(self._cluster.width)
        found[list(counts)] = list(counts.values())
        return self._cut(found)

    def proximity(self, namespace: str, names: Sequence[str]) -> tuple[F8, int] | None:
        """Sum over the placed tasks of the named workloads of nearness in [0, 1], and how many tasks those are."""
        placements = self._cluster.placements
        related = [row for name in names for row in placements.rows_of_workload(namespace, name)]
        if not related:
            return None
        return self._cut(proximity_to(self._cluster, related)), len(related)

    def path_headroom(self, namespace: str, name: str, mbps: float) -> F8 | None:
        """The mean over the placed tasks of a workload of what the way to them has left of so much bandwidth, in
        [0, 1]; None where it has none, or link speeds are unknown."""
        rows = self._cluster.placements.rows_of_workload(namespace, name) if self._cluster.topology.has_speeds else []
        if not rows:
            return None
        found = np.zeros(self._cluster.width)
        distinct, counts = np.unique(np.array(rows), return_counts=True)
        for row, count in zip(distinct.tolist(), counts.tolist(), strict=True):
            found += count * np.minimum(headroom_from(self._cluster, row) / mbps, 1.0)
        return self._cut(found / len(rows))

    def room_to_join(self, gang: tuple[str, str], mbps: float) -> B1 | bool:
        """Where one more task of a gang (namespace and name) could send so much to the others, and they to it."""
        found = room_to_join(self._cluster, gang, mbps)
        return found if isinstance(found, bool) else self._cut(found)

    def uplink_shortage(self, gang: tuple[str, str], mbps: float, position: int) -> UplinkShortage:
        """Which links up keep a task of a gang from joining on one node."""
        return shortage_at(self._cluster, gang, mbps, int(self.rows[position]))


def _domain_sums(column: LabelColumn, counts: F8) -> F8:
    """float64[code]: the sum of `counts` over each domain; nodes without the label are in none."""
    sums: F8 = np.bincount(column.codes[: len(counts)], counts, len(column.vocabulary) + 1).astype(np.float64)
    sums[ABSENT] = 0.0
    return sums
