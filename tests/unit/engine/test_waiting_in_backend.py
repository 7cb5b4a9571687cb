"""Tasks that a backend accepted and cannot start yet say why, until they start."""

from tests.unit.engine.scene import Scene

from dovetail.model.command import attempt_key
from dovetail.model.event import TaskBound, TaskStarted, TaskWaiting
from dovetail.model.task import TaskId, TaskState, WorkloadState

FULL = "waits in Slurm on n1: PENDING (Resources)"


def waits(scene: Scene, name: str, replica: int, why: str) -> None:
    task = TaskId(scene.ids[name], replica)
    key = attempt_key(task, scene.work(name).task(replica).attempt)
    scene.hear(TaskBound(task, key))
    scene.hear(TaskWaiting(task, key, why))


def test_a_task_that_waits_in_its_backend_says_why_until_it_starts() -> None:
    scene = Scene()
    scene.join("n1")
    scene.submit("w")
    scene.tick()
    waits(scene, "w", 0, FULL)
    task, record = scene.work("w").task(0), scene.record("w")
    assert (task.state, task.message) == (TaskState.BOUND, FULL)
    assert (record.state, record.message) == (WorkloadState.STARTING, FULL)
    scene.started("w")
    task, record = scene.work("w").task(0), scene.record("w")
    assert (task.state, task.message) == (TaskState.RUNNING, "running on n1")
    assert (record.state, record.message) == (WorkloadState.RUNNING, "")


def test_a_workload_says_which_of_its_tasks_waits_while_others_run() -> None:
    scene = Scene()
    scene.join("n1")
    id_ = scene.submit("w", replicas=2)
    scene.tick()
    waits(scene, "w", 1, FULL)
    first = TaskId(id_, 0)
    scene.hear(TaskStarted(first, attempt_key(first, 1)))
    record = scene.record("w")
    assert (record.state, record.message) == (WorkloadState.RUNNING, f"task 1: {FULL}")


def test_a_late_report_of_waiting_changes_nothing() -> None:
    scene = Scene()
    scene.join("n1")
    scene.run("w")
    waits(scene, "w", 0, FULL)
    assert scene.work("w").task(0).message == "running on n1"
