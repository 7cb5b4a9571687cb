"""Prometheus metrics of the control plane. One registry a plane, so that tests can run several."""

from collections import Counter as Counted

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from dovetail.engine.questions import Questions
from dovetail.model.record import Batch

_LATENCIES_S = (0.00001, 0.00003, 0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3)
_WAITS_S = (0.01, 0.1, 1, 10, 60, 300, 1800, 3600, 4 * 3600, 24 * 3600)


class Metrics:
    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.submitted = Counter("dovetail_workloads_submitted", "Workloads accepted", registry=self.registry)
        self.decisions = Counter("dovetail_decisions", "Decisions made", ["outcome"], registry=self.registry)
        self.finished = Counter("dovetail_tasks_finished", "Tasks ended", ["state"], registry=self.registry)
        self.decision_s = Histogram(
            "dovetail_scheduling_latency_seconds",
            "Mean time of a decision in each slice",
            buckets=_LATENCIES_S,
            registry=self.registry,
        )
        self.slice_s = Histogram(
            "dovetail_slice_seconds", "Time of one turn of the loop", ["part"], registry=self.registry
        )
        self.queue_wait_s = Histogram(
            "dovetail_queue_wait_seconds", "From submission to placement", buckets=_WAITS_S, registry=self.registry
        )
        self.waiting = Gauge("dovetail_workloads_waiting", "Workloads with waiting tasks", registry=self.registry)
        self.nodes = Gauge("dovetail_nodes", "Nodes by status", ["status"], registry=self.registry)
        self.share = Gauge(
            "dovetail_allocated_ratio", "Allocated share of online capacity", ["resource"], registry=self.registry
        )
        self.plugin_failures = Gauge(
            "dovetail_plugin_failures", "Failed plugin calls", ["profile", "plugin"], registry=self.registry
        )
        self.decisions_total = 0

    def count(self, batch: Batch) -> None:
        self.submitted.inc(len(batch.submitted))
        outcomes = Counted([str(decision.explanation.outcome) for decision in batch.changes.decisions])
        for outcome, count in outcomes.items():
            self.decisions.labels(outcome).inc(count)
        self.decisions_total += len(batch.changes.decisions)
        for state, count in Counted([task.state for task in batch.changes.tasks]).items():
            if state.finished:
                self.finished.labels(str(state)).inc(count)

    def render(self, questions: Questions) -> bytes:
        """Gauges are read off the engine when asked for, not kept up to date in between."""
        self.waiting.set(questions.waiting)
        self.nodes.clear()
        for status, count in questions.status_counts().items():
            self.nodes.labels(status).set(count)
        for resource, (allocated, capacity) in questions.totals().items():
            self.share.labels(resource).set(allocated / capacity if capacity else 0.0)
        for profile, plugin, count in questions.plugin_failures():
            self.plugin_failures.labels(profile, plugin).set(count)
        return generate_latest(self.registry)
