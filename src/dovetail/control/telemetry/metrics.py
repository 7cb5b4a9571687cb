"""Prometheus metrics of the control plane. Each plane has its own registry, so a process can run several.

Counters and histograms are fed by each durable step. Gauges are read from the engine when metrics are scraped: `look`
must run on the control loop's thread, the result may be rendered on another. Amounts are in cores, bytes, GPUs and
pieces.
"""

from collections import Counter as Counted
from collections.abc import Iterator, Sequence
from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily

from dovetail.engine.questions.questions import Questions
from dovetail.engine.questions.queue_report import QueueReport
from dovetail.model.reason import Outcome
from dovetail.model.record import Batch, Changes, Decision
from dovetail.model.resources import CPU, GPU, SLOTS, Amounts
from dovetail.model.task import TaskId, TaskState

_LATENCIES_S = (0.00001, 0.00003, 0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3)
_WAITS_S = (0.01, 0.1, 1, 10, 60, 300, 1800, 3600, 4 * 3600, 24 * 3600)
#: Why tasks fail, or wait again, although a node was found or should have been.
_NOT_PLACED = frozenset({"timeout", "bind_failed"})
MOST_NODES = 2000  # beyond that, nodes are summed up by zone and backend


class Metrics:
    def __init__(self, questions: Questions) -> None:
        self.registry = CollectorRegistry()
        counter = partial(Counter, registry=self.registry)
        histogram = partial(Histogram, registry=self.registry)
        gauge = partial(Gauge, registry=self.registry)
        self.submitted = counter("dovetail_workloads_submitted", "Workloads accepted")
        self.decisions = counter("dovetail_decisions", "Decisions made", ["outcome"])
        self.finished = counter("dovetail_tasks_finished", "Tasks ended", ["state"])
        self.preemptions = counter("dovetail_preemptions", "Tasks told to give way to more urgent work")
        self.adjustments = counter(
            "dovetail_policy_adjustments",
            "Rules of policies that began or ended to adjust a constraint",
            ["policy", "to"],
        )
        self.failures = counter(
            "dovetail_scheduling_failures",
            "Decisions that found no place, binds that failed, and work not placed in time",
            ["reason"],
        )
        self.decision_s = histogram(
            "dovetail_scheduling_latency_seconds", "Mean time of a decision in each slice", buckets=_LATENCIES_S
        )
        self.topology_s = histogram(
            "topology_scheduler_latency_seconds",
            "Mean time of a decision in each slice in which tasks were arranged by the network",
            buckets=_LATENCIES_S,
        )
        self.topology_decisions = counter(
            "topology_placement_decisions", "Decisions about tasks that are arranged by the network", ["outcome"]
        )
        self.slice_s = histogram("dovetail_slice_seconds", "Time of one turn of the loop", ["part"])
        self.queue_wait_s = histogram(
            "dovetail_queue_wait_seconds", "From submission to placement", ["queue"], buckets=_WAITS_S
        )
        self.recovery_s = histogram(
            "dovetail_recovery_duration_seconds",
            "From losing its node (failed, preempted, evicted) to the next placement of a task",
            buckets=_WAITS_S,
        )
        self.gang_recovery_s = histogram(
            "topology_recovery_duration_seconds", "From a gang's loss of nodes to being whole again", buckets=_WAITS_S
        )
        self.gang_recoveries = counter("topology_recoveries", "Steps in mending broken gangs", ["outcome"])
        self.recovery_moves = counter(
            "topology_recovery_moves", "Tasks moved, though not lost, for gangs to be whole again"
        )
        self.waiting = gauge("dovetail_workloads_waiting", "Workloads with waiting tasks")
        self.nodes = gauge("dovetail_nodes", "Nodes by status", ["status"])
        self.share = gauge("dovetail_allocated_ratio", "Allocated share of online capacity", ["resource"])
        self.plugin_failures = gauge("dovetail_plugin_failures", "Failed plugin calls", ["profile", "plugin"])
        self._questions, self._work = questions, questions.workloads
        self._gauges = Gauges(questions)
        self.registry.register(self._gauges)
        self.decisions_total = 0
        self._lost_at: dict[TaskId, float] = {}  # tasks that had a node and wait for another

    def decided(self, decisions: Sequence[Decision], elapsed_s: float) -> None:
        """The decisions of one slice, at least one, and how long they took."""
        each_s = elapsed_s / len(decisions)
        self.decision_s.observe(each_s)
        # Read now: when the step is durable, some of these workloads may have ended.
        arranged = [one for one in decisions if (shape := self._work.shape(one.task.workload)) and shape.layout]
        if arranged:
            self.topology_s.observe(each_s)
            for outcome, count in Counted([str(d.explanation.outcome) for d in arranged]).items():
                self.topology_decisions.labels(outcome).inc(count)

    def count(self, batch: Batch, now: float) -> None:
        self.submitted.inc(len(batch.submitted))
        self.preemptions.inc(batch.changes.preempted)
        for switch in batch.changes.switches:
            self.adjustments.labels(switch.policy, "on" if switch.on else "off").inc()
        for note in batch.changes.recoveries:
            self.gang_recoveries.labels(note.outcome).inc()
            if note.took_s is not None:
                self.gang_recovery_s.observe(max(0.0, note.took_s))
                self.recovery_moves.inc(note.moved)
        outcomes = Counted([(str(d.explanation.outcome), d.node is None) for d in batch.changes.decisions])
        for (outcome, refused), count in outcomes.items():
            self.decisions.labels(outcome).inc(count)
            if refused and outcome != Outcome.PREEMPTING:  # victims are leaving for it: that is no failure
                self.failures.labels(outcome).inc(count)
        self.decisions_total += len(batch.changes.decisions)
        self._count_tasks(batch.changes)
        self._count_recoveries(batch.changes, now)

    def _count_tasks(self, changes: Changes) -> None:
        for (state, reason), count in Counted([(task.state, task.reason) for task in changes.tasks]).items():
            if state.finished:
                self.finished.labels(str(state)).inc(count)
            if reason in _NOT_PLACED and state in (TaskState.FAILED, TaskState.PENDING):
                self.failures.labels(reason).inc(count)

    def _count_recoveries(self, changes: Changes, now: float) -> None:
        for task in changes.tasks:
            if task.state is TaskState.PENDING:
                if task.attempt:
                    self._lost_at.setdefault(task.task, now)
                continue
            lost_at = self._lost_at.pop(task.task, None) if self._lost_at else None
            if lost_at is not None and task.placed_at is not None:
                self.recovery_s.observe(max(0.0, task.placed_at - lost_at))

    def look(self) -> None:
        """Read the gauges from the engine; between two looks they are not updated."""
        questions = self._questions
        self._gauges.look()
        self.waiting.set(questions.queues.waiting)
        self.nodes.clear()
        for status, count in questions.gauges.status_counts().items():
            self.nodes.labels(status).set(count)
        for resource, (allocated, capacity) in questions.gauges.totals().items():
            self.share.labels(resource).set(allocated / capacity if capacity else 0.0)
        for profile, plugin, count in questions.explanations.plugin_failures():
            self.plugin_failures.labels(profile, plugin).set(count)

    def text(self) -> bytes:
        """All metrics, gauges as of the last look. Slow for thousands of nodes; may run on a thread."""
        return generate_latest(self.registry)


class Gauges:
    """Gauges of nodes, queues and domains: a collector for a Prometheus registry. Each `look` starts empty, so what is
    gone is no longer reported."""

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
