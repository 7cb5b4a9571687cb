"""One task of live work, as the engine holds it in memory."""

from dataclasses import dataclass

from dovetail.model.record import TaskRecord
from dovetail.model.task import TaskId, TaskState


@dataclass(slots=True)
class LiveTask:
    state: TaskState = TaskState.PENDING
    attempt: int = 0
    node: str | None = None
    backend: str | None = None
    reason: str = ""
    message: str = ""
    exit_code: int | None = None
    placed_at: float | None = None
    started_at: float | None = None
    finished_at: float | None = None
    failures: int = 0
    bind_failures: int = 0
    devices: tuple[int, ...] = ()  # slots of its GPUs
    evicting: bool = False  # STOPPING in order to run elsewhere, not to end

    def record(self, task: TaskId) -> TaskRecord:
        return TaskRecord(
            task=task,
            state=self.state,
            attempt=self.attempt,
            node=self.node,
            backend=self.backend,
            reason=self.reason,
            message=self.message,
            exit_code=self.exit_code,
            placed_at=self.placed_at,
            started_at=self.started_at,
            finished_at=self.finished_at,
            failures=self.failures,
            bind_failures=self.bind_failures,
            devices=self.devices,
        )
