"""The tasks of a large workload end some at a time, so that nobody waits for the end of thousands."""

import pytest
from tests.unit.engine.scene import Scene

from dovetail.engine.lifecycle import task_lifecycle
from dovetail.model.command import Stop
from dovetail.model.event import CancelAsked, NodeDrained, RetryAsked, Tick
from dovetail.model.task import TaskState, WorkloadState

AT_ONCE, RUNNING, MANY = 40, 50, 100
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
    states = [live.state for live in scene.work("many").tasks.values()]
    return {state: states.count(state) for state in dict.fromkeys(states)}


def test_no_event_ends_more_than_so_many(scene: Scene) -> None:
    told = [len(stopped_first(scene))]
    while scene.engine._state.ending:
        assert scene.engine.busy
        told.append(len(some(scene)))
    assert told == [AT_ONCE, RUNNING - AT_ONCE, 0]
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


def test_a_workload_that_can_never_start_fails_likewise_and_a_restart_goes_on(scene: Scene) -> None:
    scene.submit("first", cpu=0)
    scene.submit("late", after={"first": "succeeded"}, replicas=MANY)
    scene.tick()
    scene.started("first")
    scene.end("first", code=1)
    assert scene.record("late").failed == AT_ONCE
    scene.restart()
    scene.tick()
    assert (scene.record("late").state, scene.record("late").failed) == (WorkloadState.FAILED, MANY)
    assert scene.why("late")[0] == "dependency_failed"


def test_what_ended_in_pieces_can_be_retried(scene: Scene) -> None:
    """What a restart would need to go on with the ending is of no importance any more."""
    stopped_first(scene)
    scene.tick()
    scene.stopped()
    id_ = scene.ids["many"]
    scene.hear(RetryAsked(id_, "again", scene.notebook._restored(id_)))
    assert len(scene.tick()) == RUNNING
