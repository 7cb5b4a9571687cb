"""What a plugin sees: columns over some nodes, never the cluster itself.

A view covers all rows, or a chosen subset of them, or a subset as it *would* be after taking on a number of copies
of one request. Plugins cannot tell the difference, which is what makes caching, explaining one node and looking
ahead the same code as deciding. All arrays have one entry a row of the view and must not be written.
"""

from collections.abc import Callable, Hashable, Sequence

import numpy as np
import numpy.typing as npt

from dovetail.cluster.arrays import B1, F8, I4, Rows
from dovetail.cluster.distance import distance_to, proximity_to
from dovetail.cluster.domains import SINGLE, domain_sum, level_column
from dovetail.cluster.labels import ABSENT, LabelColumn, value_matches
from dovetail.cluster.levels import narrowest_level
from dovetail.cluster.path_headroom import headroom_from
from dovetail.cluster.resources import loads
from dovetail.cluster.state import Cluster
from dovetail.cluster.taints import TaintSet
from dovetail.cluster.tallies import Counted, Tally
from dovetail.cluster.uplinks import Shortage, room_to_join, shortage_at
from dovetail.model.asks import GpuAsk, Match, Term
from dovetail.model.device import WHOLE, Gpus
from dovetail.model.resources import GPU, SLOTS
from dovetail.model.task import TaskId
from dovetail.model.workload import Kind


class View:
    """Every row of the cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._tables = cluster.resources
        self._index = cluster.resources.index
        self.size = cluster.width

    # --- which rows ------------------------------------------------------------------------------------------

    def subset(self, rows: Rows) -> "View":
        return _Subset(self._cluster, rows)

    def after(self, rows: Rows, column: F8, copies: npt.NDArray[np.float64]) -> "View":
        """The rows as they would be with `copies[i]` more of `column` placed on row i (rows may repeat)."""
        return _Ahead(self._cluster, rows, column, copies)

    def _cut(self, array: npt.NDArray) -> npt.NDArray:  # type: ignore[type-arg]
        return array[: self.size]

    def name(self, position: int) -> str:
        return self._cluster.names[position]

    @property
    def rows(self) -> Rows:
        return np.arange(self.size)

    @property
    def width(self) -> int:
        """Rows of the whole cluster, whatever this view shows."""
        return self._cluster.width

    @property
    def resource_names(self) -> Sequence[str]:
        return self._tables.names

    @property
    def whole(self) -> "View":
        """All rows, for what a node cannot be judged without: its domain."""
        return View(self._cluster)

    def domain_sum(self, level: str, values: F8) -> F8:
        """For each row of this view, the sum over its domain of `values`, which cover all rows (`whole`)."""
        return self._cut(domain_sum(self._cluster, level, values))

    @property
    def narrowest_level(self) -> str | None:
        """The label of the narrowest level at which nodes share domains; None: nobody says where nodes are."""
        return narrowest_level(self._cluster)

    @property
    def succeeded(self) -> F8:
        """Tasks that ended on each node with exit status 0."""
        return self._cut(self._cluster.succeeded)

    @property
    def failed(self) -> F8:
        """Tasks that ended on each node with another exit status."""
        return self._cut(self._cluster.failed)

    @property
    def pace_sum(self) -> F8:
        """Of a mean over tasks that ran on each node, of how many times as long as usual they took: what they add up
        to."""
        return self._cut(self._cluster.pace_sum)

    @property
    def pace_weight(self) -> F8:
        """And how many they count for."""
        return self._cut(self._cluster.pace_weight)

    @property
    def outcomes_as_of(self) -> tuple[int, int, int]:
        """Changes whenever one of these four columns does, or nodes or domains do."""
        cluster = self._cluster
        return cluster.outcome_changes, cluster.generation, cluster.topology.version

    def task_counts(self, workload: int, replicas: int) -> F8:
        """Tasks of one workload on each node."""
        placed = self._cluster.placements.by_task
        rows = [p.row for r in range(replicas) if (p := placed.get(TaskId(workload, r))) is not None]
        return self._cut(np.bincount(np.array(rows, dtype=np.intp), minlength=self._cluster.width).astype(np.float64))

    # --- resources -------------------------------------------------------------------------------------------

    def _row(self, table: npt.NDArray[np.float64], index: int) -> F8:
        return table[index, : self.size]

    def capacity(self, resource: str) -> F8 | None:
        """None where no node has ever had such a resource."""
        index = self._index.get(resource)
        return None if index is None else self._row(self._tables.capacity, index)

    def schedulable(self, resource: str) -> F8 | None:
        index = self._index.get(resource)
        return None if index is None else self._row(self._tables.schedulable, index)

    def reserved(self, resource: str) -> F8 | None:
        index = self._index.get(resource)
        return None if index is None else self._row(self._tables.reserved, index)

    def allocated(self, resource: str) -> F8 | None:
        index = self._index.get(resource)
        return None if index is None else self._row(self._tables.allocated, index)

    def all_have(self, resource: str, needed: float) -> bool:
        """Known without looking: every node has so much free. False means only that one has to look."""
        return resource == SLOTS and needed <= self._tables.least_free_slots

    def free(self, resource: str) -> F8 | None:
        """Schedulable - allocated - reserved."""
        index = self._index.get(resource)
        return None if index is None else self._row(self._tables.free, index)

    def inverse_capacity(self, resource: str) -> F8 | None:
        """1 / capacity, and 0 where a node has none."""
        index = self._index.get(resource)
        return None if index is None else self._row(self._tables.inverse, index)

    def free_observed(self, resource: str) -> F8 | None:
        """Schedulable - reserved - measured use - what was allocated since the measurement."""
        tables = self._cluster.resources
        index = tables.index.get(resource)
        if index is None:
            return None
        used: F8 = self._cut(tables.observed[index]) + self._cut(tables.unseen[index])
        spare: F8 = self._cut(tables.schedulable[index]) - self._cut(tables.reserved[index])
        return spare - used

    def observed(self, resource: str) -> F8 | None:
        """Measured use."""
        index = self._index.get(resource)
        return None if index is None else self._row(self._tables.observed, index)

    def forecast(self, resource: str) -> F8 | None:
        """Measured use about fifteen minutes from now, if it goes on as it did."""
        index = self._index.get(resource)
        if index is None:
            return None
        tables = self._tables
        return self._cut(self._cluster.usage_trend.forecast(index, tables.observed[index], tables.capacity[index]))

    # --- GPUs one by one -------------------------------------------------------------------------------------

    def device_copies(self, ask: GpuAsk) -> F8:
        """How many tasks of an ask the GPUs of each node have room for."""
        return self._cluster.devices.copies(ask, self._which)

    def has_devices(self, ask: GpuAsk) -> B1:
        """Which nodes' GPUs have room for one task of an ask."""
        return self._cluster.devices.hosts(ask, self._which)

    def largest_devices(self, ask: GpuAsk) -> F8:
        """The most thousandths of GPUs that one task of such an ask could have on each node."""
        return self._cluster.devices.largest(ask, self._which)

    def could_have_devices(self, ask: GpuAsk) -> B1:
        """On which nodes one task of an ask would fit if nobody had any of their GPUs."""
        return self._cluster.devices.ever(ask, self._which)

    @property
    def amounts_tell_devices(self) -> bool:
        """As many whole GPUs are free as the amounts say, on every node: none is shared, none given out twice."""
        return not self._cluster.devices.split and self._tables.overcommit.get(GPU, 1.0) <= 1.0

    def free_parts(self, ask: GpuAsk, position: int) -> list[int]:
        """Of each GPU of one node that suits an ask, the thousandths that are free, where any are."""
        devices, row = self._cluster.devices, int(self.rows[position])
        parts: list[int] = devices.free[row][devices.suitable(ask)[row]].tolist()
        return [part for part in parts if part > 0]

    def device_groups(self, position: int) -> Sequence[Gpus]:
        """The GPUs of one node as it described them."""
        return self._cluster.devices.groups(int(self.rows[position]))

    @property
    def device_slots(self) -> int:
        """GPUs that the node with the most of them has."""
        return int(self._cluster.devices.free.shape[1])

    @property
    def device_free(self) -> I4:
        """int32[node, slot]: thousandths of each GPU that nobody has."""
        return self._cluster.devices.free[self._which]

    def suitable_devices(self, ask: GpuAsk) -> B1:
        """bool[node, slot]: GPUs that an ask allows, whoever has them."""
        return self._cluster.devices.suitable(ask)[self._which]

    @property
    def device_kinds(self) -> I4:
        """int32[node, slot]: the kind of each GPU, 0 where there is none."""
        return self._cluster.devices.kinds[self._which]

    @property
    def device_kind(self) -> I4:
        """int32[node]: the kind of all of its GPUs, 0 where it has none, SEVERAL where they differ."""
        return self._cluster.devices.kind[self._which]

    @property
    def has_mixed_devices(self) -> bool:
        """Has any node of the cluster GPUs of several kinds?"""
        return self._cluster.devices.mixed > 0

    @property
    def device_kind_list(self) -> Sequence[tuple[str, int]]:
        """Model and memory of each kind."""
        return self._cluster.devices.kind_list

    @property
    def _which(self) -> Rows | slice:
        return slice(0, self.size)

    @property
    def load(self) -> F8:
        """Mean share of CPU, memory and task slots in use."""
        return self._cut(self._cluster.resources.load)

    @property
    def idle(self) -> F8:
        """1 - load."""
        return self._cut(self._cluster.resources.idle)

    # --- labels, taints, status ------------------------------------------------------------------------------

    def matches(self, match: Match) -> B1 | bool:
        """Which nodes satisfy one label comparison; a plain bool when all answer alike."""
        column = self._cluster.labels.columns.get(match.key)
        return value_matches(None, match) if column is None else self._cut(column.mask(match))

    def satisfies(self, term: Term) -> B1 | bool:
        """Which nodes satisfy every comparison of a term."""
        found: B1 | bool = True
        for match in term:
            one = self.matches(match)
            if one is False:
                return False
            found = one if found is True else found if one is True else found & one
        return found

    def weighted(self, term: Term, weight: float) -> F8 | float:
        """`weight` where a term is satisfied, 0 elsewhere; a plain float when that is the same for all."""
        if len(term) == 1 and (column := self._cluster.labels.columns.get(term[0].key)) is not None:
            return self._cut(column.number(term[0])) * weight
        found = self.satisfies(term)
        return found * weight if isinstance(found, bool) else np.multiply(found, weight, dtype=np.float64)

    def label(self, key: str, position: int) -> str | None:
        column = self._cluster.labels.columns.get(key)
        return None if column is None else column.value(int(self.rows[position]))

    def label_codes(self, key: str) -> tuple[I4, LabelColumn] | None:
        """Codes of this view's nodes and the column that says what they mean; None where no node has had the label."""
        column = self._cluster.labels.columns.get(key)
        return None if column is None else (self._cut(column.codes), column)

    @property
    def label_counts(self) -> F8:
        """How many labels each node has."""
        found = np.zeros(self._cluster.width)
        for column in self._cluster.labels.columns.values():
            found += column.codes[: len(found)] != ABSENT
        return self._cut(found)

    def level_codes(self, level: str) -> tuple[I4, LabelColumn] | None:
        """As `label_codes`, for the label that says in which domain of a level a node is."""
        column = None if level in SINGLE else level_column(self._cluster, level)
        return None if column is None else (self._cut(column.codes), column)

    @property
    def node_names(self) -> Sequence[str]:
        """Of the whole cluster, by row."""
        return self._cluster.names

    def row_of(self, name: str) -> int | None:
        """The row of a node in the whole cluster."""
        return self._cluster.rows.get(name)

    @property
    def kind_bits(self) -> I4:
        """Which kinds of workloads each node runs: bit i for the i-th kind."""
        return self._cut(self._cluster.kinds)

    @property
    def taint_sets(self) -> Sequence[TaintSet]:
        """The distinct sets; `taint_codes` says which one a node has."""
        return self._cluster.taints.sets

    @property
    def taint_codes(self) -> I4:
        return self._cut(self._cluster.taints.codes)

    @property
    def has_soft_taints(self) -> bool:
        """Has any node ever had a PreferNoSchedule taint?"""
        return self._cluster.taints.any_soft

    def by_taints(self, key: Hashable, of_set: Callable[[TaintSet], bool]) -> B1 | bool:
        """Which nodes have a taint set of which `of_set` holds; `key` names the question, whose answer is kept."""
        found = self._cluster.taints.ask(key, of_set)
        return found if isinstance(found, bool) else self._cut(found)

    @property
    def ready(self) -> B1:
        """Online, not cordoned, backend available."""
        return self._cut(self._cluster.ready)

    @property
    def present(self) -> B1:
        """False for vacant rows."""
        return self._cut(self._cluster.present)

    @property
    def online(self) -> B1:
        return self._cut(self._cluster.online)

    @property
    def cordoned(self) -> B1:
        return self._cut(self._cluster.cordoned)

    def status_reason(self, position: int) -> str:
        return self._cluster.reason(self.name(position))

    def runs(self, kind: Kind) -> B1 | bool:
        """Which nodes can run this kind of workload; plain True when all can."""
        found = self._cluster.runs(kind)
        return found if isinstance(found, bool) else self._cut(found)

    @property
    def backend_codes(self) -> I4:
        return self._cut(self._cluster.backends)

    @property
    def backend_names(self) -> Sequence[str]:
        return self._cluster.backend_names

    @property
    def backend_available(self) -> Sequence[bool]:
        return self._cluster.backend_available

    # --- placements ------------------------------------------------------------------------------------------

    def tally(self, counted: Counted) -> Tally:
        """How many tasks of a kind each node of the whole cluster holds."""
        return self._cluster.placements.tally(counted)

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
        [0, 1]; None where it has none, or nobody says how fast links are."""
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

    def uplink_shortage(self, gang: tuple[str, str], mbps: float, position: int) -> Shortage:
        """Which links up keep a task of a gang from joining on one node."""
        return shortage_at(self._cluster, gang, mbps, int(self.rows[position]))


def _domain_sums(column: LabelColumn, counts: F8) -> F8:
    """float64[code]: the sum of `counts` over each domain; nodes without the label are in none."""
    sums: F8 = np.bincount(column.codes[: len(counts)], counts, len(column.vocabulary) + 1).astype(np.float64)
    sums[ABSENT] = 0.0
    return sums


class _Subset(View):
    def __init__(self, cluster: Cluster, rows: Rows) -> None:
        super().__init__(cluster)
        self._rows = rows
        self.size = len(rows)

    def _cut(self, array: npt.NDArray) -> npt.NDArray:  # type: ignore[type-arg]
        return array.take(self._rows, axis=0)

    def _row(self, table: npt.NDArray[np.float64], index: int) -> F8:
        found: F8 = table[index].take(self._rows)
        return found

    @property
    def _which(self) -> Rows | slice:
        return self._rows

    def name(self, position: int) -> str:
        return self._cluster.names[int(self._rows[position])]

    @property
    def rows(self) -> Rows:
        return self._rows

    def subset(self, rows: Rows) -> View:
        return _Subset(self._cluster, self._rows[rows])


class _Ahead(_Subset):
    """Allocations are whole numbers, so `copies * column` equals adding one after the other, to the bit."""

    def __init__(self, cluster: Cluster, rows: Rows, column: F8, copies: F8) -> None:
        super().__init__(cluster, rows)
        self._more = column[:, None] * copies
        self._copies = copies

    def _extra(self, resource: str) -> F8 | None:
        index = self._cluster.resources.index.get(resource)
        return self._more[index] if index is not None and index < len(self._more) else None

    def all_have(self, resource: str, needed: float) -> bool:  # noqa: ARG002 (the bound is about now)
        return False

    def device_copies(self, ask: GpuAsk) -> F8:
        """Of the ask that is placed ahead: each copy leaves room for one less."""
        return super().device_copies(ask) - self._copies

    def has_devices(self, ask: GpuAsk) -> B1:
        return self.device_copies(ask) >= 1

    @property
    def device_free(self) -> I4:
        raise NotImplementedError(
            "which GPUs copies would get is not known ahead; a score that asks has no looks_ahead"
        )

    @property
    def amounts_tell_devices(self) -> bool:
        return super().amounts_tell_devices and not (self._more[self._index[GPU]] % WHOLE).any()

    def allocated(self, resource: str) -> F8 | None:
        found, extra = super().allocated(resource), self._extra(resource)
        return found if found is None or extra is None else found + extra

    def free(self, resource: str) -> F8 | None:
        found, extra = super().free(resource), self._extra(resource)
        return found if found is None or extra is None else found - extra

    def free_observed(self, resource: str) -> F8 | None:
        found, extra = super().free_observed(resource), self._extra(resource)
        return found if found is None or extra is None else found - extra

    @property
    def load(self) -> F8:
        tables = self._cluster.resources
        allocated = tables.allocated[:, self._rows]
        allocated[: len(self._more)] += self._more
        return loads(allocated, tables.inverse[:, self._rows])

    @property
    def idle(self) -> F8:
        return 1.0 - self.load
