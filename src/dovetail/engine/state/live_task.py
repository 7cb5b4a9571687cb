"""One task of live work, as the engine holds it in memory, and the reasons for which it is stopped."""

from dataclasses import dataclass, fields
from operator import attrgetter

from dovetail.model.record import AttemptRecord, TaskRecord
from dovetail.model.task import TaskId, TaskState

#: Reasons of STOPPING. A task runs elsewhere after all but CANCELLING; they are persisted, so a restart knows it, too.
EVICTING, PREEMPTING, MOVING, CANCELLING = "evicting", "preempting", "moving", "cancelling"
#: It moves because somebody asked for it, and stays if it cannot be migrated live.
MIGRATING = "migrating"
#: It failed its health check: it starts again as after a failure.
RESTARTING = "restarting"

_recorded = attrgetter(*[field.name for field in fields(TaskRecord) if field.name != "task"])


@dataclass(slots=True)
class LiveTask:
    """The fields of `TaskRecord` but its first, in their order."""

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

    def record(self, task: TaskId) -> TaskRecord:
        return TaskRecord(task, *_recorded(self))

    @staticmethod
    def of_record(record: TaskRecord) -> "LiveTask":
        return LiveTask(*_recorded(record))

    def attempt_record(self, task: TaskId, reason: str, message: str, now: float) -> AttemptRecord | None:
        """Its attempt as it ends now, has ended or leaves its node; None if it has no node."""
        if self.node is None or self.backend is None or self.placed_at is None:
            return None
        return AttemptRecord(
            task=task,
            attempt=self.attempt,
            node=self.node,
            backend=self.backend,
            placed_at=self.placed_at,
            started_at=self.started_at,
            ended_at=now if self.finished_at is None else self.finished_at,
            reason=reason,
            message=message,
            exit_code=self.exit_code,
        )

    @property
    def is_evicted(self) -> bool:
        """Is it stopping in order to run elsewhere?"""
        return self.state is TaskState.STOPPING and self.reason != CANCELLING

    @property
    def is_cancelled(self) -> bool:
        """Is it stopping for good?"""
        return self.state is TaskState.STOPPING and self.reason == CANCELLING
