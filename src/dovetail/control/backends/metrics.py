"""Health of all backends for Prometheus: calls, their latency, and the state of each backend."""

from collections.abc import Iterator, Mapping
from functools import cache

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.metrics_core import GaugeMetricFamily

from dovetail.backends.contract import SavingBackend
from dovetail.control.backends.breaker import Circuit
from dovetail.control.backends.health import Observe
from dovetail.control.backends.member import Member

_CALLS_S = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 60)


class BackendMetrics:
    """Also a collector: gauges are read when they are scraped."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._calls = Counter(
            "dovetail_backend_calls", "Calls of backends", ["backend", "call", "outcome"], registry=registry
        )
        self._took_s = Histogram(
            "dovetail_backend_call_seconds",
            "How long calls of backends take",
            ["backend", "call"],
            buckets=_CALLS_S,
            registry=registry,
        )
        self._members: Mapping[str, Member] = {}
        registry.register(self)

    def follow(self, members: Mapping[str, Member]) -> None:
        self._members = members

    def observer(self, backend: str) -> Observe:
        # There may be thousands of calls a second: each label set is looked up once.
        calls = cache(lambda call, failed: self._calls.labels(backend, call, "failed" if failed else "succeeded"))
        took = cache(lambda call: self._took_s.labels(backend, call))

        def observe(call: str, took_s: float, failed: bool) -> None:
            calls(call, failed).inc()
            took(call).observe(took_s)

        return observe

    def collect(self) -> Iterator[GaugeMetricFamily]:
        up = GaugeMetricFamily("dovetail_backend_available", "Whether a backend is used: 1 or 0", labels=["backend"])
        states = GaugeMetricFamily(
            "dovetail_backend_state", "1 for the state a backend's breaker is in", labels=["backend", "state"]
        )
        waiting = GaugeMetricFamily(
            "dovetail_backend_commands_waiting", "Commands a backend has not answered for sure", labels=["backend"]
        )
        succeeded = GaugeMetricFamily(
            "dovetail_backend_last_success_timestamp_seconds", "When a call last succeeded", labels=["backend"]
        )
        saved = GaugeMetricFamily(
            "dovetail_backend_saved_kilowatt_hours", "What machines did not use while they were off", labels=["backend"]
        )
        for name, member in list(self._members.items()):
            up.add_metric([name], float(member.state == Circuit.CLOSED))
            states.add_metric([name, member.state], 1.0)
            if member.executor is not None:
                waiting.add_metric([name], member.executor.waiting)
                if isinstance(member.executor.backend, SavingBackend):
                    saved.add_metric([name], member.executor.backend.saved_kwh)
                if member.executor.health.last_success_at is not None:
                    succeeded.add_metric([name], member.executor.health.last_success_at)
        yield from (up, states, waiting, succeeded, saved)

    def forget(self, backend: str) -> None:
        """The backend was removed."""
        for metric in (self._calls, self._took_s):
            metric.remove_by_labels({"backend": backend})
