"""Failed tasks that a user asked for again: of live workloads, and of those that have ended."""

from tests.unit.engine.scene import Scene

from dovetail.model.event import RetryAsked
from dovetail.model.task import TaskId, TaskState, WorkloadState


def scene_with_node() -> Scene:
    scene = Scene()
    scene.join("n", cpu=8)
    return scene


def retry(scene: Scene, name: str) -> None:
    id_ = scene.ids[name]
    ended = id_ not in scene.engine._state.work
    scene.hear(RetryAsked(id_, "again", scene.notebook._restored(id_) if ended else None))


def states(scene: Scene, name: str) -> list[TaskState]:
    return [task.state for task in scene.notebook.tasks_of(scene.ids[name])]


def test_of_an_ended_workload_only_what_failed_runs_again_as_the_next_attempt() -> None:
    scene = scene_with_node()
    scene.run("w", replicas=3, retries=0)
    scene.end("w", 0)
    scene.end("w", 1, code=1)
    scene.end("w", 2)
    assert scene.record("w").state is WorkloadState.FAILED
    retry(scene, "w")
    record = scene.record("w")
    assert (record.state, record.pending, record.succeeded, record.finished_at) == (WorkloadState.PENDING, 1, 2, None)
    assert scene.why("w") == ("retried", "again")
    scene.restart()
    assert scene.tick() == ["w.1"]
    scene.started("w")
    assert scene.notebook.tasks[TaskId(scene.ids["w"], 1)].attempt == 2
    scene.end("w", 1)
    assert scene.record("w").state is WorkloadState.SUCCEEDED
    assert scene.ids["w"] not in scene.engine._state.work


def test_of_a_live_workload_failed_tasks_join_those_that_run() -> None:
    scene = scene_with_node()
    scene.run("w", replicas=3)
    scene.end("w", 2, code=7)
    retry(scene, "w")
    assert states(scene, "w") == [TaskState.RUNNING, TaskState.RUNNING, TaskState.PENDING]
    assert scene.tick() == ["w.2"]
    scene.started("w")
    scene.end_all("w")
    assert scene.record("w").state is WorkloadState.SUCCEEDED


def test_a_retried_task_has_all_its_retries() -> None:
    scene = scene_with_node()
    scene.run("w", retries=1)
    for _ in range(2):
        scene.end("w", code=1)
        scene.tick(1000)
        scene.started("w") if scene.ids["w"] in scene.engine._state.work else None
    assert scene.record("w").state is WorkloadState.FAILED
    retry(scene, "w")
    scene.tick()
    scene.started("w")
    scene.end("w", code=1)
    assert scene.record("w").state is WorkloadState.PENDING, "it has a retry again"


def test_a_gang_that_failed_starts_together_again() -> None:
    scene = scene_with_node()
    scene.run("g", replicas=4, gang={"min": 4})
    scene.end("g", 0, code=1)
    scene.stopped("g")
    assert scene.record("g").state is WorkloadState.FAILED
    retry(scene, "g")
    assert sorted(scene.tick()) == ["g.0", "g.1", "g.2", "g.3"]


def test_a_task_that_was_never_placed_in_time_gets_its_time_again() -> None:
    scene = scene_with_node()
    scene.submit("w", cpu=99, deadline={"schedule_within": "10s"})
    scene.tick(11)
    assert scene.record("w").state is WorkloadState.FAILED
    scene.join("big", cpu=100)
    retry(scene, "w")
    assert scene.tick() == ["w.0"]


def test_a_name_that_another_workload_has_now_stays_with_that() -> None:
    scene = scene_with_node()
    scene.run("w")
    scene.end("w", code=1)
    first = scene.ids["w"]
    finished = scene.notebook._restored(first)
    scene.ids["kept"] = first
    scene.run("w")
    scene.hear(RetryAsked(first, "again", finished))
    assert first not in scene.engine._state.work
    scene.cancel("w")
    retry(scene, "w")
    assert scene.stopping() == ["w.0"], "what is cancelled stays so"
