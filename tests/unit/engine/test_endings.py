"""The tasks of a large workload that hold a node end some at a time, so that nobody waits for the end of thousands.
Those that were never placed end at once."""

import pytest
from tests.unit.engine.scene import Scene

from dovetail.engine.lifecycle import task_lifecycle
from dovetail.model.command import Stop
from dovetail.model.event import CancelAsked, NodeDrained, RetryAsked, Tick
from dovetail.model.task import TaskState, WorkloadState

AT_ONCE, RUNNING, MANY = 40, 90, 140
LIMIT = 5


@pytest.fixture
def scene(monkeypatch: pytest.MonkeyPatch) -> Scene:
    """A large workload, of which some tasks run and the others wait."""
    monkeypatch.setattr(task_lifecycle, "ENDED_AT_ONCE", AT_ONCE)
    scene = Scene()
    scene.join("large", cpu=RUNNING)
    scene.submit("many", replicas=MANY)
    scene.tick()
    assert scene.work("many").holding == RUNNING
    return scene


def some(scene: Scene) -> list[Stop]:
    return [command for command in scene.hear(Tick(LIMIT)) if isinstance(command, Stop)]


def stopped_first(scene: Scene) -> list[Stop]:
    return [one for one in scene.hear(CancelAsked(scene.ids["many"], "enough")) if isinstance(one, Stop)]


def counts(scene: Scene) -> dict[TaskState, int]:
    work = scene.work("many")
    return {TaskState.STOPPING: work.stopping, TaskState.CANCELLED: work.stopped}


def test_no_event_ends_more_than_so_many(scene: Scene) -> None:
    told = [len(stopped_first(scene))]
    while scene.engine._state.ending:
        assert scene.engine.busy
        told.append(len(some(scene)))
    assert told == [AT_ONCE, AT_ONCE, RUNNING - 2 * AT_ONCE]
    assert counts(scene) == {TaskState.STOPPING: RUNNING, TaskState.CANCELLED: MANY - RUNNING}
    scene.stopped()
    assert scene.record("many").state is WorkloadState.CANCELLED


def test_nothing_of_it_starts_meanwhile(scene: Scene) -> None:
    stopped_first(scene)
    scene.join("another", cpu=MANY)
    assert scene.tick() == []


def test_a_task_that_is_evicted_meanwhile_is_stopped_for_good(scene: Scene) -> None:
    stopped_first(scene)
    scene.hear(NodeDrained("large", "repair"))
    scene.tick()
    scene.stopped()
    assert scene.record("many").state is WorkloadState.CANCELLED


@pytest.mark.parametrize("chunks", [0, 1])
def test_a_restart_goes_on_with_it(scene: Scene, chunks: int) -> None:
    stopped_first(scene)
    for _ in range(chunks):
        some(scene)
    scene.restart()
    assert scene.engine.busy
    assert scene.tick() == []
    assert counts(scene) == {TaskState.STOPPING: RUNNING, TaskState.CANCELLED: MANY - RUNNING}


def test_a_workload_that_can_never_start_fails_at_once(scene: Scene) -> None:
    scene.submit("first", cpu=0)
    scene.submit("late", after={"first": "succeeded"}, replicas=MANY)
    scene.tick()
    scene.started("first")
    scene.end("first", code=1)
    assert (scene.record("late").state, scene.record("late").failed) == (WorkloadState.FAILED, MANY)
    assert scene.why("late")[0] == "dependency_failed"


def test_of_tasks_that_were_never_placed_the_first_have_records_and_the_others_are_a_number(scene: Scene) -> None:
    scene.submit("waits", replicas=MANY)
    scene.tick()
    scene.engine.handle(CancelAsked(scene.ids["waits"], "enough"), scene.now)
    changes = scene.engine.take_changes(scene.now)
    assert {task.state for task in changes.tasks} == {TaskState.CANCELLED}
    (together,) = changes.ended_together
    assert together[2:] == (TaskState.CANCELLED, "cancelled", "enough")
    assert (together.tasks + len(changes.tasks), len(changes.tasks) <= AT_ONCE + 1) == (MANY, True)
    assert changes.workloads[0].cancelled == MANY


def test_tasks_that_are_not_placed_in_time_fail_at_once(scene: Scene) -> None:
    scene.submit("late", replicas=MANY, deadline={"schedule_within": "5s"})
    scene.tick()
    scene.now += 6
    scene.tick()
    assert (scene.record("late").state, scene.record("late").failed) == (WorkloadState.FAILED, MANY)
    reason, words = scene.why("late")
    assert (reason, words.partition(" on large")[0]) == ("timeout", "task 0: not placed within 5 s: cpu short by 1")
    tasks = scene.notebook.tasks_of(scene.ids["late"])
    assert {(task.state, task.reason) for task in tasks} == {(TaskState.FAILED, "timeout")}


def test_tasks_that_ended_together_can_be_retried(scene: Scene) -> None:
    scene.submit("late", replicas=MANY, deadline={"schedule_within": "5s"})
    scene.now += 6
    scene.tick()
    id_ = scene.ids["late"]
    scene.hear(RetryAsked(id_, "again", scene.notebook._restored(id_)))
    assert scene.work("late").pending == MANY
    scene.restart()
    assert scene.work("late").pending == MANY
    scene.hear(CancelAsked(id_, "enough"))
    scene.tick()
    assert scene.record("late").cancelled == MANY
    assert {task.state for task in scene.notebook.tasks_of(id_)} == {TaskState.CANCELLED}


def test_what_ended_in_pieces_can_be_retried(scene: Scene) -> None:
    """What a restart would need to go on with the ending is of no importance any more."""
    stopped_first(scene)
    scene.tick()
    scene.stopped()
    id_ = scene.ids["many"]
    scene.hear(RetryAsked(id_, "again", scene.notebook._restored(id_)))
    assert len(scene.tick()) == RUNNING
