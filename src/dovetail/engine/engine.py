"""`Engine.handle(event, now) -> commands`: the tables of event and timer handlers."""

from collections.abc import Callable, Sequence
from typing import Any

from dovetail.engine.events import external_work, node_loss, nodes, tasks, topology, workloads
from dovetail.engine.lifecycle import moving
from dovetail.engine.lifecycle.quarantine import probe
from dovetail.engine.lifecycle.task_lifecycle import release_dependents
from dovetail.engine.policies.policy_changes import policy_removed, policy_set, schedule_rule_check
from dovetail.engine.recovery.recovery import after_event, is_due, recovery_due, run_recovery
from dovetail.engine.reservations import reservations
from dovetail.engine.restore import restore
from dovetail.engine.scheduling.schedule import has_waiting, schedule
from dovetail.engine.settings import EngineSettings
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.terms import terms_json
from dovetail.engine.state.timers import TimerKind
from dovetail.model.command import Command
from dovetail.model.event import (
    BackendHealthChanged,
    BindFailed,
    CancelAsked,
    DisruptionBudgetsSet,
    DistancesCleared,
    DistancesSet,
    DomainFailed,
    Event,
    MoveAsked,
    NodeCordoned,
    NodeDrained,
    NodeHealthChanged,
    NodeJoined,
    NodeLeft,
    NodeObserved,
    Nominated,
    PolicyRemoved,
    PolicySet,
    ReservationMade,
    ReservationReleased,
    Submitted,
    TaskBound,
    TaskFinished,
    TaskMoved,
    TaskStarted,
    Tick,
    TopologySet,
    WorkArrived,
)
from dovetail.model.record import Changes, Decision, Snapshot

Handler = Callable[[EngineState, Any, float], list[Command]]


def _tick(state: EngineState, event: Tick, now: float) -> list[Command]:
    commands: list[Command] = []
    for timer in state.timers.due(now):
        state.wake.event_count += 1
        commands += _TIMERS[timer.kind](state, timer.key, now)
    commands += release_dependents(state, now)
    commands += run_recovery(state, now)
    return commands + schedule(state, event.limit, now)


def _enqueue_again(state: EngineState, workload: int, now: float) -> list[Command]:  # noqa: ARG001 - as all timer handlers
    """The pause after failed preemptions is over."""
    if workload in state.work:
        state.pending.enqueue(state.work[workload])
    return []


def _only_tick(state: EngineState, key: object, now: float) -> list[Command]:  # noqa: ARG001 - as all timer handlers
    """The timer only asked for a Tick."""
    return []


#: Handlers of due timers: `handler(state, key, now) -> commands`.
_TIMERS: dict[TimerKind, Handler] = {
    TimerKind.DEADLINE: workloads.deadline_passed,
    TimerKind.PROMOTION: workloads.promoted,
    TimerKind.RETRY: tasks.retry_due,
    TimerKind.EVICTION: nodes.eviction_due,
    TimerKind.PROBE: probe,
    TimerKind.WINDOW: reservations.window_due,
    TimerKind.PREEMPTION_PAUSE: _enqueue_again,
    TimerKind.RECOVERY: recovery_due,
    TimerKind.LOSS: node_loss.silence_due,
    TimerKind.ADJUSTMENT: _only_tick,
}

_HANDLERS: dict[type, Handler] = {
    Submitted: workloads.submitted,
    WorkArrived: external_work.arrived,
    Nominated: external_work.nominated,
    DisruptionBudgetsSet: external_work.budgets_set,
    CancelAsked: workloads.cancel_asked,
    NodeJoined: nodes.joined,
    NodeLeft: nodes.left,
    NodeHealthChanged: nodes.health,
    NodeCordoned: nodes.cordoned,
    NodeDrained: nodes.drained,
    DomainFailed: node_loss.domain_failed,
    NodeObserved: nodes.observed,
    BackendHealthChanged: nodes.backend_health,
    TaskBound: tasks.bound,
    TaskStarted: tasks.started,
    TaskFinished: tasks.finished,
    TaskMoved: moving.task_moved,
    MoveAsked: moving.move_asked,
    BindFailed: tasks.bind_failed,
    ReservationMade: reservations.made,
    ReservationReleased: reservations.released,
    PolicySet: policy_set,
    PolicyRemoved: policy_removed,
    TopologySet: topology.topology_set,
    DistancesSet: topology.distances_set,
    DistancesCleared: topology.distances_cleared,
    Tick: _tick,
}


class Engine:
    def __init__(self, settings: EngineSettings | None = None) -> None:
        self._state = EngineState(settings or EngineSettings())
        self.version = 0  # grows with every event and Tick
        self._now = 0.0

    def handle(self, event: Event, now: float) -> list[Command]:
        """Handle one event. References to unknown objects are ignored: reports may come late or twice."""
        self._now = now
        self.version += 1
        if not isinstance(event, Tick):
            self._state.wake.event_count += 1
        commands = _HANDLERS[type(event)](self._state, event, now)
        if self._state.recoveries:
            commands = commands + after_event(self._state, now)
        if self._state.finishing:
            commands = commands + release_dependents(self._state, now)
        if self._state.policies.adjusting:
            schedule_rule_check(self._state, now)
        wakes = self._state.timers.wake(now)
        return [*commands, *wakes] if wakes else commands

    def terms_json(self, workload: int) -> str:
        """What a restart needs of a live workload's definition, for `Terms.from_json`."""
        return terms_json(self._state.work[workload].terms)

    def take_changes(self, now: float) -> Changes:
        return self._state.take_changes(now)

    def memory(self, now: float) -> dict[str, str]:
        """What the engine learned, as texts to persist (`Snapshot.memory`)."""
        return self._state.memory.texts(now)

    def take_decisions(self) -> list[Decision]:
        """Use this instead of `take_changes` if nothing is persisted."""
        return self._state.take_decisions()

    @property
    def decisions(self) -> Sequence[Decision]:
        """What was decided since `take_changes`, in order."""
        return self._state.changes.decisions

    @property
    def busy(self) -> bool:
        """A Tick now would decide something."""
        return has_waiting(self._state, self._now) or is_due(self._state, self._now)

    def restore(self, snapshot: Snapshot) -> None:
        """Restore nodes, cordons, reservations, placements and the queue. Call this before the first event."""
        restore(self._state, snapshot)
