"""How full nodes, queues and domains are, and how fair it is: what a metrics page shows, as plain numbers.

A large cluster is told by zone and backend instead of node by node; of levels with very many domains nothing is told,
since wider levels tell of them. Amounts are in the smallest unit of each resource.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from dovetail.cluster.network.levels import present_levels
from dovetail.engine.state.engine_state import EngineState
from dovetail.model.resources import CPU, GPU, SLOTS, Amounts

ZONE = "zone"


class NodeShare(NamedTuple):
    """Allocated share of a resource; `node` is empty where several nodes are told together."""

    node: str
    zone: str
    backend: str
    resource: str
    share: float


class QueueAmounts(NamedTuple):
    """What a queue and all below it hold, what it is guaranteed, and what it holds above that."""

    path: str
    used: Amounts
    guaranteed: Amounts
    borrowed: Amounts


class DomainShare(NamedTuple):
    """Share of a domain's GPUs, or of its cores where it has none, that is taken or on nodes that take no work."""

    level: str
    domain: str
    share: float


class UsageGauges:
    """`most_nodes`: more nodes, or domains of one level, are not told one by one."""

    def __init__(self, state: EngineState) -> None:
        self._state = state

    def nodes(self, most_nodes: int) -> Iterator[NodeShare]:
        cluster, tables = self._state.cluster, self._state.cluster.resources
        by_node = len(cluster.rows) <= most_nodes
        zones = cluster.labels.columns.get(ZONE)
        groups: dict[tuple[str, str, str], int] = {}
        codes = []
        for name, row in cluster.rows.items():
            zone = "" if zones is None else zones.value(row) or ""
            key = (name if by_node else "", zone, cluster.backend_names[cluster.backends[row]])
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

    def queues(self) -> Iterator[QueueAmounts]:
        tree, usage, borrowing = (
            self._state.router.queues,
            self._state.accounts.usage,
            self._state.accounts.quotas.borrowing,
        )
        untold = {SLOTS} - tree.shared_out  # every task takes one: worth telling only where they are shared out
        for queue in tree.queues[1:]:
            held = {name: amount for name, amount in usage.used(queue.code).items() if name not in untold}
            yield QueueAmounts(queue.path, held, queue.guaranteed, borrowing.borrowed(queue.code))

    def fair_share_deviation(self) -> dict[str, float]:
        """By tenant: how far it is from its fair part of what all hold; 0 is just right, 1 twice of it."""
        return self._state.accounts.usage.fair_share_deviation()

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
