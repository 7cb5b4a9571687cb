"""Live workloads and tasks, by id and by name. Most answers are a lookup.

Left to others: their order in the pending queues (`queue_questions`), and when they start (`plan_questions`).
"""

from collections.abc import Iterable
from typing import NamedTuple

from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.live_task import LiveTask
from dovetail.engine.state.work import Work
from dovetail.model.command import attempt_key
from dovetail.model.record import TaskRecord
from dovetail.model.requests.shape import Shape
from dovetail.model.task import TaskId, TaskState
from dovetail.model.workloads.roles import SERVICE_LABEL
from dovetail.model.workloads.workload import WorkloadKind


class HeldTask(NamedTuple):
    """A task that holds a node."""

    task: TaskId
    attempt: int
    node: str
    backend: str
    state: TaskState
    devices: tuple[int, ...]
    message: str

    @property
    def key(self) -> str:
        """The key of the attempt, as its backend knows it."""
        return attempt_key(self.task, self.attempt)


class LiveWorkload(NamedTuple):
    name: str
    queue: str  # its path
    submitted_at: float
    namespace: str


class LiveReplica(NamedTuple):
    """A live workload of one task that is a replica of a service. `key` names its attempt, empty while it has none;
    `online`: its node answers."""

    workload: int
    namespace: str
    name: str
    state: TaskState
    key: str
    node: str | None
    started_at: float | None
    attempt: int
    crashes: int
    reason: str
    message: str
    ending: bool
    online: bool


class TracedWorkload(NamedTuple):
    """A live workload, and its first tasks as they are now."""

    id: int
    namespace: str
    name: str
    kind: str
    queue: str
    replicas: int
    submitted_at: float
    tasks: list[TaskRecord]

    @property
    def all_started(self) -> bool:
        """Whether each of these tasks has run at some time."""
        return bool(self.tasks) and all(task.started_at is not None for task in self.tasks)


class WorkloadQuestions:
    def __init__(self, state: EngineState) -> None:
        self._state = state

    def __contains__(self, workload: object) -> bool:
        return workload in self._state.work

    def __len__(self) -> int:
        return len(self._state.work)

    def get(self, workload: int) -> LiveWorkload | None:
        """None for one that has ended."""
        work = self._state.work.get(workload)
        if work is None:
            return None
        return LiveWorkload(work.name, self._state.router.queues[work.queue].path, work.submitted_at, work.namespace)

    def any_ending(self, workloads: Iterable[int]) -> bool:
        """Whether any of these has tasks that are to end and were not told yet."""
        return any(workload in self._state.ending for workload in workloads)

    def remembers(self, namespace: str, name: str) -> bool:
        """Whether a workload of that name is live, or ended so recently that the engine knows how."""
        key = (namespace, name)
        return key in self._state.cluster.placements.directory or key in self._state.ended

    def members(self, group: str) -> list[int]:
        """The live workloads of every group of this name, whatever its namespace."""
        return [id_ for one in self._state.groups.all() if one.name == group for id_ in one.members]

    def shape(self, workload: int) -> Shape | None:
        """The shape under which its tasks are placed; None for a workload that has ended."""
        work = self._state.work.get(workload)
        return None if work is None else work.shape

    def of_kind(self, kind: WorkloadKind) -> list[int]:
        """Live workloads of this kind."""
        return [id_ for id_, work in self._state.work.items() if work.shape.kind is kind]

    def known_as(self, workload: int) -> tuple[str, str] | None:
        """Its namespace, and the name by which others know it: its own, or that of its service."""
        work = self._state.work.get(workload)
        return None if work is None else (work.namespace, work.identity.workload)

    def is_waiting(self, workload: int) -> bool:
        work = self._state.work.get(workload)
        return work is not None and bool(work.waiting)

    def holding(self, workload: int) -> list[int]:
        """Its tasks that hold a node."""
        work = self._state.work.get(workload)
        return [] if work is None else [replica for replica, live in work.tasks.items() if live.state.holds_node]

    @property
    def placed_tasks(self) -> int:
        """Tasks that hold capacity on a node."""
        return len(self._state.cluster.placements.by_task)

    # --- traces ----------------------------------------------------------------------------------------------

    @property
    def newest(self) -> int:
        """The highest id of live workloads; 0 without any."""
        return max(self._state.work, default=0)

    def ids_after(self, workload: int) -> list[int]:
        """Live workloads that were accepted after this one."""
        return sorted(id_ for id_ in self._state.work if id_ > workload)

    def traced(self, workloads: Iterable[int], most_tasks: int) -> list[TracedWorkload]:
        """Those of them that are live, each with its first tasks."""
        found = []
        for id_ in workloads:
            work = self._state.work.get(id_)
            if work is not None:
                tasks = [
                    live.record(TaskId(id_, replica)) for replica, live in work.tasks.items() if replica < most_tasks
                ]
                queue = self._state.router.queues[work.queue].path
                names = (work.namespace, work.name, str(work.shape.kind), queue)
                found.append(TracedWorkload(id_, *names, work.replicas, work.submitted_at, tasks))
        return found

    # --- replicas of services --------------------------------------------------------------------------------

    def service_replicas(self) -> list[int]:
        """Every live workload that is a replica of a service. Looks at all work there is."""
        return [work.id for work in self._state.work.values() if _is_replica(work)]

    def replicas(self, workloads: Iterable[int]) -> list[LiveReplica]:
        """Those of these that are live."""
        return [self._replica(work) for id_ in workloads if (work := self._state.work.get(id_)) is not None]

    def _replica(self, work: Work) -> LiveReplica:
        live = work.tasks.get(0) or LiveTask()
        row = None if live.node is None else self._state.cluster.rows.get(live.node)
        waits = live.state is TaskState.PENDING and not live.message
        return LiveReplica(
            workload=work.id,
            namespace=work.namespace,
            name=work.name,
            state=live.state,
            key=attempt_key(TaskId(work.id, 0), live.attempt) if live.state.holds_node else "",
            node=live.node,
            started_at=live.started_at,
            attempt=live.attempt,
            crashes=live.failures,
            reason=work.reason if waits else live.reason,
            message=work.message if waits else live.message,
            ending=work.cancelled or bool(work.terminal_reason),
            online=row is not None and bool(self._state.cluster.status.online[row]),
        )

    # --- tasks that hold nodes -------------------------------------------------------------------------------

    def held(self, task: TaskId) -> HeldTask | None:
        """The task as it is now; None if it holds no node any more."""
        work = self._state.work.get(task.workload)
        live = None if work is None else work.tasks.get(task.replica)
        return None if live is None else _held(task, live)

    def held_by(self, workload: int) -> list[HeldTask]:
        """Its tasks that hold a node now."""
        work = self._state.work.get(workload)
        tasks = () if work is None else work.tasks.items()
        return [held for replica, live in tasks if (held := _held(TaskId(workload, replica), live)) is not None]

    def held_on(self, node: str) -> list[HeldTask]:
        """Empty for an unknown node."""
        row = self._state.cluster.rows.get(node)
        tasks = () if row is None else self._state.cluster.placements.by_row[row]
        return [held for task in tasks if (held := self.held(task)) is not None]

    def confirmed_by_backend(self, unconfirmed: Iterable[str]) -> dict[str, list[HeldTask]]:
        """By backend: every task that holds one of its nodes and whose key is not among the `unconfirmed` ones."""
        waiting = set(unconfirmed)
        found: dict[str, list[HeldTask]] = {}
        for work in self._state.work.values():
            for replica, live in work.tasks.items():
                held = _held(TaskId(work.id, replica), live)
                if held is not None and held.key not in waiting:
                    found.setdefault(held.backend, []).append(held)
        return found


def _is_replica(work: Work) -> bool:
    return any(key == SERVICE_LABEL for key, _ in work.terms.labels)


def _held(task: TaskId, live: LiveTask) -> HeldTask | None:
    if not live.state.holds_node or live.node is None or live.backend is None:
        return None
    return HeldTask(task, live.attempt, live.node, live.backend, live.state, live.devices, live.message)
