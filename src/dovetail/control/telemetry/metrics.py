"""Prometheus metrics of the control plane. Each plane has its own registry, so a process can run several.

Counters and histograms are fed by each durable step. Gauges are read from the engine when metrics are scraped: `look`
must run on the control loop's thread, the result may be rendered on another. Amounts are in cores, bytes, GPUs and
pieces.

Guarantees: no label holds the name of a workload, and the number of series is bounded whatever users submit. Where
names are users' own (namespaces, policies, kinds of resources), the largest or the first have a series each.
"""

from collections import Counter as Counted
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from heapq import nlargest

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric

import dovetail
from dovetail.control.telemetry.decision_times import DecisionTimes
from dovetail.engine.questions.questions import Questions
from dovetail.engine.questions.queue_questions import QueueReport
from dovetail.engine.questions.usage_gauges import UsageGauges
from dovetail.model.batch import Batch, Changes
from dovetail.model.reason import Outcome
from dovetail.model.record import Decision
from dovetail.model.resources import CORE_RESOURCES, CPU, GPU, SLOTS, Amounts
from dovetail.model.task import TaskId, TaskState

_LATENCIES_S = (0.00001, 0.00003, 0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3)
_WAITS_S = (0.01, 0.1, 1, 10, 60, 300, 1800, 3600, 4 * 3600, 24 * 3600)
#: Why tasks fail, or wait again, although a node was found or should have been.
_NOT_PLACED = frozenset({"timeout", "bind_failed"})
#: Why an attempt ended that failed and is repeated.
_FAILED = frozenset({"failed", "restarted", "bind_failed", "crash_loop"})
MOST_NODES = 2000  # beyond that, nodes are summed up by zone and backend
MOST_TENANTS = 100  # those that hold most
MOST_POLICIES = 100  # that have a series; the others are counted as one
MOST_RESOURCES = 16  # beside the usual ones: a node may announce what it likes
OTHERS = "(others)"  # no policy can be called that


class Metrics:
    def __init__(self, questions: Questions) -> None:
        self.registry = CollectorRegistry()
        counter = partial(Counter, registry=self.registry)
        histogram = partial(Histogram, registry=self.registry)
        gauge = partial(Gauge, registry=self.registry)
        self.submitted = counter("dovetail_workloads_submitted", "Workloads accepted")
        self.decisions = counter("dovetail_decisions", "Decisions made", ["outcome"])
        self.finished = counter("dovetail_tasks_finished", "Tasks ended", ["state"])
        self.preemptions = counter("dovetail_preemptions", "Tasks preempted for more urgent work")
        self.quarantines = counter("dovetail_quarantines", "Nodes put in quarantine because placements failed there")
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
        self.start_s = histogram(
            "dovetail_task_start_seconds",
            "From the placement of a task to the report of its backend that it runs",
            ["backend"],
            buckets=_WAITS_S,
        )
        self.slice_s = histogram("dovetail_slice_seconds", "Time of one turn of the loop", ["part"])
        self.queue_wait_s = histogram(
            "dovetail_queue_wait_seconds", "From submission to placement", ["queue"], buckets=_WAITS_S
        )
        for path in questions.queues.paths:
            self.queue_wait_s.labels(path)  # from 0 on: Prometheus does not see the first step of a series that is new
        self.recovery_s = histogram(
            "dovetail_recovery_duration_seconds",
            "From losing its node (failed, preempted, evicted) to the next placement of a task",
            buckets=_WAITS_S,
        )
        self.gang_recovery_s = histogram(
            "topology_recovery_duration_seconds", "From a gang's loss of nodes to being whole again", buckets=_WAITS_S
        )
        self.gang_recoveries = counter("topology_recoveries", "Steps in the recovery of broken gangs", ["outcome"])
        self.recovery_moves = counter(
            "topology_recovery_moves", "Tasks moved, though not lost, for gangs to be whole again"
        )
        self.waiting = gauge("dovetail_workloads_waiting", "Workloads with waiting tasks")
        self.nodes = gauge("dovetail_nodes", "Nodes by status", ["status"])
        self.share = gauge("dovetail_allocated_ratio", "Allocated share of online capacity", ["resource"])
        gauge("dovetail_build_info", "1 for the version of the server", ["version"]).labels(dovetail.__version__).set(1)
        ProcessCollector(registry=self.registry)
        self._questions, self._work = questions, questions.workloads
        self._families: list[Metric] = []
        self._lookers: list[Callable[[], Iterable[Metric]]] = []
        self._policies: set[str] = set()  # that have a series of their own
        self._starting: set[tuple[TaskId, int]] = set()  # attempts that were placed and do not run yet
        self.registry.register(self)
        self.decisions_total = 0
        self.failures_total = 0  # attempts that failed, whether they are repeated or not
        self.times = DecisionTimes()
        self._lost_at: dict[TaskId, float] = {}  # tasks that had a node and wait for another

    def follow(self, looker: Callable[[], Iterable[Metric]]) -> None:
        """Gauges of others, which are read at each look, on the thread of the control loop."""
        self._lookers.append(looker)

    def decided(self, decisions: Sequence[Decision], elapsed_s: float) -> None:
        """The decisions of one slice, at least one, and how long they took."""
        each_s = elapsed_s / len(decisions)
        self.decision_s.observe(each_s)
        self.times.note(decisions[0].at, each_s, len(decisions))
        # Read now: when the step is durable, some of these workloads may have ended.
        arranged = [one for one in decisions if (shape := self._work.shape(one.task.workload)) and shape.layout]
        if arranged:
            self.topology_s.observe(each_s)
            for outcome, count in Counted([str(d.explanation.outcome) for d in arranged]).items():
                self.topology_decisions.labels(outcome).inc(count)

    def count(self, batch: Batch, now: float) -> None:
        self.submitted.inc(len(batch.submitted))
        self.preemptions.inc(batch.changes.preempted)
        self.quarantines.inc(batch.changes.quarantined)
        for switch in batch.changes.switches:
            if len(self._policies) < MOST_POLICIES:
                self._policies.add(switch.policy)
            policy = switch.policy if switch.policy in self._policies else OTHERS
            self.adjustments.labels(policy, "on" if switch.on else "off").inc()
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
        self._count_starts(batch.changes)

    def _count_tasks(self, changes: Changes) -> None:
        self.failures_total += sum(one.reason in _FAILED for one in changes.attempts)
        ended = Counted([(task.state, task.reason) for task in changes.tasks])
        for one in changes.ended_together:
            ended[one.state, one.reason] += one.tasks
        for (state, reason), count in ended.items():
            if state.finished:
                self.finished.labels(str(state)).inc(count)
                self.failures_total += count if state is TaskState.FAILED else 0
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

    def _count_starts(self, changes: Changes) -> None:
        for task in changes.tasks:
            attempt = task.task, task.attempt
            if task.state in (TaskState.PLACED, TaskState.BOUND):
                self._starting.add(attempt)
            elif attempt in self._starting:
                self._starting.discard(attempt)
                if task.started_at is not None and task.placed_at is not None and task.backend is not None:
                    self.start_s.labels(task.backend).observe(max(0.0, task.started_at - task.placed_at))

    def look(self) -> None:
        """Read the gauges from the engine; between two looks they are not updated."""
        questions, totals = self._questions, self._questions.gauges.totals()
        self.waiting.set(questions.queues.waiting)
        self.nodes.clear()
        for status, count in questions.gauges.status_counts().items():
            self.nodes.labels(status).set(count)
        shown = _shown(totals)
        for resource, (allocated, capacity) in totals.items():
            if resource not in shown:
                continue
            self.share.labels(resource).set(allocated / capacity if capacity else 0.0)
        failures = CounterMetricFamily("dovetail_plugin_failures", "Failed plugin calls", labels=["profile", "plugin"])
        for profile, plugin, count in questions.explanations.plugin_failures():
            failures.add_metric([profile, plugin], count)
        report = questions.queues.report({resource: capacity for resource, (_, capacity) in totals.items()})
        self._families = [failures, *_use_families(questions.gauges, shown), *_queue_families(report, shown)]
        for looker in self._lookers:
            self._families += looker()

    def collect(self) -> list[Metric]:
        """Those gauges that are made anew at each look, so that what is gone is no longer reported."""
        return self._families

    def text(self) -> bytes:
        """All metrics, gauges as of the last look. Slow for thousands of nodes; may run on a thread."""
        return generate_latest(self.registry)


def _shown(resources: Iterable[str]) -> frozenset[str]:
    """The kinds of resources that have series: the usual ones, and the first of the others by name."""
    others = sorted(set(resources) - set(CORE_RESOURCES))
    return frozenset([*CORE_RESOURCES, *others[:MOST_RESOURCES]])


def _use_families(usage: UsageGauges, resources: frozenset[str]) -> Iterator[GaugeMetricFamily]:
    yield family(
        "dovetail_worker_utilization",
        "Allocated share of capacity: of each node or, beyond 2,000 nodes, of each zone and backend",
        ["node", "zone", "backend", "resource"],
        [
            ([one.node, one.zone, one.backend, one.resource], one.share)
            for one in usage.nodes(MOST_NODES)
            if one.resource in resources
        ],
    )
    yield family(
        "topology_domain_utilization_ratio",
        "Share of a domain's GPUs, or of its cores where it has none, that is taken or on nodes that take no work",
        ["level", "domain"],
        [([one.level, one.domain], one.share) for one in usage.domains(MOST_NODES)],
    )
    yield family("topology_gpu_allocation_ratio", "Share of all GPUs that tasks have", [], [([], usage.gpu_share())])


def _queue_families(report: QueueReport, resources: frozenset[str]) -> Iterator[GaugeMetricFamily]:
    # Every task takes one slot: of interest only where queues share them.
    shown = resources - ({SLOTS} - report.shared_out)
    used = {use.queue.path: {k: v for k, v in use.used.items() if k in shown} for use in report.queues}
    yield _amounts("dovetail_queue_used", "Held by a queue and all below it", used)
    guaranteed = {use.queue.path: use.queue.guaranteed for use in report.queues}
    yield _amounts("dovetail_queue_guaranteed", "Guaranteed to a queue", guaranteed)
    borrowed = {use.queue.path: {k: v for k, v in use.borrowed.items() if k in resources} for use in report.queues}
    yield _amounts("dovetail_queue_borrowed", "Held by a queue above its guarantee", borrowed)
    yield family(
        "dovetail_fair_share_deviation",
        "How far a tenant is from its fair part of what all hold: 0 is just right, 1 twice of it; the 100 largest",
        ["tenant"],
        [([one.tenant], one.deviation) for one in nlargest(MOST_TENANTS, report.tenants, key=lambda one: one.share)],
    )


def _amounts(name: str, words: str, by_queue: Mapping[str, Amounts]) -> GaugeMetricFamily:
    values = [
        ([path, resource], amount / 1000 if resource in (CPU, GPU) else amount)
        for path, amounts in by_queue.items()
        for resource, amount in sorted(amounts.items())
    ]
    return family(name, words, ["queue", "resource"], values)


def family(name: str, words: str, labels: list[str], values: Iterable[tuple[list[str], float]]) -> GaugeMetricFamily:
    found = GaugeMetricFamily(name, words, labels=labels)
    for labelled, value in values:
        found.add_metric(labelled, value)
    return found
