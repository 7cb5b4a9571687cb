"""`Engine.handle(event, now) -> commands`: the tables of event and timer handlers."""

from collections.abc import Callable, Sequence
from typing import Any

from dovetail.engine.events import node_loss, nodes, tasks, workloads
from dovetail.engine.lifecycle import moving
from dovetail.engine.lifecycle.quarantine import probe
from dovetail.engine.lifecycle.task_lifecycle import continue_endings, release_dependents
from dovetail.engine.policies.policy_changes import policy_removed, policy_set, schedule_rule_check
from dovetail.engine.preemption.asked_preemption import preemption_asked
from dovetail.engine.recovery.recovery import after_event, is_due, recovery_due, run_recovery
from dovetail.engine.reservations import reservations
from dovetail.engine.restore import restore, retry_asked
from dovetail.engine.scheduling.schedule import has_waiting, schedule
from dovetail.engine.settings import EngineSettings
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.taking_changes import take_changes, take_decisions
from dovetail.engine.state.timers import TimerKind
from dovetail.model import event as events
from dovetail.model.batch import Changes
from dovetail.model.command import Command
from dovetail.model.record import Decision, Snapshot
from dovetail.model.requests.terms import terms_json

Handler = Callable[[EngineState, Any, float], list[Command]]


def _tick(state: EngineState, event: events.Tick, now: float) -> list[Command]:
    commands: list[Command] = []
    for timer in state.timers.due(now):
        state.wake.event_count += 1
        commands += _TIMERS[timer.kind](state, timer.key, now)
    commands += continue_endings(state, now)
    commands += release_dependents(state, now)
    commands += run_recovery(state, now)
    return commands + schedule(state, event, now)


def _enqueue_again(state: EngineState, workload: int, now: float) -> list[Command]:  # noqa: ARG001 - as all timer handlers
    """The pause after failed preemptions is over, or it has waited for cheaper nodes for as long as it could."""
    if workload in state.work:
        state.pending.enqueue(state.work[workload])
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
    TimerKind.LATEST_START: _enqueue_again,
    TimerKind.RECOVERY: recovery_due,
    TimerKind.LOSS: node_loss.silence_due,
    TimerKind.LAST_CHANCE: lambda *_: [],  # the cycle looks (`preemption.savings`)
    TimerKind.PLANNED_START: lambda *_: [],  # the cycle looks (`scheduling.timetabling`)
    TimerKind.ADJUSTMENT: lambda *_: [],  # it only asked for a Tick
}

_HANDLERS: dict[type, Handler] = {
    events.Submitted: workloads.submitted,
    events.WorkArrived: workloads.arrived,
    events.Nominated: workloads.nominated,
    events.DisruptionBudgetsSet: workloads.budgets_set,
    events.CancelAsked: workloads.cancel_asked,
    events.RetryAsked: retry_asked,
    events.NodeJoined: nodes.joined,
    events.NodeLeft: nodes.left,
    events.NodeHealthChanged: nodes.health,
    events.NodeCordoned: nodes.cordoned,
    events.NodeDrained: nodes.drained,
    events.DomainFailed: node_loss.domain_failed,
    events.NodeObserved: nodes.observed,
    events.BackendHealthChanged: nodes.backend_health,
    events.TaskBound: tasks.bound,
    events.TaskWaiting: tasks.waiting,
    events.TaskStarted: tasks.started,
    events.TaskFinished: tasks.finished,
    events.TaskMoved: moving.task_moved,
    events.MoveRefused: moving.move_refused,
    events.MoveAsked: moving.move_asked,
    events.PreemptionAsked: preemption_asked,
    events.TaskRestartAsked: tasks.restart_asked,
    events.BindFailed: tasks.bind_failed,
    events.ReservationMade: reservations.made,
    events.ReservationReleased: reservations.released,
    events.PolicySet: policy_set,
    events.PolicyRemoved: policy_removed,
    events.TopologySet: nodes.topology_set,
    events.DistancesSet: nodes.distances_set,
    events.DistancesCleared: nodes.distances_cleared,
    events.DistancesMeasured: nodes.distances_measured,
    events.Tick: _tick,
}


class Engine:
    def __init__(self, settings: EngineSettings | None = None) -> None:
        self._state = EngineState(settings or EngineSettings())
        self.version = 0  # grows with every event and Tick
        self._now = 0.0

    def handle(self, event: events.Event, now: float) -> list[Command]:
        """Handle one event. References to unknown objects are ignored: reports may come late or twice."""
        self._now = now
        self.version += 1
        if not isinstance(event, events.Tick):
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

    def queue_path(self, workload: int) -> str:
        """The queue of a live workload."""
        return self._state.router.queues[self._state.work[workload].queue].path

    def take_changes(self, now: float) -> Changes:
        return take_changes(self._state, now)

    def memory(self, now: float) -> dict[str, str]:
        """What the engine learned, as texts to persist (`Snapshot.memory`)."""
        return self._state.memory.texts(now)

    def take_decisions(self) -> list[Decision]:
        """Use this instead of `take_changes` if nothing is persisted."""
        return take_decisions(self._state)

    @property
    def decisions(self) -> Sequence[Decision]:
        """What was decided since `take_changes`, in order: for metrics, before it is persisted."""
        return self._state.changes.decisions

    @property
    def changed(self) -> int:
        """How many tasks have changed since `take_changes`."""
        return len(self._state.changes.tasks)

    @property
    def spent(self) -> int:
        """Of the limit of the last Tick."""
        return self._state.spent

    @property
    def busy(self) -> bool:
        """A Tick now would decide something."""
        return has_waiting(self._state, self._now) or is_due(self._state, self._now) or bool(self._state.ending)

    def restore(self, snapshot: Snapshot) -> None:
        """Restore nodes, cordons, reservations, placements and the queue. Call this before the first event."""
        restore(self._state, snapshot)
