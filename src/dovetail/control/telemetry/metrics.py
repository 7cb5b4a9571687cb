"""Prometheus metrics of the control plane. Each plane has its own registry, so a process can run several.

Counters and histograms are fed by each durable step; gauges are read when metrics are scraped (`gauges`).
"""

from collections import Counter as Counted
from collections.abc import Sequence
from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from dovetail.control.telemetry.gauges import Gauges
from dovetail.engine.questions.questions import Questions
from dovetail.model.reason import Outcome
from dovetail.model.record import Batch, Changes, Decision
from dovetail.model.task import TaskId, TaskState

_LATENCIES_S = (0.00001, 0.00003, 0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3)
_WAITS_S = (0.01, 0.1, 1, 10, 60, 300, 1800, 3600, 4 * 3600, 24 * 3600)
#: Why tasks fail, or wait again, although a node was found or should have been.
_NOT_PLACED = frozenset({"timeout", "bind_failed"})


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
        self._work = questions.workloads
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

    def look(self, questions: Questions) -> None:
        """Read the gauges from the engine; between two looks they are not updated."""
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
