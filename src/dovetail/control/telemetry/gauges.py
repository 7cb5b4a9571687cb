"""Gauges that are read from the engine when metrics are scraped: use of nodes, queues and domains, and fairness.

Guarantees: each `look` starts empty, so what is gone is no longer reported. `look` reads the engine and must run on the
control loop's thread; the result may be rendered on another. Amounts are in cores, bytes, GPUs and pieces.
"""

from collections.abc import Iterator

from prometheus_client.metrics_core import GaugeMetricFamily

from dovetail.engine.questions.questions import UsageGauges
from dovetail.model.resources import CPU, GPU, Amounts

MOST_NODES = 2000


class Gauges:
    """A collector for a Prometheus registry."""

    def __init__(self, usage: UsageGauges) -> None:
        self._usage = usage
        self._seen: list[GaugeMetricFamily] = []

    def look(self) -> None:
        self._seen = [self._utilisation(), *self._queues(), self._deviation(), *self._topology()]

    def collect(self) -> list[GaugeMetricFamily]:
        """The result of the last look."""
        return self._seen

    def _utilisation(self) -> GaugeMetricFamily:
        found = GaugeMetricFamily(
            "dovetail_worker_utilization",
            "Allocated share of capacity: of each node or, beyond 2,000 nodes, of each zone and backend",
            labels=["node", "zone", "backend", "resource"],
        )
        for one in self._usage.nodes(MOST_NODES):
            found.add_metric([one.node, one.zone, one.backend, one.resource], one.share)
        return found

    def _queues(self) -> Iterator[GaugeMetricFamily]:
        used = _of_queues("dovetail_queue_used", "Held by a queue and all below it")
        guaranteed = _of_queues("dovetail_queue_guaranteed", "Guaranteed to a queue")
        borrowed = _of_queues("dovetail_queue_borrowed", "Held by a queue above its guarantee")
        for queue in self._usage.queues():
            _add(used, queue.path, queue.used)
            _add(guaranteed, queue.path, queue.guaranteed)
            _add(borrowed, queue.path, queue.borrowed)
        yield from (used, guaranteed, borrowed)

    def _deviation(self) -> GaugeMetricFamily:
        found = GaugeMetricFamily(
            "dovetail_fair_share_deviation",
            "How far a tenant is from its fair part of what all hold: 0 is just right, 1 twice of it",
            labels=["tenant"],
        )
        for tenant, deviation in self._usage.fair_share_deviation().items():
            found.add_metric([tenant], deviation)
        return found

    def _topology(self) -> Iterator[GaugeMetricFamily]:
        used = GaugeMetricFamily(
            "topology_domain_utilization_ratio",
            "Share of a domain's GPUs, or of its cores where it has none, that is taken or on nodes that take no work",
            labels=["level", "domain"],
        )
        for one in self._usage.domains(MOST_NODES):
            used.add_metric([one.level, one.domain], one.share)
        yield used
        whole = GaugeMetricFamily("topology_gpu_allocation_ratio", "Share of all GPUs that tasks have")
        whole.add_metric([], self._usage.gpu_share())
        yield whole


def _of_queues(name: str, words: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, words, labels=["queue", "resource"])


def _add(family: GaugeMetricFamily, path: str, amounts: Amounts) -> None:
    for resource, amount in sorted(amounts.items()):
        family.add_metric([path, resource], amount / 1000 if resource in (CPU, GPU) else amount)
