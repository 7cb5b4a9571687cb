"""What each domain of each level has and has left: float64[measure, domain], one table a level, kept up to date.

Measures are sums over the domain's nodes: nodes, those that can take work, of these the ones that nothing holds,
GPUs that nothing holds, and of every resource the capacity and what is free on nodes that can take work. Amounts are
whole numbers, so that sums updated again and again stay exact. A change costs its rows, not the cluster: the table
reads the change log when it is asked. Code 0 of a level are the nodes that are in no domain of it.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dovetail.cluster.arrays import F8, Rows
from dovetail.cluster.change_log import DEVICES, LABELS, RESOURCES, STATUS, LogCursor
from dovetail.cluster.labels import LabelColumn
from dovetail.cluster.network.domains import SINGLE, level_column
from dovetail.cluster.network.levels import PresentLevel, present_levels
from dovetail.cluster.state import Cluster
from dovetail.model.device import WHOLE
from dovetail.model.resources import GPU

NODES, HEALTHY, WHOLE_NODES, WHOLE_GPUS = range(4)
_FIXED = 4
_READ = (RESOURCES, DEVICES, LABELS, STATUS)


@dataclass(frozen=True, slots=True)
class DomainState:
    """One domain, for people. Of `free`, and of whole nodes and GPUs, only nodes that can take work count."""

    level: str
    name: str
    nodes: int
    healthy: int
    whole_nodes: int
    whole_gpus: int
    capacity: dict[str, int]
    free: dict[str, int]


class _Level:
    """`by_code` is float64[code, measure]; `codes` is what it was made by."""

    def __init__(self, column: LabelColumn, values: F8) -> None:
        self.column = column
        self.codes: Rows = column.codes[: values.shape[1]].astype(np.intp)
        size = len(column.vocabulary) + 1
        self.by_code: F8 = np.stack([np.bincount(self.codes, measure, size) for measure in values], axis=1)

    def update(self, rows: Rows, before: F8, after: F8) -> None:
        missing = len(self.column.vocabulary) + 1 - len(self.by_code)
        if missing > 0:
            self.by_code = np.vstack([self.by_code, np.zeros((missing, self.by_code.shape[1]))])
        np.subtract.at(self.by_code, self.codes[rows], before.T)
        self.codes[rows] = self.column.codes[rows]
        np.add.at(self.by_code, self.codes[rows], after.T)


class DomainTable:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._levels: dict[int, _Level] = {}  # by identity of the label's column
        self._values: F8 = np.zeros((0, 0))  # float64[measure, node], as they are in the sums
        self._log = LogCursor(cluster, _READ)
        self._made_of: tuple[int, ...] = ()

    # --- asking ----------------------------------------------------------------------------------------------

    def sums(self, level: str) -> F8:
        """float64[measure, code] of a level; measures are NODES, HEALTHY, WHOLE_NODES and WHOLE_GPUS, then capacity and
        what is free of each resource. At the level `host` a code is a row. Not to be written."""
        self.refresh()
        column = None if level in SINGLE else level_column(self._cluster, level)
        return self._values if column is None else self._of(column).by_code.T

    def largest_gang(self, level: str, needs: Mapping[str, float]) -> F8:
        """float64[code]: how many tasks with these needs each domain could take at this moment, looking at amounts and
        at which nodes take work. Of GPUs, whole ones are counted where whole ones are asked for."""
        cluster, n = self._cluster, self._cluster.width
        fits = np.where(cluster.status.ready[:n], np.inf, 0.0)
        for resource, needed in needs.items():
            index = cluster.resources.index.get(resource)
            if not needed:
                continue
            if index is None:
                fits[:] = 0.0
            elif resource == GPU and needed % WHOLE == 0:
                fits = np.minimum(fits, cluster.devices.whole[:n] // (needed / WHOLE))
            else:
                fits = np.minimum(fits, np.floor(np.maximum(cluster.resources.free[index, :n], 0.0) / needed))
        column = None if level in SINGLE else level_column(cluster, level)
        if column is None:
            return fits
        return np.bincount(column.codes[:n], fits, len(column.vocabulary) + 1).astype(np.float64)

    def domains(self, level: PresentLevel) -> list[DomainState]:
        """Every domain of a level that has nodes, by name."""
        sums, names = self.sums(level.name), self._cluster.resources.names
        found = []
        for code in np.flatnonzero(sums[NODES]).tolist():
            if not code:
                continue
            column = sums[:, code].tolist()
            capacity, free = column[_FIXED::2], column[_FIXED + 1 :: 2]
            nodes, healthy, whole_nodes, whole_gpus = map(int, column[:_FIXED])
            has = {name: int(amount) for name, amount in zip(names, capacity, strict=True) if amount}
            left = {name: int(free[i]) for i, name in enumerate(names) if capacity[i]}
            state = DomainState(level.name, level.domain(code), nodes, healthy, whole_nodes, whole_gpus, has, left)
            found.append(state)
        return sorted(found, key=lambda domain: domain.name)

    # --- keeping up ------------------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Apply what changed since the last call; many changes at once cost as much as rebuilding."""
        cluster = self._cluster
        made_of = (cluster.width, len(cluster.resources.names))
        if self._log.is_lost or made_of != self._made_of:
            self._begin(made_of)
            return
        changed = set[int]().union(*self._log.changed().values())
        if not changed:
            return
        rows = np.array(sorted(changed), dtype=np.intp)
        after = self._measured(rows)
        for level in self._levels.values():
            level.update(rows, self._values[:, rows], after)
        self._values[:, rows] = after

    def _begin(self, made_of: tuple[int, ...]) -> None:
        self._made_of = made_of
        self._log.skip()
        self._values = self._measured(np.arange(self._cluster.width))
        self._levels = {}
        for level in present_levels(self._cluster):
            self._of(level.column)

    def _of(self, column: LabelColumn) -> _Level:
        found = self._levels.get(id(column))
        if found is None:
            found = self._levels[id(column)] = _Level(column, self._values)
        return found

    def _measured(self, rows: Rows) -> F8:
        """float64[measure, row]"""
        cluster, tables = self._cluster, self._cluster.resources
        ready = cluster.status.ready[rows]
        found = np.empty((_FIXED + 2 * len(tables.names), len(rows)))
        found[NODES] = cluster.status.present[rows]
        found[HEALTHY] = ready
        held = tables.allocated[:, rows].any(axis=0) | tables.reserved[:, rows].any(axis=0)
        found[WHOLE_NODES] = ready & ~held
        found[WHOLE_GPUS] = cluster.devices.whole[rows] * ready
        found[_FIXED::2] = tables.capacity[:, rows]
        found[_FIXED + 1 :: 2] = np.maximum(tables.free[:, rows], 0.0) * ready
        return found
