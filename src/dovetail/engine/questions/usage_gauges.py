"""How full the cluster is, by resource, node and domain, and what fragmentation wastes. Queues: `queue_questions`.

A large cluster is summed by zone and backend instead of node by node. Levels with very many domains are left out: wider
levels cover them. Amounts are in the smallest unit of each resource.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from dovetail.cluster.network.levels import present_levels
from dovetail.engine.questions.fragmentation import (
    FragmentReport,
    Fragments,
    RecoverableCapacity,
    cluster_fragments,
    fragment_report,
    recoverable_capacity,
)
from dovetail.engine.state.engine_state import EngineState
from dovetail.model.resources import CORE_RESOURCES, CPU, GPU, SLOTS

ZONE = "zone"


class NodeShare(NamedTuple):
    """Allocated share of a resource; `node` is empty where several nodes are summed."""

    node: str
    zone: str
    backend: str
    resource: str
    share: float


class DomainShare(NamedTuple):
    """Share of a domain's GPUs, or of its cores where it has none, that is taken or on nodes that take no work."""

    level: str
    domain: str
    share: float


class UsageGauges:
    """`most_nodes`: more nodes, or domains of one level, are not listed one by one."""

    def __init__(self, state: EngineState) -> None:
        self._state = state

    def totals(self) -> dict[str, tuple[int, int]]:
        """By resource: allocated and capacity over all online nodes."""
        cluster = self._state.cluster
        tables, n = cluster.resources, cluster.width
        online = cluster.status.online[:n]
        return {
            name: (int(tables.allocated[i, :n][online].sum()), int(tables.capacity[i, :n][online].sum()))
            for i, name in enumerate(tables.names)
            if name in CORE_RESOURCES or tables.capacity[i, :n].any()
        }

    def status_counts(self) -> dict[str, int]:
        """Nodes by status, over the flags alone: cheap at any size."""
        cluster = self._state.cluster
        n = cluster.width
        online, cordoned, ready = cluster.status.online[:n], cluster.status.cordoned[:n], cluster.status.ready[:n]
        rows = [cluster.rows[name] for name in cluster.status.quarantines]
        quarantined = sum(bool(online[row]) and not cordoned[row] for row in rows)
        return {
            "online": int(ready.sum()),
            "cordoned": int((online & cordoned).sum()),
            "quarantined": quarantined,
            "backend down": int((online & ~cordoned & ~ready).sum()) - quarantined,
            "offline": len(cluster.rows) - int(online.sum()),
        }

    def fragmentation(self) -> FragmentReport:
        return fragment_report(self._state)

    def cluster_fragments(self) -> Fragments:
        """Fragmentation of the whole cluster alone."""
        return cluster_fragments(self._state)

    def recoverable(self) -> RecoverableCapacity:
        """What moving tasks would recover of the free GPU capacity that typical work cannot use."""
        return recoverable_capacity(self._state)

    def nodes(self, most_nodes: int) -> Iterator[NodeShare]:
        cluster, tables = self._state.cluster, self._state.cluster.resources
        by_node = len(cluster.rows) <= most_nodes
        zones = cluster.labels.columns.get(ZONE)
        groups: dict[tuple[str, str, str], int] = {}
        codes = []
        for name, row in cluster.rows.items():
            zone = "" if zones is None else zones.value(row) or ""
            key = (name if by_node else "", zone, cluster.status.backend_of(row))
            codes.append(groups.setdefault(key, len(groups)))
        rows = np.fromiter(cluster.rows.values(), dtype=np.intp, count=len(cluster.rows))
        for index, resource in enumerate(tables.names):
            if resource == SLOTS or not codes:
                continue
            parts = np.bincount(codes, tables.allocated[index, rows], len(groups)).tolist()
            wholes = np.bincount(codes, tables.capacity[index, rows], len(groups)).tolist()
            for key, part, whole in zip(groups, parts, wholes, strict=True):
                if whole:
                    yield NodeShare(*key, resource, part / whole)

    def domains(self, most_nodes: int) -> Iterator[DomainShare]:
        for level in present_levels(self._state.cluster):
            domains = self._state.domains.domains(level)
            for domain in domains if len(domains) <= most_nodes else ():
                resource = GPU if domain.capacity.get(GPU) else CPU
                if capacity := domain.capacity.get(resource, 0):
                    yield DomainShare(level.name, domain.name, 1.0 - domain.free.get(resource, 0) / capacity)

    def gpu_share(self) -> float:
        """Share of all GPUs that tasks have."""
        tables, n = self._state.cluster.resources, self._state.cluster.width
        allocated, total = (table[tables.index[GPU], :n].sum() for table in (tables.allocated, tables.capacity))
        return float(allocated / total) if total else 0.0
