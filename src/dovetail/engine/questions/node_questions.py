"""Nodes and backends by name: which there are, what they offer, how full they are."""

from collections.abc import Collection, Iterable, KeysView, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dovetail.cluster.network.domains import SINGLE, level_column
from dovetail.engine.events.node_loss import rows_in
from dovetail.engine.pieces import Pieces
from dovetail.engine.questions.node_list import NodeOrder, node_order
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.node_failures import FailingWorkload
from dovetail.model.device import Device
from dovetail.model.node import Node
from dovetail.model.workloads.selection import Taint
from dovetail.model.workloads.workload import WorkloadKind


class GpuUse(NamedTuple):
    """One GPU of a node, and the thousandths of it that tasks use."""

    slot: int
    device: Device
    used: int


@dataclass(frozen=True, slots=True)
class NodeUse:
    """One node in numbers: amounts by resource, and the number of its tasks."""

    name: str
    backend: str
    online: bool
    cordoned: bool
    drained: bool
    quarantined: bool
    available: bool
    reason: str
    labels: dict[str, str]
    taints: list[str]
    capacity: dict[str, int]
    allocated: dict[str, int]
    reserved: dict[str, int]
    observed: dict[str, int]
    load: float
    tasks: int

    @property
    def status(self) -> str:
        """One word for users."""
        if not self.online:
            return "offline"
        if not self.available:
            return "backend down"
        if self.drained:
            return "drained" if not self.tasks else "draining"
        if self.cordoned:
            return "cordoned"
        return "quarantined" if self.quarantined else "online"


class Quarantine(NamedTuple):
    """Since when and until when a node gets no tasks, and which workloads failed there, the latest first."""

    since: float
    until: float
    failing: tuple[FailingWorkload, ...]


class NodeState(NamedTuple):
    """What an adapter registered of one node; `labels` without those that a topology adds."""

    capacity: dict[str, int]
    allocated: dict[str, int]
    labels: dict[str, str]
    taints: frozenset[Taint]
    ready: bool
    reason: str


class NodeQuestions:
    """Methods that take the name of a node raise KeyError for an unknown one, unless they say otherwise."""

    def __init__(self, state: EngineState) -> None:
        self._state, self._cluster = state, state.cluster

    def __contains__(self, name: object) -> bool:
        return name in self._cluster.rows

    def __len__(self) -> int:
        return len(self._cluster.rows)

    @property
    def names(self) -> KeysView[str]:
        return self._cluster.rows.keys()

    # --- one node --------------------------------------------------------------------------------------------

    def definition(self, name: str) -> Node:
        """The node with its labels, taints and capacity."""
        return self._cluster.node(name)

    def by_address(self) -> dict[str, str]:
        """The node that is reached at each address."""
        return {address: name for name, address in self._cluster.addresses.items()}

    def is_online(self, name: str) -> bool:
        return bool(self._cluster.status.online[self._cluster.rows[name]])

    def reason(self, name: str) -> str:
        """Why it is offline or cordoned; empty when it is neither."""
        return self._cluster.status.reason(name)

    def labels(self, name: str) -> dict[str, str]:
        """As selectors see them, its name among them; empty for an unknown node."""
        row = self._cluster.rows.get(name)
        return {} if row is None else self._cluster.labels.row(row)

    def label_values(self, key: str) -> list[str]:
        """The different values that nodes have, or had, under this key."""
        column = self._cluster.labels.columns.get(key)
        return [] if column is None else list(column.vocabulary)

    def use(self, name: str) -> NodeUse:
        cluster = self._cluster
        row = cluster.rows[name]
        tables = cluster.resources
        return NodeUse(
            name=name,
            backend=cluster.status.backend_of(row),
            online=bool(cluster.status.online[row]),
            cordoned=bool(cluster.status.cordoned[row]),
            drained=name in cluster.status.drained,
            quarantined=name in cluster.status.quarantines,
            available=cluster.status.backend_available[cluster.status.backends[row]],
            reason=cluster.status.reason(name),
            labels=cluster.labels.row(row),
            taints=[str(taint) for taint in cluster.taints.row(row)],
            capacity=tables.amounts(tables.capacity[:, row]),
            allocated=tables.amounts(tables.allocated[:, row]),
            reserved=tables.amounts(tables.reserved[:, row]),
            observed=tables.amounts(tables.observed[:, row]),
            load=float(tables.load[row]),
            tasks=len(cluster.placements.by_row[row]),
        )

    def quarantine(self, name: str) -> Quarantine | None:
        """None if it is in none."""
        failures = self._state.node_failures.get(name) if name in self._cluster.rows else None
        if failures is None or failures.until is None:
            return None
        return Quarantine(failures.since, failures.until, tuple(failures.latest()))

    def gpus(self, name: str) -> list[GpuUse]:
        """By slot."""
        devices, row = self._cluster.devices, self._cluster.rows[name]
        taken = devices.taken(row).tolist()
        return [GpuUse(slot, device, taken[slot]) for slot, device in enumerate(devices.devices(row))]

    def in_use(self, name: str, resources: Sequence[str]) -> list[tuple[str, float, float]] | None:
        """(resource, allocated, capacity); None for an unknown node."""
        row = self._cluster.rows.get(name)
        if row is None:
            return None
        tables = self._cluster.resources
        at = [tables.index[resource] for resource in resources]
        return list(zip(resources, tables.allocated[at, row].tolist(), tables.capacity[at, row].tolist(), strict=True))

    # --- several nodes ---------------------------------------------------------------------------------------

    def uses(self) -> list[NodeUse]:
        """All nodes by name."""
        return [self.use(name) for name in sorted(self._cluster.rows)]

    def ordered(self, search: str = "", statuses: Collection[str] = (), sort: str = "name") -> Pieces[NodeOrder]:
        """The names of nodes as lists want them; `sort` is one of `NODE_SORTS`, perhaps with `-` before it."""
        return node_order(self._state, search, statuses, sort)

    def states(self) -> dict[str, NodeState]:
        cluster, tables = self._cluster, self._cluster.resources
        return {
            name: NodeState(
                tables.amounts(tables.capacity[:, row]),
                tables.amounts(tables.allocated[:, row]),
                cluster.topology.own_labels(name, cluster.labels.row(row)),
                frozenset(cluster.taints.row(row)),
                bool(cluster.status.ready[row]),
                cluster.status.reason(name),
            )
            for name, row in cluster.rows.items()
        }

    def in_domain(self, level: str, domain: str) -> list[str]:
        """The nodes of a domain; of the level `node`, the one of that name."""
        return [self._cluster.names[row] for row in rows_in(self._state, level, domain)]

    def domain_names(self, level: str) -> list[str]:
        """The domains of a level; of the level `node`, the nodes."""
        if level in SINGLE:
            return list(self._cluster.rows)
        column = level_column(self._cluster, level)
        return [] if column is None else [name for name in column.vocabulary if name]

    def task_count(self, names: Iterable[str]) -> int:
        """How many tasks hold these nodes."""
        return sum(len(self._cluster.placements.by_row[self._cluster.rows[name]]) for name in names)

    # --- backends --------------------------------------------------------------------------------------------

    def backend_of(self, name: str) -> str | None:
        """None for an unknown node."""
        row = self._cluster.rows.get(name)
        return None if row is None else self._cluster.status.backend_of(row)

    def of_backend(self, backend: str) -> list[str]:
        cluster = self._cluster
        if backend not in cluster.status.backend_names:
            return []
        code = cluster.status.backend_names.index(backend)
        return [name for name, row in cluster.rows.items() if cluster.status.backends[row] == code]

    def of_backend_for(self, backend: str, kind: WorkloadKind) -> list[str]:
        """Those that run work of this kind."""
        names, runs = self.of_backend(backend), self._cluster.runs(kind)
        return names if isinstance(runs, bool) else [name for name in names if runs[self._cluster.rows[name]]]

    def backend_is_down(self, backend: str) -> bool:
        """Whether its nodes count as unavailable. False for a backend that has no nodes."""
        cluster = self._cluster
        return (
            backend in cluster.status.backend_names
            and not cluster.status.backend_available[cluster.status.backend_names.index(backend)]
        )
