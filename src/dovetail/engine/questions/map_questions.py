"""The cluster as a map: every node as a row, every domain with the one around it; and what changed since a version.

The map is kept here between two questions. What the change log names is looked at again, some nodes at a time, and a
row gets a new stamp only if what is drawn of it is different. So following the map costs what changed, and heartbeats
that change nothing are not told. Fragments and forecasts also depend on other things: rows that were not looked at for
`LOOK_AGAIN_S` are, whatever the log says.

Guarantees: asking leaves no trace in the engine's state. Versions grow; one map object never reuses a row's number for
another node without a new stamp.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from math import inf
from typing import NamedTuple

import numpy as np

from dovetail.cluster.arrays import Rows
from dovetail.cluster.change_log import GROUPS, LogCursor
from dovetail.cluster.network.levels import bandwidth_of, limited_up, present_levels
from dovetail.engine.gangs.communication import estimate_for
from dovetail.engine.pieces import Pieces
from dovetail.engine.questions.map_rows import MapRow, RowTenants, map_rows
from dovetail.engine.state.engine_state import EngineState
from dovetail.model.task import TaskId
from dovetail.model.workloads.affinity import HOST
from dovetail.placement.network_cost.communication import Estimate

AT_ONCE = 96  # nodes that are looked at in one piece
LOOK_AGAIN_S = 60.0
MOST_LINKS = 200  # of one workload, the widest levels first
MOST_RANKS = 4096  # of which the time of their traffic is estimated; more would keep others waiting


class MapPlace(NamedTuple):
    """A domain. `level` and `parent` are indices; -1: nothing is around it."""

    name: str
    level: int
    parent: int


@dataclass(frozen=True, slots=True)
class MapAnswer:
    """`rows`: the numbers of the nodes in `nodes`; `domains`, `holders` and `owners`: indices into `places`, `tenants`
    and `backends`, -1 for none. `places` is None where domains have not changed. `full`: all nodes."""

    version: int
    full: bool
    levels: list[str]
    tenants: list[str]
    places: list[MapPlace] | None
    rows: list[int]
    nodes: list[MapRow]
    domains: list[int]
    holders: list[int]
    backends: list[str]
    owners: list[int]
    gone: list[int]


class MapUplink(NamedTuple):
    """The links up from a domain, in Mbps: what they carry, and what is held or used of it. `carries` None: nobody
    says."""

    level: str
    name: str
    tasks: int
    carries: float | None
    held: float


@dataclass(frozen=True, slots=True)
class WorkloadOnMap:
    """`level` and `domain`: the narrowest in which all its tasks are."""

    rows: list[int]
    tasks: list[int]
    level: str | None
    domain: str | None
    estimate: Estimate | None
    links: list[MapUplink]


@dataclass(slots=True)
class _Kept:
    """By row: what was drawn, the stamp of its last change, its domain, and when it was looked at."""

    nodes: list[MapRow | None] = field(default_factory=list)
    stamps: list[int] = field(default_factory=list)
    domains: list[int] = field(default_factory=list)
    looked_at: list[float] = field(default_factory=list)

    def widen(self, width: int) -> None:
        missing = width - len(self.nodes)
        self.nodes += [None] * missing
        self.stamps += [0] * missing
        self.domains += [-1] * missing
        self.looked_at += [0.0] * missing


class MapQuestions:
    def __init__(self, state: EngineState) -> None:
        self._state, self._cluster = state, state.cluster
        self._log: LogCursor | None = None  # made with the first question: a server without a dashboard keeps no map
        self._kept = _Kept()
        self._row_tenants = RowTenants(state)
        self._dirty: set[int] = set()
        self._levels: list[str] = []
        self._places: dict[MapPlace, int] = {}
        self._tenants: dict[str, int] = {}
        self._version = 0
        self._refreshed_at = -inf
        self._places_at = self._made_at = 0  # versions below are of another list of domains, or of another map

    # --- the map -------------------------------------------------------------------------------------------------

    def map(self, now: float, after: int | None = None, max_age_s: float = 0.0) -> Pieces[MapAnswer]:
        """All of it, or what changed `after` a version. `max_age_s`: how old it may be."""
        if not self._refreshed_at <= now < self._refreshed_at + max_age_s:
            yield from self._refresh(now)
            self._refreshed_at = now
        kept, full = self._kept, after is None or after > self._version or after < self._made_at
        since = -1 if full or after is None else after
        changed = [row for row, stamp in enumerate(kept.stamps) if stamp > since]
        there = [row for row in changed if kept.nodes[row] is not None]
        yield
        nodes = [node for row in there if (node := kept.nodes[row]) is not None]
        holders = [
            -1 if not node.tenant else self._tenants.setdefault(node.tenant, len(self._tenants)) for node in nodes
        ]
        return MapAnswer(
            version=self._version,
            full=full,
            levels=list(self._levels),
            tenants=list(self._tenants),
            places=list(self._places) if full or self._places_at > since else None,
            rows=there,
            nodes=nodes,
            holders=holders,
            domains=[kept.domains[row] for row in there],
            backends=list(self._cluster.status.backend_names),
            owners=self._cluster.status.backends[np.array(there, dtype=np.intp)].tolist(),
            gone=[] if full else [row for row in changed if kept.nodes[row] is None],
        )

    def _refresh(self, now: float) -> Pieces[None]:
        self._note_changes()
        kept = self._kept
        old = now - LOOK_AGAIN_S
        self._dirty.update(row for row, at in enumerate(kept.looked_at) if at < old and kept.nodes[row] is not None)
        while self._dirty:
            some = sorted(self._dirty)[:AT_ONCE]
            self._look(some, now)
            self._dirty.difference_update(some)
            yield

    def _note_changes(self) -> None:
        cluster = self._cluster
        levels = [level.name for level in present_levels(cluster)]
        if self._log is None or self._log.is_lost or levels != self._levels:
            self._log = self._log or LogCursor(cluster, GROUPS)
            self._log.skip()
            self._levels, self._places = levels, {}
            self._version += 1
            self._places_at = self._made_at = self._version
            self._dirty = set(range(cluster.width))
        else:
            self._dirty = self._dirty.union(*self._log.changed().values())
        self._kept.widen(cluster.width)

    def _look(self, rows: Sequence[int], now: float) -> None:
        cluster, kept = self._cluster, self._kept
        present = [row for row in rows if cluster.status.present[row]]
        found = map_rows(self._state, self._row_tenants, np.array(present, dtype=np.intp), now)
        drawn = dict(zip(present, found, strict=True))
        domains = self._domains_of(present)
        version = self._version + 1
        for row in rows:
            node, domain = drawn.get(row), domains.get(row, -1)
            kept.looked_at[row] = now
            if node != kept.nodes[row] or domain != kept.domains[row]:
                kept.nodes[row], kept.domains[row], kept.stamps[row] = node, domain, version
                self._version = version

    def _domains_of(self, rows: Iterable[int]) -> dict[int, int]:
        """The narrowest domain of each row; new ones are added to the list."""
        levels = present_levels(self._cluster)
        found = {}
        for row in rows:
            parent = -1
            for depth, level in enumerate(levels):
                code = int(level.column.codes[row])
                if not code:
                    continue
                place = MapPlace(level.domain(code), depth, parent)
                known = self._places.get(place)
                if known is None:
                    known = self._places[place] = len(self._places)
                    self._places_at = self._version + 1
                parent = known
            found[row] = parent
        return found

    # --- one workload on it --------------------------------------------------------------------------------------

    def workloads_on(self, workloads: Iterable[int]) -> WorkloadOnMap:
        """The tasks of these that hold nodes, together."""
        placements = self._cluster.placements
        rows: list[int] = []
        for id_ in workloads:
            work = self._state.work.get(id_)
            for replica in sorted(work.tasks) if work is not None else ():
                placed = placements.by_task.get(TaskId(id_, replica))
                if placed is not None:
                    rows.append(placed.row)
        different, counts = np.unique(np.array(rows, dtype=np.intp), return_counts=True)
        level, domain = self._shared(different)
        with self._state.no_trace():
            estimate = estimate_for(self._state, rows) if len(rows) <= MOST_RANKS else None
        links = list(islice(self._links(different, counts, level), MOST_LINKS))
        return WorkloadOnMap(different.tolist(), counts.tolist(), level, domain, estimate, links)

    def _shared(self, rows: Rows) -> tuple[str | None, str | None]:
        if not len(rows):
            return None, None
        if len(rows) == 1:
            return HOST, self._cluster.names[int(rows[0])]
        for level in reversed(present_levels(self._cluster)):
            codes = level.column.codes[rows]
            if codes[0] and (codes == codes[0]).all():
                return level.name, level.domain(int(codes[0]))
        return None, None

    def _links(self, rows: Rows, counts: Rows, met: str | None) -> Iterable[MapUplink]:
        """Up from each domain that holds some of its tasks and not all of them."""
        if len(rows) < 2:
            return
        for level in present_levels(self._cluster):
            codes = level.column.codes[rows].astype(np.intp)
            domains = [code for code in np.unique(codes).tolist() if code]
            if level.name == met or len(domains) < 2:
                continue
            carried, _, left = bandwidth_of(self._cluster, level.name)
            known = limited_up(self._cluster, level.name)
            for code in domains:
                tasks = int(counts[codes == code].sum())
                carries = float(carried[code]) if known[code] else None
                yield MapUplink(level.name, level.domain(code), tasks, carries, float(carried[code] - left[code]))
