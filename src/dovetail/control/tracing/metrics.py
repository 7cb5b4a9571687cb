"""Traces for Prometheus."""

from prometheus_client import CollectorRegistry, Counter, Gauge


class TracingMetrics:
    def __init__(self, registry: CollectorRegistry) -> None:
        self.sent = Counter("dovetail_traces_sent", "Traces that the receiver has taken", registry=registry)
        words = "Traces that were given up, because too many wait to be sent"
        self.dropped = Counter("dovetail_traces_dropped", words, registry=registry)
        words = "Tries to send traces that failed; they are sent again"
        self.failures = Counter("dovetail_trace_send_failures", words, registry=registry)
        self.open = Gauge("dovetail_traces_open", "Traced workloads whose trace was not sent yet", registry=registry)
