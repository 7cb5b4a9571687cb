"""Live workloads and tasks, by id and by name. Most answers are a lookup.

Left to others: their order in the pending queues (`queue_questions`), and when they start (`plan_questions`).
"""

from collections.abc import Iterable
from typing import NamedTuple

from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.live_task import LiveTask
from dovetail.model.command import attempt_key
from dovetail.model.requests.shape import Shape
from dovetail.model.task import TaskId, TaskState


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
        return LiveWorkload(work.name, self._state.router.queues[work.queue].path, work.submitted_at)

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

    def is_waiting(self, workload: int) -> bool:
        work = self._state.work.get(workload)
        return work is not None and bool(work.waiting)

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


def _held(task: TaskId, live: LiveTask) -> HeldTask | None:
    if not live.state.holds_node or live.node is None or live.backend is None:
        return None
    return HeldTask(task, live.attempt, live.node, live.backend, live.state, live.devices, live.message)
