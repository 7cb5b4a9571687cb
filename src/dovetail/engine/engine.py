"""`Engine.handle(event, now) -> commands`: one method an event, found in a table."""

from collections.abc import Callable
from heapq import heappush
from typing import Any

from dovetail.engine.restoring import restore
from dovetail.engine.scheduling import has_waiting, schedule
from dovetail.engine.settings import EngineSettings
from dovetail.engine.state import EngineState
from dovetail.engine.terms import terms_json, terms_of
from dovetail.engine.work import LiveTask, Work
from dovetail.model.command import Command, Stop, Wake, attempt_key
from dovetail.model.event import (
    BackendHealthChanged,
    BindFailed,
    CancelAsked,
    Event,
    NodeCordoned,
    NodeDrained,
    NodeHealthChanged,
    NodeJoined,
    NodeLeft,
    NodeObserved,
    ReservationMade,
    ReservationReleased,
    Submitted,
    TaskBound,
    TaskFinished,
    TaskStarted,
    Tick,
)
from dovetail.model.record import Changes, ReservationRecord, Snapshot
from dovetail.model.task import TaskId, TaskState


class Engine:
    def __init__(self, settings: EngineSettings | None = None) -> None:
        self.settings = settings or EngineSettings()
        self.state = EngineState(self.settings)
        self._handlers: dict[type, Callable[[Any, float], list[Command]]] = {
            Submitted: self._submitted,
            CancelAsked: self._cancel_asked,
            NodeJoined: self._node_joined,
            NodeLeft: self._node_left,
            NodeHealthChanged: self._node_health,
            NodeCordoned: self._node_cordoned,
            NodeDrained: self._node_drained,
            NodeObserved: self._node_observed,
            BackendHealthChanged: self._backend_health,
            TaskBound: self._task_bound,
            TaskStarted: self._task_started,
            TaskFinished: self._task_finished,
            BindFailed: self._bind_failed,
            ReservationMade: self._reservation_made,
            ReservationReleased: self._reservation_released,
            Tick: self._tick,
        }

    def handle(self, event: Event, now: float) -> list[Command]:
        """Take in one event. What it names but the engine does not know (any more) is ignored: reports repeat."""
        return self._handlers[type(event)](event, now)

    def terms_json(self, workload: int) -> str:
        """What a restart needs of a live workload's definition (`Terms.from_json`)."""
        work = self.state.work[workload]
        return terms_json(work.shape, work.retries)

    def take_changes(self, now: float) -> Changes:
        return self.state.take_changes(now)

    @property
    def busy(self) -> bool:
        """A Tick now would decide something."""
        return has_waiting(self.state)

    # --- workloads -------------------------------------------------------------------------------------------

    def _submitted(self, event: Submitted, now: float) -> list[Command]:
        terms = terms_of(self.state.router, event.spec)
        spec = event.spec
        work = Work(
            id=event.workload,
            namespace=spec.namespace,
            name=spec.name,
            priority_rank=spec.priority.rank,
            replicas=spec.replicas,
            retries=terms.retries,
            shape=terms.shape,
            submitted_at=now,
        )
        work.waiting.extend(range(spec.replicas))
        self.state.admit(work)
        self.state.changed_work[work.id] = None
        return []

    def _cancel_asked(self, event: CancelAsked, now: float) -> list[Command]:
        work = self.state.work.get(event.workload)
        if work is None:
            return []
        work.cancelled = True
        work.reason, work.message = "cancelled", event.reason
        queue = self.state.queue_of(work)
        if work.id in queue:
            queue.drop(work.id)
            self.state.wake_next(work.shape)  # those behind it were to come when it was served
        self.state.unpark(work)
        self.state.changed_work[work.id] = None
        for replica in sorted(work.waiting):
            task = TaskId(work.id, replica)
            live = work.task(task.replica)
            live.move(TaskState.CANCELLED, "cancelled", event.reason)
            live.finished_at = now
            self.state.touch_task(task)
        work.waiting.clear()
        return [
            command
            for replica, live in work.tasks.items()
            if live.state.holds_node
            for command in self._stop(TaskId(work.id, replica), live, event.reason, evicting=False)
        ]

    def _stop(self, task: TaskId, live: LiveTask, reason: str, *, evicting: bool) -> list[Command]:
        if live.state is TaskState.STOPPING:
            if live.evicting and not evicting:  # it was to run elsewhere and now is to end; never the other way round
                live.evicting, live.reason, live.message = False, "cancelling", reason
                self.state.touch_task(task)
            return []
        live.evicting = evicting
        live.move(TaskState.STOPPING, "evicting" if evicting else "cancelling", reason)
        self.state.touch_task(task)
        assert live.node is not None
        assert live.backend is not None
        return [Stop(task, live.node, live.backend, attempt_key(task, live.attempt), reason)]

    # --- tasks -----------------------------------------------------------------------------------------------

    def _current(self, task: TaskId, key: str) -> tuple[Work, LiveTask] | None:
        """The task if `key` is its present attempt and it holds a node; stale and repeated reports find nothing."""
        work = self.state.work.get(task.workload)
        live = work.tasks.get(task.replica) if work else None
        if work is None or live is None or not live.state.holds_node or attempt_key(task, live.attempt) != key:
            return None
        return work, live

    def _task_bound(self, event: TaskBound, now: float) -> list[Command]:  # noqa: ARG002
        found = self._current(event.task, event.key)
        if found and found[1].state is TaskState.PLACED:
            live = found[1]
            live.bind_failures = 0
            live.move(TaskState.BOUND, "bound", f"accepted by {live.backend} on {live.node}")
            self.state.touch_task(event.task)
        return []

    def _task_started(self, event: TaskStarted, now: float) -> list[Command]:
        found = self._current(event.task, event.key)
        if found and found[1].state in (TaskState.PLACED, TaskState.BOUND):
            work, live = found
            live.move(TaskState.RUNNING, "running", f"running on {live.node}")
            live.started_at = now
            work.started_at = work.started_at if work.started_at is not None else now
            self.state.touch_task(event.task)
        return []

    def _task_finished(self, event: TaskFinished, now: float) -> list[Command]:
        found = self._current(event.task, event.key)
        if not found:
            return []
        work, live = found
        if event.exit_code is not None:  # a stop or a loss says nothing about the node
            assert live.node is not None
            self.state.count_outcome(live.node, event.exit_code == 0)
        self._release(event.task)
        live.exit_code = event.exit_code
        stopped = live.state is TaskState.STOPPING and event.exit_code is None
        if event.exit_code == 0:
            self._end(work, event.task, live, TaskState.SUCCEEDED, "succeeded", "exit status 0", now)
        elif stopped and not live.evicting:
            self._end(work, event.task, live, TaskState.CANCELLED, "cancelled", event.reason, now)
        elif stopped:
            self._retry(work, event.task, live, "evicted", event.reason)
        elif live.failures < work.retries and not work.cancelled:
            live.failures += 1
            self._retry(work, event.task, live, "failed", f"{event.reason}; retry {live.failures} of {work.retries}")
        else:
            self._end(work, event.task, live, TaskState.FAILED, "failed", event.reason, now)
        return []

    def _bind_failed(self, event: BindFailed, now: float) -> list[Command]:
        found = self._current(event.task, event.key)
        if not found:
            return []
        work, live = found
        self._release(event.task)
        live.bind_failures += 1
        if live.state is TaskState.STOPPING and not live.evicting:
            self._end(work, event.task, live, TaskState.CANCELLED, "cancelled", event.reason, now)
        elif live.bind_failures >= self.settings.max_bind_failures:
            message = f"{live.backend} refused it {live.bind_failures} times: {event.reason}"
            self._end(work, event.task, live, TaskState.FAILED, "bind_failed", message, now)
        else:
            self._retry(work, event.task, live, "bind_failed", event.reason)
        return []

    def _release(self, task: TaskId) -> None:
        placement = self.state.cluster.remove(task)
        self.state.stirred.add(placement.row)

    def _end(
        self, work: Work, task: TaskId, live: LiveTask, state: TaskState, reason: str, message: str, now: float
    ) -> None:
        live.move(state, reason, message)
        live.finished_at = now
        if live.started_at is None and state is TaskState.SUCCEEDED:
            live.started_at = live.placed_at
        work.started_at = work.started_at if work.started_at is not None else live.started_at
        self.state.touch_task(task)

    def _retry(self, work: Work, task: TaskId, live: LiveTask, reason: str, message: str) -> None:
        live.move(TaskState.PENDING, reason, message)
        live.node = live.backend = None
        live.placed_at = live.started_at = None
        live.evicting = False
        heappush(work.waiting, task.replica)
        self.state.unpark(work)
        self.state.enqueue(work)
        self.state.touch_task(task)

    # --- nodes -----------------------------------------------------------------------------------------------

    def _node_joined(self, event: NodeJoined, now: float) -> list[Command]:  # noqa: ARG002
        row = self.state.cluster.join(event.node)
        self._node_changed(event.node.name, row)
        return []

    def _node_changed(self, name: str, row: int) -> None:
        self.state.changed_nodes[name] = None
        self.state.stirred.add(row)

    def _node_left(self, event: NodeLeft, now: float) -> list[Command]:
        cluster = self.state.cluster
        row = cluster.rows.get(event.name)
        if row is None:
            return []
        commands: list[Command] = []
        for task in sorted(cluster.placements.by_row[row]):
            work = self.state.work[task.workload]
            live = work.task(task.replica)
            assert live.backend is not None
            key = attempt_key(task, live.attempt)
            commands.append(Stop(task, event.name, live.backend, key, event.reason))
            cluster.remove(task)
            if live.state is TaskState.STOPPING and not live.evicting:
                self._end(work, task, live, TaskState.CANCELLED, "cancelled", event.reason, now)
            else:
                self._retry(work, task, live, "node_left", f"{event.name} left: {event.reason}")
        for reservation in [r for r in self.state.reservations.values() if r.node == event.name]:
            self._drop_reservation(reservation.id)
        cluster.leave(event.name)
        self.state.gone_nodes[event.name] = None
        self.state.stirred.discard(row)
        return commands

    def _node_health(self, event: NodeHealthChanged, now: float) -> list[Command]:  # noqa: ARG002
        row = self.state.cluster.rows.get(event.name)
        if row is not None and bool(self.state.cluster.online[row]) != event.online:
            self.state.cluster.set_online(event.name, event.online, event.reason)
            self._node_changed(event.name, row)
        return []

    def _node_cordoned(self, event: NodeCordoned, now: float) -> list[Command]:  # noqa: ARG002
        row = self.state.cluster.rows.get(event.name)
        if row is not None:
            self.state.cluster.set_cordoned(event.name, event.cordoned, event.reason)
            self._node_changed(event.name, row)
        return []

    def _node_drained(self, event: NodeDrained, now: float) -> list[Command]:
        cluster = self.state.cluster
        row = cluster.rows.get(event.name)
        if row is None:
            return []
        self._node_cordoned(NodeCordoned(event.name, True, event.reason), now)
        cluster.drained.add(event.name)
        return [
            command
            for task in sorted(cluster.placements.by_row[row])
            for command in self._stop(
                task, self.state.work[task.workload].task(task.replica), f"drained: {event.reason}", evicting=True
            )
        ]

    def _node_observed(self, event: NodeObserved, now: float) -> list[Command]:  # noqa: ARG002
        row = self.state.cluster.rows.get(event.name)
        if row is not None:
            self.state.cluster.observe(event.name, event.used)
            self.state.stirred.add(row)
        return []

    def _backend_health(self, event: BackendHealthChanged, now: float) -> list[Command]:  # noqa: ARG002
        cluster = self.state.cluster
        cluster.set_backend_available(event.backend, event.available)
        if event.available:
            code = cluster.backend_names.index(event.backend)
            self.state.stirred.update((cluster.backends[: cluster.width] == code).nonzero()[0].tolist())
        return []

    # --- reservations and time -------------------------------------------------------------------------------

    def _reservation_made(self, event: ReservationMade, now: float) -> list[Command]:  # noqa: ARG002
        if event.node not in self.state.cluster.rows or event.id in self.state.reservations:
            return []
        self.state.hold(ReservationRecord(event.id, event.node, event.amounts, event.until, event.holder))
        self.state.changed_reservations[event.id] = None
        return [Wake(event.until)]

    def _reservation_released(self, event: ReservationReleased, now: float) -> list[Command]:  # noqa: ARG002
        if event.id in self.state.reservations:
            self._drop_reservation(event.id)
        return []

    def _drop_reservation(self, id_: int) -> None:
        reservation = self.state.reservations.pop(id_)
        self.state.cluster.reserve(reservation.node, reservation.amounts, -1)
        self.state.stirred.add(self.state.cluster.rows[reservation.node])
        self.state.changed_reservations[id_] = None

    def _tick(self, event: Tick, now: float) -> list[Command]:
        for reservation in [r for r in self.state.reservations.values() if r.until <= now]:
            self._drop_reservation(reservation.id)
        return schedule(self.state, event.limit, now)

    def restore(self, snapshot: Snapshot) -> None:
        """Nodes, cordons, reservations, placements and queue as they were; call before the first event."""
        restore(self.state, snapshot)
