"""What the recording knows of each task: how long it took to start, how long it ran, and how it ended.

A task that was stopped never showed how long it would have run. It is assumed to run as long as other tasks of its
workload did, else as long as it was seen to run, at least; how often that was needed is counted.
"""

from dataclasses import dataclass, field
from statistics import median

from dovetail.model.command import task_of_key
from dovetail.model.event import NodeHealthChanged, TaskBound, TaskFinished, TaskStarted
from dovetail.model.failure_cause import FailureCause
from dovetail.model.task import TaskId
from dovetail.replaying.day import RecordedDay

START_S = 0.0  # where nothing was seen


@dataclass(frozen=True, slots=True)
class TaskRun:
    """`run_s` None: it runs until the end of the day, and longer."""

    start_s: float
    run_s: float | None
    exit_code: int | None = 0
    reason: str = ""
    cause: FailureCause = FailureCause.UNKNOWN
    assumed: bool = False


@dataclass(slots=True)
class RunFacts:
    """`lost_with`: nodes whose outages ended what ran there, with the times."""

    lost_with: set[tuple[str, float]] = field(default_factory=set)
    _placed: dict[str, tuple[float, str]] = field(default_factory=dict)
    _started: dict[str, float] = field(default_factory=dict)
    _ends: dict[str, tuple[float, TaskFinished]] = field(default_factory=dict)
    _starts_s: list[float] = field(default_factory=list)
    _by_task: dict[TaskId, list[str]] = field(default_factory=dict)
    _whole_s: dict[int, list[float]] = field(default_factory=dict)
    _down: dict[str, float] = field(default_factory=dict)

    @staticmethod
    def of(day: RecordedDay) -> "RunFacts":
        found = RunFacts()
        for restored in day.segments[0].snapshot.workloads:
            for task in restored.tasks:
                if task.started_at is not None and task.node is not None:
                    key = f"{task.task.workload}.{task.task.replica}.{task.attempt}"
                    found._placed[key] = (task.placed_at or task.started_at, task.node)
                    found._started[key] = task.started_at
        for _, step in day.steps():
            for turn in step.turns:
                for event in turn.events:
                    found._hear(event, turn.at)
            for one in step.decisions:
                if one.node is not None:
                    key = f"{one.workload}.{one.replica}.{one.attempt}"
                    found._placed[key] = (step.turns[-1].at, one.node)
        return found

    def _hear(self, event: object, at: float) -> None:
        if isinstance(event, TaskBound | TaskStarted):
            if isinstance(event, TaskStarted) and event.key not in self._started:
                self._started[event.key] = at
                if event.key in self._placed:
                    self._starts_s.append(at - self._placed[event.key][0])
        elif isinstance(event, TaskFinished) and event.key not in self._ends:
            self._ends[event.key] = (at, event)
            self._by_task.setdefault(event.task, []).append(event.key)
            if event.exit_code is not None and event.key in self._started:
                self._whole_s.setdefault(event.task.workload, []).append(at - self._started[event.key])
            node = self._placed.get(event.key, (0.0, ""))[1]
            if event.exit_code is None and node in self._down:
                self.lost_with.add((node, self._down[node]))
        elif isinstance(event, NodeHealthChanged):
            if event.online:
                self._down.pop(event.name, None)
            else:
                self._down[event.name] = at

    def started_at(self, key: str) -> float | None:
        return self._started.get(key)

    def of_attempt(self, key: str, attempt: int) -> TaskRun:
        """For the attempt of that number in another course of events: that of the same number here, if it ended by
        itself, else any of the task's that did."""
        task = task_of_key(key)
        start_s = median(self._starts_s) if self._starts_s else START_S
        if key in self._started and key in self._placed:
            start_s = max(0.0, self._started[key] - self._placed[key][0])
        ended = [one for one in self._by_task.get(task, ()) if self._ends[one][1].exit_code is not None]
        natural = [one for one in ended if one in self._started]
        if natural:
            chosen = natural[min(attempt, len(natural)) - 1]
            at, end = self._ends[chosen]
            return TaskRun(start_s, at - self._started[chosen], end.exit_code, end.reason, end.cause)
        others = self._whole_s.get(task.workload)
        if others:
            return TaskRun(start_s, median(others), assumed=True)
        return TaskRun(start_s, None, assumed=True)
