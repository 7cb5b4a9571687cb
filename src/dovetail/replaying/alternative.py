"""A recorded day as another profile would have decided it: the same arrivals and the same events of nodes.

What came from outside is heard at its recorded time: submissions, cancellations, nodes that joined, failed and were
drained, policies, reservations. What followed from decisions is made anew: a task that is bound starts after the time
it took in the recording, and runs as long as it ran there, wherever it is placed. Tasks on a node that fails are lost
if they were lost in the recording.

Guarantees: deterministic; the same recording and profile give the same answer.
Left out: that a task may run faster or slower on another node, and that people would have acted otherwise.
"""

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count

from dovetail.engine.settings import EngineSettings
from dovetail.model.command import Bind, Command, Move, Stop, Wake, attempt_key
from dovetail.model.event import (
    BindFailed,
    Event,
    MoveRefused,
    NodeHealthChanged,
    TaskBound,
    TaskFinished,
    TaskMoved,
    TaskStarted,
    TaskWaiting,
    Tick,
)
from dovetail.model.record import Decision
from dovetail.model.task import TaskState
from dovetail.replaying.day import RecordedDay
from dovetail.replaying.observed_engine import ObservedEngine
from dovetail.replaying.run_facts import RunFacts
from dovetail.simulate.outcome import SimulationOutcome

DECISIONS_A_TICK = 4096

#: What backends report of tasks; it follows from decisions.
REPORTS = (TaskBound, TaskStarted, TaskWaiting, TaskFinished, TaskMoved, MoveRefused, BindFailed, Tick)

Progress = Callable[[float], None]


@dataclass(slots=True)
class Alternative:
    """`assumed`: placements whose run time was not seen in the recording."""

    decisions: list[Decision]
    outcome: SimulationOutcome
    assumed: int


@dataclass(slots=True)
class _Running:
    node: str
    bind: Bind


@dataclass(slots=True)
class _Play:
    engine: ObservedEngine
    facts: RunFacts
    agenda: list[tuple[float, int, Event]] = field(default_factory=list)
    running: dict[str, _Running] = field(default_factory=dict)
    assumed: int = 0
    _order: "count[int]" = field(default_factory=count)

    def plan(self, at: float, event: Event) -> None:
        heapq.heappush(self.agenda, (at, next(self._order), event))

    def carry_out(self, commands: list[Command], now: float) -> None:
        for command in commands:
            if isinstance(command, Bind):
                self._bind(command, now)
            elif isinstance(command, Move) and command.live and command.key in self.running:
                self.running[command.key].node = command.target
                self.plan(now, TaskMoved(command.task, command.key, command.target))
            elif isinstance(command, Stop):
                self._stop(command, now)
            elif isinstance(command, Wake):
                self.plan(max(command.at, now), Tick(DECISIONS_A_TICK))

    def _bind(self, command: Bind, now: float) -> None:
        run = self.facts.of_attempt(command.key, int(command.key.rpartition(".")[2]))
        self.assumed += run.assumed
        self.running[command.key] = _Running(command.node, command)
        self.plan(now, TaskBound(command.task, command.key))
        self.plan(now + run.start_s, TaskStarted(command.task, command.key))
        if run.run_s is not None:
            self.plan(
                now + run.start_s + run.run_s,
                TaskFinished(command.task, command.key, run.exit_code, run.reason, run.cause),
            )

    def _stop(self, command: Stop, now: float) -> None:
        """At once: how long it takes to stop was not recorded for what was not stopped."""
        self.running.pop(command.key, None)
        self.plan(now, TaskFinished(command.task, command.key, None, command.reason))

    def is_stale(self, event: Event) -> bool:
        """A report of an attempt that is over."""
        if isinstance(event, TaskFinished):
            return event.exit_code is not None and event.key not in self.running
        return isinstance(event, TaskStarted | TaskBound) and event.key not in self.running

    def after(self, event: Event, now: float) -> None:
        """What follows in the world from an event."""
        if isinstance(event, TaskFinished):
            self.running.pop(event.key, None)
        elif isinstance(event, NodeHealthChanged) and not event.online and (event.name, now) in self.facts.lost_with:
            for key in [key for key, one in self.running.items() if one.node == event.name]:
                task = self.running.pop(key).bind.task
                self.plan(now, TaskFinished(task, key, None, f"its node {event.name} failed"))


def play_alternative(
    day: RecordedDay, settings: EngineSettings, facts: RunFacts, progress: Progress | None = None
) -> Alternative:
    """The whole day with these settings."""
    engine = ObservedEngine(settings, day.segments[0].snapshot, day.specs(), day.begins)
    play = _Play(engine, facts)
    _take_over(play, day)
    for _, step in day.steps():
        for turn in step.turns:
            for event in turn.events:
                if not isinstance(event, REPORTS):
                    play.plan(turn.at, event)
    play.plan(day.begins, Tick(DECISIONS_A_TICK))
    while play.agenda and play.agenda[0][0] <= day.ends:
        now = play.agenda[0][0]
        while play.agenda and play.agenda[0][0] <= now:
            event = heapq.heappop(play.agenda)[2]
            if not play.is_stale(event):
                play.carry_out(engine.handle(event, now), now)
                play.after(event, now)
        while engine.engine.busy:
            play.carry_out(engine.handle(Tick(DECISIONS_A_TICK), now), now)
        engine.settle(now)
        if progress is not None:
            progress(now)
    return Alternative(engine.decisions, engine.close(day.ends), play.assumed)


def _take_over(play: _Play, day: RecordedDay) -> None:
    """What runs when the day begins ends when it did in the recording."""
    for workload in day.segments[0].snapshot.workloads:
        for task in workload.tasks:
            if not task.state.holds_node or task.node is None:
                continue
            key = attempt_key(task.task, task.attempt)
            run = play.facts.of_attempt(key, task.attempt)
            play.assumed += run.assumed
            bind = Bind(task.task, task.node, task.backend or "", key)
            play.running[key] = _Running(task.node, bind)
            if task.state is TaskState.STOPPING:
                play.plan(day.begins, TaskFinished(task.task, key, None, task.reason))
                continue
            begun = task.started_at
            if begun is None:
                play.plan(day.begins, TaskBound(task.task, key))
                play.plan(day.begins, TaskStarted(task.task, key))
                begun = day.begins
            if run.run_s is not None:
                end = TaskFinished(task.task, key, run.exit_code, run.reason, run.cause)
                play.plan(max(day.begins, begun + run.run_s), end)
