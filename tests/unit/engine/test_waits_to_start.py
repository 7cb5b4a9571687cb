"""A task that its backend has accepted and cannot start says why, and so does its workload."""

from tests.unit.engine.scene import Scene

from dovetail.model.command import attempt_key
from dovetail.model.event import TaskBound, TaskStarted, TaskWaiting
from dovetail.model.task import TaskId


class _Placed:
    """Two tasks that have a node; nothing has been heard of them."""

    def __init__(self) -> None:
        self.scene = Scene()
        self.scene.join("n1")
        self.scene.submit("w", replicas=2)
        self.scene.tick()
        self.work = self.scene.work("w")

    def hear(self, kind: type[TaskBound | TaskStarted], replica: int) -> None:
        self.scene.hear(kind(*self._about(replica)))

    def waits(self, replica: int, why: str) -> None:
        self.scene.hear(TaskWaiting(*self._about(replica), why))

    def _about(self, replica: int) -> tuple[TaskId, str]:
        task = TaskId(self.work.id, replica)
        return task, attempt_key(task, self.work.task(replica).attempt)


def test_the_reason_stays_until_it_starts_or_nothing_is_in_the_way() -> None:
    placed = _Placed()
    placed.waits(1, "ImagePullBackOff: not found")
    assert (placed.work.reason, placed.work.message) == ("waits_to_start", "task 1: ImagePullBackOff: not found")
    placed.hear(TaskBound, 1)
    assert placed.work.task(1).message == "ImagePullBackOff: not found", "that it was accepted says less"
    placed.waits(0, "FailedMount: no such folder")
    placed.waits(1, "")
    assert placed.work.task(1).message.startswith("accepted by")
    assert placed.work.message == "task 0: FailedMount: no such folder"
    placed.hear(TaskStarted, 1)
    assert placed.work.message == "task 0: FailedMount: no such folder"
    placed.hear(TaskStarted, 0)
    assert (placed.work.reason, placed.work.message) == ("", "")


def test_what_comes_late_changes_nothing() -> None:
    placed = _Placed()
    placed.hear(TaskStarted, 0)
    placed.waits(0, "ImagePullBackOff: not found")
    assert placed.work.task(0).reason == "running"
    placed.scene.hear(TaskWaiting(TaskId(placed.work.id, 1), "some.older.key", "late"))
    assert placed.work.message == ""
