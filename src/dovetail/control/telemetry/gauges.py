"""Gauges that are read from the engine when metrics are scraped: use of nodes, queues and domains, and fairness.

Guarantees: each `look` starts empty, so what is gone is no longer reported. `look` reads the engine and must run on the
control loop's thread; the result may be rendered on another. Amounts are in cores, bytes, GPUs and pieces.
"""

from collections.abc import Iterator

from prometheus_client.metrics_core import GaugeMetricFamily

from dovetail.engine.questions.questions import Questions
from dovetail.engine.questions.queue_questions import QueueReport
from dovetail.model.resources import CPU, GPU, SLOTS, Amounts

MOST_NODES = 2000


class Gauges:
    """A collector for a Prometheus registry."""

    def __init__(self, questions: Questions) -> None:
        self._usage, self._queues = questions.gauges, questions.queues
        self._seen: list[GaugeMetricFamily] = []

    def look(self) -> None:
        capacity = {resource: whole for resource, (_, whole) in self._usage.totals().items()}
        report = self._queues.report(capacity)
        self._seen = [self._utilisation(), *_of_queues(report), _deviation(report), *self._topology()]

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


def _of_queues(report: QueueReport) -> Iterator[GaugeMetricFamily]:
    used = _queue_gauge("dovetail_queue_used", "Held by a queue and all below it")
    guaranteed = _queue_gauge("dovetail_queue_guaranteed", "Guaranteed to a queue")
    borrowed = _queue_gauge("dovetail_queue_borrowed", "Held by a queue above its guarantee")
    hidden = {SLOTS} - report.shared_out  # every task takes one: of interest only where queues share them
    for use in report.queues:
        path = use.queue.path
        _add(used, path, {name: amount for name, amount in use.used.items() if name not in hidden})
        _add(guaranteed, path, use.queue.guaranteed)
        _add(borrowed, path, use.borrowed)
    yield from (used, guaranteed, borrowed)


def _deviation(report: QueueReport) -> GaugeMetricFamily:
    found = GaugeMetricFamily(
        "dovetail_fair_share_deviation",
        "How far a tenant is from its fair part of what all hold: 0 is just right, 1 twice of it",
        labels=["tenant"],
    )
    for one in report.tenants:
        found.add_metric([one.tenant], one.deviation)
    return found


def _queue_gauge(name: str, words: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, words, labels=["queue", "resource"])


def _add(family: GaugeMetricFamily, path: str, amounts: Amounts) -> None:
    for resource, amount in sorted(amounts.items()):
        family.add_metric([path, resource], amount / 1000 if resource in (CPU, GPU) else amount)
