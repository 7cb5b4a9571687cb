"""What is measured while a simulation runs, beside what its ledger counts: GPU fragmentation and traffic times.

Fragmentation is looked at about a hundred times over the run, however long it is. A gang's traffic time is estimated
whenever all its tasks have a node.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from dovetail.engine.questions.questions import Questions
from dovetail.model.batch import Changes
from dovetail.model.workloads.workload import Workload
from dovetail.simulate.ledger import Timeline

LOOKS = 100
LEAST_BETWEEN_S = 30.0


@dataclass(frozen=True, slots=True)
class TrafficTimes:
    """Of gangs that span several nodes of a known network: an all-reduce of 1 GiB a rank, on average, and how many
    times as long that is as on the best possible nodes."""

    gangs: int
    all_reduce_s: float
    times_best: float


@dataclass(frozen=True, slots=True)
class MeasuredCourse:
    """`fragmentation`: of all GPUs, the share that is free and of no use to typical work; None without GPUs."""

    fragmentation: Timeline | None
    traffic: TrafficTimes | None


class SimulationGauges:
    def __init__(self, questions: Questions) -> None:
        self._questions = questions
        self._fragments: Timeline | None = None
        self._next_look = 0.0
        self._gangs = 0
        self._all_reduce_s = self._times_best = 0.0

    def look(self, changes: Changes, specs: Mapping[int, Workload], now: float) -> None:
        if now >= self._next_look:
            self._next_look = now + max(LEAST_BETWEEN_S, now / LOOKS)
            self._look_at_fragments(now)
        placed = {decision.task.workload for decision in changes.decisions if decision.node is not None}
        for record in changes.workloads:
            spec = specs.get(record.id)
            if record.id in placed and not record.pending and record.active > 1 and _is_gang(spec):
                self._estimate(record.id)

    def close(self, now: float) -> MeasuredCourse:
        if self._fragments is not None:
            self._fragments.advance(now)
        gangs = self._gangs
        traffic = TrafficTimes(gangs, self._all_reduce_s / gangs, self._times_best / gangs) if gangs else None
        return MeasuredCourse(self._fragments, traffic)

    def _look_at_fragments(self, now: float) -> None:
        cluster = self._questions.gauges.fragmentation().domains[0]
        if cluster.gpus:
            self._fragments = self._fragments or Timeline()
            self._fragments.set(cluster.unusable / cluster.gpus, now)

    def _estimate(self, workload: int) -> None:
        nodes = [task.node for task in self._questions.workloads.held_by(workload)]
        found = self._questions.plans.communication_between(nodes)
        if found is not None:
            self._gangs += 1
            self._all_reduce_s += found.all_reduce.seconds
            self._times_best += found.all_reduce.times_best


def _is_gang(spec: Workload | None) -> bool:
    return spec is not None and (spec.gang is not None or spec.topology is not None)
