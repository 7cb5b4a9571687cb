"""Services for Prometheus, all together: their names are users' own."""

from collections.abc import Iterator

from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import GaugeMetricFamily

from dovetail.control.service_controller.book import ServiceBook


class ServiceMetrics:
    """Also a collector: read when it is scraped, not on the thread of the control loop, since the book may wait for
    its disk."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._book: ServiceBook | None = None
        registry.register(self)

    def follow(self, book: ServiceBook) -> None:
        self._book = book

    def collect(self) -> Iterator[GaugeMetricFamily]:
        words = "Services; unsettled ones are being updated, or have fewer ready replicas than they should"
        services = GaugeMetricFamily("dovetail_services", words, labels=["state"])
        words = "Replicas of all services: how many there should be, and how many are ready"
        replicas = GaugeMetricFamily("dovetail_service_replicas", words, labels=["state"])
        if self._book is not None:
            records, unsettled = self._book.records(), self._book.unsettled()
            services.add_metric(["settled"], len(records) - len(unsettled))
            services.add_metric(["unsettled"], len(unsettled))
            replicas.add_metric(["wanted"], sum(one.replicas for one in records.values()))
            replicas.add_metric(["ready"], sum(one.ready for key in records for one in self._book.replicas(key)))
        yield from (services, replicas)
