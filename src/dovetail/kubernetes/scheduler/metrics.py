"""Metrics and probes of the scheduler: `/metrics`, `/healthz` and `/readyz`.

A thread of its own serves them, so answers come while the scheduler decides; it only reads. A running scheduler is
healthy; one that knows its cluster and decides is ready. Of several replicas only the leader is ready.
"""

import logging
from collections.abc import Callable, Iterable, Iterator
from ssl import SSLContext
from threading import Thread
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

from prometheus_client import CollectorRegistry, Histogram, make_wsgi_app
from prometheus_client.exposition import ThreadingWSGIServer
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric

from dovetail.access.tokens import digest_of, is_same
from dovetail.kubernetes.scheduler.scheduler import DECIDED, ERROR, UNSCHEDULABLE, PodScheduler

_log = logging.getLogger(__name__)

#: As kube-scheduler's, from a tenth of a millisecond on.
ATTEMPT_S = tuple(0.0001 * 2**i for i in range(17))
QUEUES = ("active", "backoff", "unschedulable", "gated")
BINDING_S = (0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30)
_PLAIN = [("Content-Type", "text/plain; charset=utf-8")]


class SchedulerMetrics:
    """A collector: reads the current values when it is scraped."""

    def __init__(self, registry: CollectorRegistry, scheduler: PodScheduler) -> None:
        self._scheduler = scheduler
        took_s = Histogram(
            "dovetail_kubernetes_binding_seconds",
            "From a decision to the API server's answer",
            buckets=BINDING_S,
            registry=registry,
        )
        scheduler.took_s = took_s.observe
        attempts = Histogram(
            "dovetail_kubernetes_scheduling_attempt_duration_seconds",
            "How long a decision about a pod takes; of decisions that were made together, the mean",
            ["result"],
            buckets=ATTEMPT_S,
            registry=registry,
        )
        by_result = {result: attempts.labels(result) for result in (DECIDED, UNSCHEDULABLE)}
        scheduler.decided = lambda result, took_s: by_result[result].observe(took_s)
        registry.register(self)

    def collect(self) -> Iterator[Metric]:
        found = self._scheduler
        known = list(found.tracker.by_id.values())
        gauges: list[tuple[str, str, float]] = [
            ("nodes", "Nodes that are followed", len(found.informer.questions.nodes)),
            ("pods", "Pods that count: on a node, or waiting for one", len(known)),
            ("pods_waiting", "Pods of ours without a node", sum(1 for one in known if one.waits)),
            ("pods_held", "Pods of ours that cannot be placed as they are written", len(found.tracker.held)),
            ("orders_under_way", "Bindings and deletions without an answer yet", found.binder.under_way),
            ("ready", "1 while it knows its cluster and decides", float(found.ready)),
            ("drift", "Differences from the API that the last audit found", len(found.auditor.last)),
        ]
        counters: list[tuple[str, str, float]] = [
            ("bound", "Pods that were bound", found.bound),
            ("not_bound", "Bindings that failed; their pods are pending again", found.not_bound),
            ("evicted", "Pods that were preempted", found.evicted),
            ("audits", "How often everything was compared with the API", found.auditor.audits),
            ("watches_interrupted", "Watches that were interrupted and resumed", found.informer.troubles),
            ("events_dropped", "Events that could not be written", found.recorder.dropped),
        ]
        for name, words, value in gauges:
            yield GaugeMetricFamily(f"dovetail_kubernetes_{name}", words, value)
        for name, words, value in counters:
            yield CounterMetricFamily(f"dovetail_kubernetes_{name}", words, value)
        words = "Attempts to schedule a pod: scheduled (bound), unschedulable (no node fits), error (not bound)"
        attempts = CounterMetricFamily("dovetail_kubernetes_schedule_attempts", words, labels=["result"])
        for result in (DECIDED, UNSCHEDULABLE, ERROR):
            attempts.add_metric([result], found.attempts[result])
        yield attempts
        words = "Pods of ours without a node: to be tried (active), after a failed binding (backoff), parked because "
        words += "nothing fits (unschedulable), not ready to be placed (gated)"
        pending = GaugeMetricFamily("dovetail_kubernetes_pending_pods", words, labels=["queue"])
        counts = found.pending_pods()
        for queue in QUEUES:
            pending.add_metric([queue], counts[queue])
        yield pending


class _Quiet(WSGIRequestHandler):
    timeout = 10  # a silent client is not waited for

    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002 - named so by its base
        _log.debug(format, *arguments)


def serve_metrics(
    scheduler: PodScheduler, host: str, port: int, token: str | None = None, tls: SSLContext | None = None
) -> int:
    """Serves until the process ends; returns the port. `token`: who asks for /metrics has to send it; probes tell up or
    down to everybody. Raises OSError if it cannot listen."""
    registry = CollectorRegistry()
    SchedulerMetrics(registry, scheduler)
    metrics = make_wsgi_app(registry)

    def app(environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        path = environ.get("PATH_INFO", "")
        if path == "/metrics" and not _may_read(environ.get("HTTP_AUTHORIZATION", ""), token):
            start("401 Unauthorized", [*_PLAIN, ("WWW-Authenticate", "Bearer")])
            return [b"send the token of --token-file: Authorization: Bearer TOKEN\n"]
        if path == "/metrics":
            found: Iterable[bytes] = metrics(environ, start)
            return found
        if path == "/healthz":
            start("200 OK", _PLAIN)
            return [b"ok\n"]
        if path == "/readyz":
            start("200 OK" if scheduler.ready else "503 Service Unavailable", _PLAIN)
            return [b"ok\n" if scheduler.ready else b"does not decide: another leads, or it does not know all yet\n"]
        start("404 Not Found", _PLAIN)
        return [b"there are /metrics, /healthz and /readyz\n"]

    server = make_server(host, port, app, server_class=ThreadingWSGIServer, handler_class=_Quiet)
    if tls is not None:  # the thread of a request shakes hands, so that a silent client keeps nobody else waiting
        server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    Thread(target=server.serve_forever, name="metrics", daemon=True).start()
    return server.server_port


def _may_read(authorization: str, token: str | None) -> bool:
    given = authorization.partition(" ")[2].strip()
    return token is None or is_same(digest_of(token), digest_of(given))
