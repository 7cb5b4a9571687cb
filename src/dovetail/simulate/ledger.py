"""The record of a simulation: the life of every workload, and the use of resources over time.

It takes the engine's changes once per simulated moment. A workload waits until each of its tasks has had a node once.
Use is what placed tasks requested, as a share of the capacity of online nodes.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from dovetail.model.batch import Changes
from dovetail.model.record import RestoredWorkload
from dovetail.model.resources import SLOTS, Amounts
from dovetail.model.task import TaskId, TaskState, WorkloadState
from dovetail.model.workloads.workload import Workload

SPANS = 128
SHORTEST_RUN_S = 10.0  # as in the literature: a short job that waits a little is not slowed down a thousand times
FIRST_SPAN_S = 1.0


@dataclass(slots=True)
class Timeline:
    """A number over time, from 0 on: the value holds from one `set` to the next. `mean` and `peak` are exact. When the
    run outgrows its spans, neighbours are merged and spans get twice as long, so a run of a minute and one of a year
    both end with at most `SPANS` of them. Timelines that start and end together have the same spans."""

    now: float = 0.0
    value: float = 0.0
    peak: float = 0.0
    span_s: float = FIRST_SPAN_S
    _span_ends: float = FIRST_SPAN_S
    _areas: list[float] = field(default_factory=lambda: [0.0])  # value times seconds, one a span

    def set(self, value: float, now: float) -> None:
        """From `now` on it is `value`. Time does not go back."""
        if value != self.value:
            self.advance(now)
            self.value = value
            self.peak = max(self.peak, value)

    def advance(self, now: float) -> None:
        """Account for the time until `now` at the present value."""
        while now > self._span_ends:
            self._fill(self._span_ends)
            if len(self._areas) == SPANS:
                self._areas = [sum(self._areas[index : index + 2]) for index in range(0, SPANS, 2)]
                self.span_s *= 2
            self._areas.append(0.0)
            self._span_ends = len(self._areas) * self.span_s
        if now > self.now:
            self._fill(now)

    def _fill(self, until: float) -> None:
        self._areas[-1] += self.value * (until - self.now)
        self.now = until

    @property
    def mean(self) -> float:
        return sum(self._areas) / self.now if self.now > 0 else self.value

    def samples(self) -> list[float]:
        """The mean of each span, in order; the last span may not be over."""
        *whole, last = self._areas
        covered_s = self.now - len(whole) * self.span_s
        return [area / self.span_s for area in whole] + [last / covered_s if covered_s > 0 else self.value]


@dataclass(slots=True)
class WorkloadLife:
    """One workload from submission to its end, or to the end of the simulation. Times are virtual seconds."""

    id: int
    namespace: str
    name: str
    kind: str
    priority: str
    replicas: int
    amounts: Amounts  # of one task
    submitted_at: float
    unplaced: int  # tasks that have never had a node
    first_placed_at: float | None = None
    all_placed_at: float | None = None
    finished_at: float | None = None
    state: WorkloadState = WorkloadState.PENDING
    reason: str = ""
    message: str = ""
    attempts: int = 0
    preempted: int = 0  # of its tasks, again and again if need be

    @property
    def wait_s(self) -> float | None:
        return None if self.all_placed_at is None else self.all_placed_at - self.submitted_at

    @property
    def slowdown(self) -> float | None:
        """Bounded: its time in the system by its run time, of at least ten seconds; None where it has not ended."""
        if self.all_placed_at is None or self.finished_at is None or self.wait_s is None:
            return None
        run_s = self.finished_at - self.all_placed_at
        return max(1.0, (self.wait_s + run_s) / max(run_s, SHORTEST_RUN_S))


@dataclass(frozen=True, slots=True)
class RefusedWorkload:
    """A workload that admission refused."""

    namespace: str
    name: str
    at: float
    reason: str
    message: str


@dataclass(slots=True)
class SimulationLedger:
    lives: dict[int, WorkloadLife] = field(default_factory=dict)
    turned_away: list[RefusedWorkload] = field(default_factory=list)
    decisions: int = 0
    preemptions: int = 0  # of tasks
    refusals: Counter[str] = field(default_factory=Counter)  # decisions without a node, by reason
    live: int = 0  # workloads accepted and not finished
    waiting: int = 0  # tasks without a node, of unfinished workloads
    queue: Timeline = field(default_factory=Timeline)
    running: Timeline = field(default_factory=Timeline)
    shares: dict[str, Timeline] = field(default_factory=dict)
    used: dict[str, Counter[str]] = field(default_factory=dict)  # amount times seconds, by tenant and resource
    _held: dict[TaskId, float] = field(default_factory=dict)  # since when
    _allocated: Counter[str] = field(default_factory=Counter)
    _capacity: Mapping[str, int] = field(default_factory=dict)
    _pending: dict[int, int] = field(default_factory=dict)

    @property
    def active(self) -> int:
        """Tasks that hold a node."""
        return len(self._held)

    def pending(self, workload: int) -> int:
        """Its tasks that wait for a node; none of a finished one does."""
        return self._pending.get(workload, 0)

    def submitted(self, id_: int, spec: Workload, now: float) -> None:
        self.lives[id_] = WorkloadLife(
            id=id_,
            namespace=spec.namespace,
            name=spec.name,
            kind=str(spec.kind),
            priority=str(spec.priority),
            replicas=spec.replicas,
            amounts=spec.resources.amounts(),
            submitted_at=now,
            unplaced=spec.replicas,
        )
        self.live += 1
        self.waiting += spec.replicas
        self._pending[id_] = spec.replicas

    def restored(self, workload: RestoredWorkload, spec: Workload, at: float) -> None:
        """A workload of a snapshot that was taken `at`. What happened before is at times below 0."""
        self.submitted(workload.id, spec, workload.submitted_at - at)
        life, pending = self.lives[workload.id], 0
        placed = [task.placed_at - at for task in workload.tasks if task.placed_at is not None]
        for task in workload.tasks:
            pending += task.state is TaskState.PENDING
            if task.attempt or task.state is not TaskState.PENDING:
                life.unplaced -= 1
            if task.state.holds_node:
                self._held[task.task] = 0.0
                for resource, amount in life.amounts.items():
                    self._allocated[resource] += amount
        life.first_placed_at = min(placed, default=None)
        life.all_placed_at = max(placed, default=life.submitted_at) if not life.unplaced else None
        life.state, life.reason, life.message = workload.record.state, workload.record.reason, workload.record.message
        self.waiting += pending - self._pending[workload.id]
        self._pending[workload.id] = pending

    def take(self, changes: Changes, now: float) -> None:
        """What the engine changed at this moment."""
        self.preemptions += changes.preempted
        self._take_decisions(changes, now)
        for task in changes.tasks:
            if task.is_preempted:
                self.lives[task.task.workload].preempted += 1
            if not task.state.holds_node and task.task in self._held:
                self._release(task.task, now)
        for record in changes.workloads:
            life = self.lives[record.id]
            life.state, life.reason, life.message = record.state, record.reason, record.message
            pending = 0 if record.state.finished else record.pending
            self.waiting += pending - self._pending[record.id]
            self._pending[record.id] = pending
            if record.state.finished:
                life.finished_at = now
                self.live -= 1
                del self._pending[record.id]
        self._measure(now)

    def _take_decisions(self, changes: Changes, now: float) -> None:
        for decision in changes.decisions:
            self.decisions += 1
            if decision.node is None:
                self.refusals[str(decision.explanation.outcome)] += 1
                continue
            life = self.lives[decision.task.workload]
            life.attempts += 1
            if decision.attempt == 1:
                life.unplaced -= 1
                if life.first_placed_at is None:
                    life.first_placed_at = now
                if not life.unplaced:
                    life.all_placed_at = now
            if decision.task not in self._held:
                self._held[decision.task] = now
                for resource, amount in life.amounts.items():
                    self._allocated[resource] += amount

    def capacity(self, amounts: Mapping[str, int], now: float) -> None:
        """What online nodes have, whenever that changes."""
        self._capacity = amounts
        for resource, amount in amounts.items():
            if amount and resource not in self.shares:
                self.shares[resource] = Timeline()
        self._measure(now)

    def close(self, now: float) -> None:
        """The end: what still runs is accounted for until now."""
        for task in list(self._held):
            self._release(task, now)
        for timeline in (self.queue, self.running, *self.shares.values()):
            timeline.advance(now)

    def _release(self, task: TaskId, now: float) -> None:
        since = self._held.pop(task)
        life = self.lives[task.workload]
        used = self.used.setdefault(life.namespace, Counter())
        for resource, amount in life.amounts.items():
            self._allocated[resource] -= amount
            if resource != SLOTS:
                used[resource] += round(amount * (now - since))

    def _measure(self, now: float) -> None:
        self.queue.set(self.waiting, now)
        self.running.set(len(self._held), now)
        for resource, timeline in self.shares.items():
            capacity = self._capacity.get(resource, 0)
            timeline.set(self._allocated[resource] / capacity if capacity else 0.0, now)
