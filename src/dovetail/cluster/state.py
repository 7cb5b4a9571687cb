"""The cluster: every table, and the methods that change them.

Nodes get rows in the order in which they join. A vacant row is reused, the lowest first, so the next row follows from
the rows in use and survives a restart. Ties between equally good nodes go to the lower row: rows are part of every
decision, and the same events give the same rows.

Guarantees: a trial (`change_log`) leaves no trace. When it ends, every table, the change log, `changes` and the order
of the tasks on each node are what they were. Left to others: what a change means (`engine`), which nodes suit a task
(`placement`).
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from heapq import heappop, heappush

import numpy as np

from dovetail.cluster.arrays import B1, F8, FIRST_CAPACITY, I4, grown
from dovetail.cluster.change_log import DEVICES, GROUPS, PLACEMENTS, RESOURCES, STATUS, LoggedState
from dovetail.cluster.devices import DeviceTable, Slots
from dovetail.cluster.labels import LabelTable, TaintTable
from dovetail.cluster.network.link_paths import F4
from dovetail.cluster.network.topology import NetworkTopology
from dovetail.cluster.node_status import NodeStatus
from dovetail.cluster.offers import OfferTable
from dovetail.cluster.placements import NO_VICTIM_INFO, Key, Placement, PlacementTable, VictimInfo
from dovetail.cluster.resources import ResourceTable
from dovetail.cluster.task_ends import TaskEnds
from dovetail.cluster.usage_trend import UsageTrend
from dovetail.model.inventory import MachineInventory
from dovetail.model.network.topology import Topology
from dovetail.model.node import Node
from dovetail.model.record import NodeRecord, Outcomes
from dovetail.model.requests.asks import GpuAsk, gpus_in
from dovetail.model.requests.task_identity import TaskIdentity
from dovetail.model.resources import CORE_RESOURCES, GPU, Amounts, Capacity, capacity_of
from dovetail.model.task import TaskId
from dovetail.model.workloads.workload import WorkloadKind

_KIND_BITS = {kind: 1 << i for i, kind in enumerate(WorkloadKind)}
_GPU = CORE_RESOURCES.index(GPU)


class Cluster(LoggedState):
    def __init__(self, overcommit: Mapping[str, float] | None = None) -> None:
        super().__init__()
        self.names: list[str] = []  # by row; "" where the row is vacant
        self.rows: dict[str, int] = {}
        self.resources = ResourceTable(overcommit)
        self.devices = DeviceTable()
        self.usage_trend = UsageTrend()
        self.task_ends = TaskEnds()
        self.offers = OfferTable()
        self.labels = LabelTable()
        self.taints = TaintTable()
        self.topology = NetworkTopology()
        self.placements = PlacementTable()
        self.status = NodeStatus(self.names)
        self.kinds: I4 = np.zeros(FIRST_CAPACITY, dtype=np.int32)
        self.addresses: dict[str, str] = {}  # where services on a node are reached, if that is known
        self.inventories: dict[str, MachineInventory] = {}  # what agents found in their machines
        self.generation = 0  # grows when a node joins, leaves or is redefined
        self._runs: dict[WorkloadKind, B1 | bool] = {}
        self._vacant: list[int] = []  # a heap

    @property
    def width(self) -> int:
        """Rows in use, vacant ones included: the length of every array a plugin sees."""
        return len(self.names)

    # --- nodes -----------------------------------------------------------------------------------------------

    def join(self, node: Node, at: int | None = None) -> int:
        """Add a node, or replace its definition. It is online from now on; a cordon stays.

        `at` puts a new node into the row that it had before a restart; nodes are restored by ascending row.
        """
        row = self.rows.get(node.name)
        if row is None:
            row = self._new_row(node.name, at)
        self.resources.set_capacity(row, node.capacity.amounts())
        self.devices.set_row(row, node.gpus, node.capacity.gpu)
        self.offers.set_row(row, node.offer, node.capacity)
        self.labels.set_row(row, self.topology.applied_labels(node.name, node.labels))
        self.taints.set_row(row, list(node.taints))
        self.kinds[row] = sum(_KIND_BITS[kind] for kind in set(node.kinds))
        self.status.join(row, node.backend)
        if node.address:
            self.addresses[node.name] = node.address
        else:
            self.addresses.pop(node.name, None)
        if node.inventory is None:
            self.inventories.pop(node.name, None)
        else:
            self.inventories[node.name] = node.inventory
        self._runs.clear()
        self.generation += 1
        self._touch(row, GROUPS)
        return row

    def leave(self, name: str) -> None:
        """Forget a node. Its tasks must have been removed before."""
        row = self.rows.pop(name)
        assert not self.placements.by_row[row], f"node {name} still holds tasks"
        self.status.leave(row)
        self.names[row] = ""
        self.resources.clear(row)
        self.devices.set_row(row, (), 0)
        self.offers.set_row(row, None, Capacity())
        self.usage_trend.clear(row)
        self.topology.forget(name)
        self.labels.set_row(row, {})
        self.taints.set_row(row, [])
        self.kinds[row] = 0
        self.task_ends.clear(row)
        self._runs.clear()
        self.addresses.pop(name, None)
        self.inventories.pop(name, None)
        heappush(self._vacant, row)
        self.generation += 1
        self._touch(row, GROUPS)

    def set_online(self, name: str, online: bool, reason: str = "") -> None:
        row = self.rows[name]
        self.status.set_online(row, online, reason)
        self._touch(row, (STATUS,))

    def set_cordoned(self, name: str, cordoned: bool, reason: str = "") -> None:
        row = self.rows[name]
        if self._undo is not None:
            self._undo.append(self._cordon_undo(name))
        self.status.set_cordoned(row, cordoned, reason)
        self._touch(row, (STATUS,))

    def _cordon_undo(self, name: str) -> Callable[[], None]:
        status = self.status
        was, reasons, drained = (
            bool(status.cordoned[self.rows[name]]),
            dict(status.cordon_reasons),
            name in status.drained,
        )

        def undo() -> None:
            self.set_cordoned(name, was)
            status.cordon_reasons = reasons
            if drained:
                status.drained.add(name)

        return undo

    def set_quarantined(self, name: str, reason: str) -> None:
        """No new task goes there until it is lifted with an empty reason."""
        row = self.rows[name]
        if self._undo is not None:
            self._undo.append(partial(self.set_quarantined, name, self.status.quarantines.get(name, "")))
        self.status.set_quarantined(row, reason)
        self._touch(row, (STATUS,))

    def set_backend_available(self, backend: str, available: bool) -> None:
        for row in self.status.set_backend_available(backend, available, self.width):
            self._touch(row, (STATUS,))

    def observe(self, name: str, used: Amounts, now: float | None = None) -> None:
        """Record measured use; without `now` it does not count for the trend."""
        row = self.rows[name]
        self.resources.observe(row, used)
        if now is not None:
            self.usage_trend.observe(row, self.resources.observed[:, row], now)
        self._touch(row, (RESOURCES,))

    def reserve(self, name: str, amounts: Amounts, sign: int = 1) -> None:
        """Hold capacity back (sign 1) or release it (sign -1)."""
        row = self.rows[name]
        column = self.resources.vector(amounts)
        self.resources.hold(row, column, sign)
        self._touch(row, (RESOURCES,))
        if self._undo is not None:
            self._undo.append(lambda: self.reserve(name, amounts, -sign))

    def count_outcome(self, name: str, ok: bool) -> None:
        """A task ended there by itself, well or badly. Not for trials."""
        self.task_ends.count(self.rows[name], ok)

    def note_pace(self, name: str, slowdown: float) -> None:
        """A task there took `slowdown` times as long as usual. Not for trials."""
        self.task_ends.note_pace(self.rows[name], slowdown)

    def set_outcomes(self, name: str, outcomes: Outcomes) -> None:
        """Restore the counts after a restart."""
        self.task_ends.restore(self.rows[name], outcomes)

    def outcomes(self, name: str) -> Outcomes:
        """How tasks ended on the node since it joined, and how fast they ran."""
        return self.task_ends.of(self.rows[name])

    def runs(self, kind: WorkloadKind) -> B1 | bool:
        """bool[node]: which nodes can run this kind of workload, or True if all can; kept until nodes change."""
        found = self._runs.get(kind)
        if found is None:
            mask: B1 = (self.kinds & _KIND_BITS[kind]) != 0
            found = self._runs[kind] = True if (mask | ~self.status.present).all() else mask
        return found

    def node(self, name: str) -> Node:
        """The node's definition, read back from the tables."""
        row = self.rows[name]
        amounts = self.resources.amounts(self.resources.capacity[:, row])
        return Node(
            name=name,
            backend=self.status.backend_of(row),
            address=self.addresses.get(name),
            inventory=self.inventories.get(name),
            capacity=capacity_of(amounts),
            labels=self.topology.own_labels(name, self.labels.row(row)),
            taints=list(self.taints.row(row)),
            kinds=[kind for kind, bit in _KIND_BITS.items() if self.kinds[row] & bit],
            gpus=list(self.devices.groups(row)),
            offer=self.offers.by_row.get(row),
        )

    def record(self, name: str) -> NodeRecord:
        row = self.rows[name]
        return NodeRecord(
            node=self.node(name),
            row=row,
            online=bool(self.status.online[row]),
            cordoned=bool(self.status.cordoned[row]),
            reason=self.status.reason(name),
            drained=name in self.status.drained,
        )

    # --- the network -----------------------------------------------------------------------------------------

    def set_topology(self, definition: Topology) -> None:
        """Replace the description of the network; an empty one removes it. Not for trials."""
        own = {name: self.topology.own_labels(name, self.labels.row(row)) for name, row in self.rows.items()}
        self.topology.set(definition)
        for name, labels in own.items():
            self.labels.set_row(self.rows[name], self.topology.applied_labels(name, labels))
        self.generation += 1
        self.status_changes += 1
        self.epoch += 1

    def set_distance(self, one: str, other: str, distance: float | None) -> None:
        """Override the distance between two nodes; None removes the override. Not for trials."""
        self.topology.distances.set(one, other, distance)
        self.topology.version += 1
        self.epoch += 1

    def clear_distances(self) -> None:
        """Remove all overrides. Not for trials."""
        self.topology.distances.clear()
        self.topology.version += 1
        self.epoch += 1

    def set_measured_distances(self, names: Sequence[str], distance: F4) -> None:
        """Replace what is known from measurements: float32[node, node]. Not for trials."""
        self.topology.measured.set(names, distance)
        self.epoch += 1

    # --- tasks -----------------------------------------------------------------------------------------------

    def place(
        self,
        task: TaskId,
        row: int,
        column: F8,
        service: Key | None = None,
        victim_info: VictimInfo = NO_VICTIM_INFO,
        identity: TaskIdentity | None = None,
        gpus: GpuAsk | None = None,
        slots: Slots | None = None,
    ) -> Slots:
        """Place the task: it takes the column on the node, and these GPU slots, or else those that suit `gpus` best.
        Returns the slots; none if they do not fit, which a filter should have noticed."""
        given: Slots = ()
        if gpu := column.item(_GPU):
            given = (self.devices.choose(row, gpus or _ask(gpu)) or ()) if slots is None else slots
            self.devices.take(row, given, _each(gpu, given))
            self.log[DEVICES].append(row)
        self.resources.take(row, column)
        self.placements.add(task, Placement(row, column, service, victim_info, identity, given))
        self.log[RESOURCES].append(row)
        self.log[PLACEMENTS].append(row)
        self._new_state()
        if self._undo is not None:
            self._undo.append(lambda: self._unplace(task))
        return given

    def place_many(self, placements: list[tuple[TaskId, Placement]]) -> None:
        """Many at once, as after a restart; not for trials. Caches are rebuilt."""
        assert self._undo is None, "a trial cannot undo this"
        nodes: dict[int, tuple[F8, list[int]]] = {}
        for task, placement in placements:
            self.placements.add(task, placement)
            nodes.setdefault(id(placement.column), (placement.column, []))[1].append(placement.row)
        for column, rows in nodes.values():
            self.resources.take_many(column, rows)
        with_gpus = [placement for _, placement in placements if placement.column.item(_GPU)]
        # First those whose devices are known: the others, which are from before devices were, take what is left.
        for placement in sorted(with_gpus, key=lambda one: not one.slots):
            gpu = placement.column.item(_GPU)
            placement.slots = placement.slots or self.devices.choose(placement.row, _ask(gpu)) or ()
            self.devices.take(placement.row, placement.slots, _each(gpu, placement.slots))
        self.epoch += 1

    def remove(self, task: TaskId) -> Placement:
        if self._undo is None:
            return self._unplace(task)
        row = self.placements.by_task[task].row
        unseen, in_order = self.resources.unseen[:, row].copy(), dict(self.placements.by_row[row])
        placement = self._unplace(task)
        self._undo.append(lambda: self._put_back(task, placement, unseen, in_order))
        return placement

    def _put_back(self, task: TaskId, placement: Placement, unseen: F8, in_order: dict[TaskId, None]) -> None:
        self.place(
            *(task, placement.row, placement.column, placement.service, placement.victim_info, placement.identity),
            slots=placement.slots,
        )
        self.resources.unseen[: len(unseen), placement.row] = unseen
        self.placements.by_row[placement.row] = in_order

    def _unplace(self, task: TaskId) -> Placement:
        placement = self.placements.remove(task)
        self.resources.give(placement.row, placement.column)
        if gpu := placement.column.item(_GPU):
            self.devices.take(placement.row, placement.slots, -_each(gpu, placement.slots))
            self.log[DEVICES].append(placement.row)
        self._touch(placement.row, (RESOURCES, PLACEMENTS))
        return placement

    def _trial_begins(self) -> Callable[[], None]:
        least_free, counts = self.resources.least_free.copy(), self.placements.selector_counts
        counts.begin_trial()

        def restore() -> None:
            counts.end_trial()
            self.resources.least_free = least_free

        return restore

    def _log_was_cut(self) -> None:
        self.resources.look_at_all(self.status.present[: self.width])

    # --- rows -------------------------------------------------------------------------------------------------

    def _new_row(self, name: str, at: int | None) -> int:
        if at is not None:
            assert at >= self.width, f"node {name} cannot go back to row {at}: rows up to {self.width - 1} were given"
            while self.width < at:
                heappush(self._vacant, self._append_row())
            row = self._append_row()
        else:
            row = heappop(self._vacant) if self._vacant else self._append_row()
        self.names[row] = name
        self.rows[name] = row
        return row

    def _append_row(self) -> int:
        row = self.width
        self.names.append("")
        self.placements.by_row.append({})
        if row >= len(self.kinds):
            self._widen(2 * len(self.kinds))
        return row

    def _widen(self, width: int) -> None:
        self.resources.widen(width)
        self.devices.widen(width)
        self.usage_trend.widen(width)
        self.task_ends.widen(width)
        self.offers.widen(width)
        self.labels.widen(width)
        self.taints.widen(width)
        self.placements.selector_counts.widen(width)
        self.status.widen(width)
        self.kinds = grown(self.kinds, width)


def _ask(gpu: float) -> GpuAsk:
    found = gpus_in(gpu)
    assert found is not None
    return found


def _each(gpu: float, slots: Slots) -> int:
    """Thousandths of each of the devices."""
    return int(gpu) // len(slots) if slots else 0
