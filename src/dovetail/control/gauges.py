"""Numbers read off the engine when somebody asks for metrics: how full nodes and queues are, and how fair it is.

Guarantees: each look begins with nothing, so what is gone is no longer reported; a large cluster is told by zone and
backend instead of node by node. `look` reads the engine and must be called where it is not changing; what was seen can
then be written down elsewhere. Amounts are in the unit people count in: cores, bytes, GPUs, pieces.
"""

from collections.abc import Iterator

import numpy as np
from prometheus_client.metrics_core import GaugeMetricFamily

from dovetail.cluster.network.levels import present_levels
from dovetail.engine.state.engine_state import EngineState
from dovetail.model.resources import CPU, GPU, SLOTS, Amounts

MOST_NODES = 2000
ZONE = "zone"


class Gauges:
    """A collector for a Prometheus registry."""

    def __init__(self, state: EngineState) -> None:
        self._state = state
        self._seen: list[GaugeMetricFamily] = []

    def look(self) -> None:
        self._seen = [self._utilisation(), *self._queues(), self._deviation(), *self._topology()]

    def collect(self) -> list[GaugeMetricFamily]:
        """What was seen at the last look."""
        return self._seen

    def _utilisation(self) -> GaugeMetricFamily:
        found = GaugeMetricFamily(
            "dovetail_worker_utilization",
            "Allocated share of capacity: of each node or, beyond 2,000 nodes, of each zone and backend",
            labels=["node", "zone", "backend", "resource"],
        )
        cluster, tables = self._state.cluster, self._state.cluster.resources
        by_node = len(cluster.rows) <= MOST_NODES
        zones = cluster.labels.columns.get(ZONE)
        groups: dict[tuple[str, str, str], int] = {}
        codes = []
        for name, row in cluster.rows.items():
            zone = "" if zones is None else zones.value(row) or ""
            key = (name if by_node else "", zone, cluster.backend_names[cluster.backends[row]])
            codes.append(groups.setdefault(key, len(groups)))
        rows = np.fromiter(cluster.rows.values(), dtype=np.intp, count=len(cluster.rows))
        for index, resource in enumerate(tables.names):
            if resource == SLOTS:
                continue
            parts = np.bincount(codes, tables.allocated[index, rows], len(groups)).tolist() if codes else []
            wholes = np.bincount(codes, tables.capacity[index, rows], len(groups)).tolist() if codes else []
            for key, part, whole in zip(groups, parts, wholes, strict=True):
                if whole:
                    found.add_metric([*key, resource], part / whole)
        return found

    def _queues(self) -> Iterator[GaugeMetricFamily]:
        tree, usage, borrowing = (
            self._state.router.queues,
            self._state.accounts.usage,
            self._state.accounts.quotas.borrowing,
        )
        used = _of_queues("dovetail_queue_used", "Held by a queue and all below it")
        guaranteed = _of_queues("dovetail_queue_guaranteed", "Guaranteed to a queue")
        borrowed = _of_queues("dovetail_queue_borrowed", "Held by a queue above its guarantee")
        untold = {SLOTS} - tree.shared_out  # every task takes one: worth telling only where they are shared out
        for queue in tree.queues[1:]:
            held = {name: amount for name, amount in usage.used(queue.code).items() if name not in untold}
            _add(used, queue.path, held)
            _add(guaranteed, queue.path, queue.guaranteed)
            _add(borrowed, queue.path, borrowing.borrowed(queue.code))
        yield from (used, guaranteed, borrowed)

    def _deviation(self) -> GaugeMetricFamily:
        found = GaugeMetricFamily(
            "dovetail_fair_share_deviation",
            "How far a tenant is from its fair part of what all hold: 0 is just right, 1 twice of it",
            labels=["tenant"],
        )
        for tenant, deviation in self._state.accounts.usage.fair_share_deviation().items():
            found.add_metric([tenant], deviation)
        return found

    def _topology(self) -> Iterator[GaugeMetricFamily]:
        """Of levels with very many domains nothing is told one by one; wider levels tell of them."""
        state = self._state
        used = GaugeMetricFamily(
            "topology_domain_utilization_ratio",
            "Share of a domain's GPUs, or of its cores where it has none, that is taken or on nodes that take no work",
            labels=["level", "domain"],
        )
        for level in present_levels(state.cluster):
            domains = state.domains.domains(level)
            for domain in domains if len(domains) <= MOST_NODES else ():
                resource = GPU if domain.capacity.get(GPU) else CPU
                if capacity := domain.capacity.get(resource, 0):
                    used.add_metric([level.name, domain.name], 1.0 - domain.free.get(resource, 0) / capacity)
        yield used
        whole = GaugeMetricFamily("topology_gpu_allocation_ratio", "Share of all GPUs that tasks have")
        tables, n = state.cluster.resources, state.cluster.width
        allocated, total = (table[tables.index[GPU], :n].sum() for table in (tables.allocated, tables.capacity))
        whole.add_metric([], float(allocated / total) if total else 0.0)
        yield whole


def _of_queues(name: str, words: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, words, labels=["queue", "resource"])


def _add(family: GaugeMetricFamily, path: str, amounts: Amounts) -> None:
    for resource, amount in sorted(amounts.items()):
        family.add_metric([path, resource], amount / 1000 if resource in (CPU, GPU) else amount)
