"""One task of live work, as the engine holds it in memory."""

from dataclasses import dataclass, fields
from operator import attrgetter

from dovetail.model.record import TaskRecord
from dovetail.model.task import TaskId, TaskState

_recorded = attrgetter(*[field.name for field in fields(TaskRecord) if field.name != "task"])


@dataclass(slots=True)
class LiveTask:
    """First what is recorded, in the order of `TaskRecord`."""

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
        return TaskRecord(task, *_recorded(self))

    @staticmethod
    def of_record(record: TaskRecord, evicting: bool) -> "LiveTask":
        return LiveTask(*_recorded(record), evicting=evicting)
