"""Handlers for events of nodes, backends and the network, and eviction by NoExecute taints.

Changes of the network mark every node as changed, since distances and domains may differ anywhere. Running tasks stay
where they are.
"""

from dovetail.engine.events.node_loss import clear_silence, lose_tasks, mark_silent
from dovetail.engine.lifecycle.moving import move_away
from dovetail.engine.lifecycle.quarantine import end_quarantine
from dovetail.engine.lifecycle.task_lifecycle import stop_task
from dovetail.engine.reservations.reservations import forget_node, node_joined, refill
from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.memory import DISTANCES, TOPOLOGY
from dovetail.engine.state.timers import TimerKind
from dovetail.model import event as events
from dovetail.model.command import Command
from dovetail.model.requests.shape import Shape
from dovetail.model.task import TaskId
from dovetail.model.workloads.selection import Effect, Taint


def joined(state: EngineState, event: events.NodeJoined, now: float) -> list[Command]:
    row = state.cluster.join(event.node)
    clear_silence(state, event.node.name)
    _changed(state, event.node.name, row)
    node_joined(state, now)
    return evict_intolerant(state, row, now)


def _changed(state: EngineState, name: str, row: int) -> None:
    state.changes.nodes[name] = None
    state.wake.dirty_rows.add(row)


def left(state: EngineState, event: events.NodeLeft, now: float) -> list[Command]:
    cluster = state.cluster
    row = cluster.rows.get(event.name)
    if row is None:
        return []
    state.recoveries.forget_node(event.name)
    commands = lose_tasks(state, row, "node_left", event.reason, f"{event.name} left: {event.reason}", now)
    to_refill = forget_node(state, event.name)
    cluster.leave(event.name)
    state.node_failures.pop(event.name, None)
    state.changes.gone_nodes[event.name] = None
    state.wake.dirty_rows.discard(row)
    for owner, promise in list(state.promises.of_work.items()):  # they need capacity elsewhere
        if any(row == promised for promised, _ in promise.rows):
            state.promises.withdraw(owner)
            state.pending.enqueue(state.work[owner])
    refill(state, to_refill, now)
    return commands


def health(state: EngineState, event: events.NodeHealthChanged, now: float) -> list[Command]:
    row = state.cluster.rows.get(event.name)
    if row is not None and bool(state.cluster.status.online[row]) != event.online:
        state.cluster.set_online(event.name, event.online, event.reason)
        _changed(state, event.name, row)
        if event.online:
            clear_silence(state, event.name)
        else:
            mark_silent(state, event.name, now)
    return []


def cordoned(state: EngineState, event: events.NodeCordoned, now: float) -> list[Command]:  # noqa: ARG001
    row = state.cluster.rows.get(event.name)
    if row is not None:
        state.cluster.set_cordoned(event.name, event.cordoned, event.reason)
        if not event.cordoned:
            end_quarantine(state, event.name)
        _changed(state, event.name, row)
    return []


def drained(state: EngineState, event: events.NodeDrained, now: float) -> list[Command]:
    cluster = state.cluster
    row = cluster.rows.get(event.name)
    if row is None:
        return []
    cordoned(state, events.NodeCordoned(event.name, True, event.reason), now)
    cluster.status.drained.add(event.name)
    return [
        command
        for task in sorted(cluster.placements.by_row[row])
        for command in move_away(state, task, f"drained: {event.reason}", now)
    ]


def observed(state: EngineState, event: events.NodeObserved, now: float) -> list[Command]:
    row = state.cluster.rows.get(event.name)
    if row is not None:
        state.cluster.observe(event.name, event.used, now)
        state.wake.dirty_rows.add(row)
    return []


def backend_health(state: EngineState, event: events.BackendHealthChanged, now: float) -> list[Command]:  # noqa: ARG001
    cluster = state.cluster
    cluster.set_backend_available(event.backend, event.available)
    if event.available:
        code = cluster.status.backend_names.index(event.backend)
        state.wake.dirty_rows.update((cluster.status.backends[: cluster.width] == code).nonzero()[0].tolist())
    return []


# --- the network ---------------------------------------------------------------------------------------------


def topology_set(state: EngineState, event: events.TopologySet, now: float) -> list[Command]:  # noqa: ARG001
    if event.topology != state.cluster.topology.definition:
        state.cluster.set_topology(event.topology)
        _network_changed(state, TOPOLOGY)
    return []


def distances_set(state: EngineState, event: events.DistancesSet, now: float) -> list[Command]:  # noqa: ARG001
    for one, other, distance in event.pairs:
        state.cluster.set_distance(one, other, distance)
    if event.pairs:
        _network_changed(state, DISTANCES)
    return []


def distances_cleared(state: EngineState, event: events.DistancesCleared, now: float) -> list[Command]:  # noqa: ARG001
    if len(state.cluster.topology.distances):
        state.cluster.clear_distances()
        _network_changed(state, DISTANCES)
    return []


def distances_measured(state: EngineState, event: events.DistancesMeasured, now: float) -> list[Command]:  # noqa: ARG001
    """Not remembered: who measures tells again after a restart."""
    state.cluster.set_measured_distances(event.names, event.distance)
    state.wake.dirty_rows.update(state.cluster.rows.values())
    return []


def _network_changed(state: EngineState, what: str) -> None:
    state.changes.network[what] = None
    state.wake.dirty_rows.update(state.cluster.rows.values())


# --- NoExecute -----------------------------------------------------------------------------------------------


def evict_intolerant(state: EngineState, row: int, now: float) -> list[Command]:
    """Evict tasks that do not tolerate the node's NoExecute taints: at once, or when their toleration ends."""
    taints = _no_execute_taints(state, row)
    commands: list[Command] = []
    for task in sorted(state.cluster.placements.by_row[row]):
        work = state.work[task.workload]
        tolerated_s = _tolerated_s(work.shape, taints)
        if tolerated_s is None:
            state.timers.clear(TimerKind.EVICTION, task)
        elif tolerated_s <= 0:
            commands += stop_task(state, task, _not_tolerated(taints))
        elif state.timers.at(TimerKind.EVICTION, task) is None:
            state.timers.set(TimerKind.EVICTION, task, now + tolerated_s)
    return commands


def start_toleration_timer(state: EngineState, task: TaskId, shape: Shape, now: float) -> None:
    """The task starts on its node: if it tolerates the taints only for a time, that time starts now."""
    taints = _no_execute_taints(state, state.cluster.placements.by_task[task].row)
    if taints:
        tolerated_s = _tolerated_s(shape, taints)
        if tolerated_s is not None and state.timers.at(TimerKind.EVICTION, task) is None:
            state.timers.set(TimerKind.EVICTION, task, now + tolerated_s)


def eviction_due(state: EngineState, key: TaskId | str, now: float) -> list[Command]:
    """The toleration time of a task is over. If `key` is a node name: first check after a restart, which does not
    remember when the toleration times began."""
    if isinstance(key, str):
        row = state.cluster.rows.get(key)
        return [] if row is None else evict_intolerant(state, row, now)
    work = state.work.get(key.workload)
    placement = state.cluster.placements.by_task.get(key)
    if work is None or placement is None:
        return []
    taints = _no_execute_taints(state, placement.row)
    if _tolerated_s(work.shape, taints) is None:
        return []
    return stop_task(state, key, _not_tolerated(taints))


def _no_execute_taints(state: EngineState, row: int) -> list[Taint]:
    return [taint for taint in state.cluster.taints.row(row) if taint.effect is Effect.NO_EXECUTE]


def _tolerated_s(shape: Shape, taints: list[Taint]) -> float | None:
    """How long it tolerates all of these taints. None: for ever."""
    limits: list[float] = []
    for taint in taints:
        matching = [tolerance.seconds for tolerance in shape.tolerations if tolerance.tolerates(taint)]
        if not matching:
            return 0.0
        limits += [seconds for seconds in matching if seconds is not None]
    return min(limits, default=None)


def _not_tolerated(taints: list[Taint]) -> str:
    return f"does not tolerate {', '.join(map(str, taints))}"
