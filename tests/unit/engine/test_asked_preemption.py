"""A preemption that somebody asked for: whom it stops, who gets the room, and when it is refused."""

from typing import Any

import pytest
from tests.unit.engine.scene import Scene

from dovetail.engine.pieces import whole
from dovetail.engine.questions.plan_questions import Displacement
from dovetail.engine.questions.questions import Questions
from dovetail.model.event import NodeCordoned, PreemptionAsked
from dovetail.model.task import TaskId


def full(**victim: Any) -> Scene:
    """`victim` holds the only node; `modest`, which may displace nobody, waits."""
    scene = Scene()
    scene.join("n1", cpu=4)
    scene.run("victim", cpu=4, **victim)
    scene.submit("modest", cpu=3, priority="low")
    assert scene.tick() == []
    return scene


def asked(scene: Scene, *tasks: TaskId, workload: int = 2) -> Displacement | str:
    return whole(Questions(scene.engine).plans.preemption(workload, tasks, scene.now))


@pytest.mark.parametrize("priority", ["batch", "low", "critical"])
def test_the_task_is_stopped_and_the_room_is_kept_for_the_work_that_waits(priority: str) -> None:
    scene = full(priority=priority)
    found = asked(scene, TaskId(1, 0))
    assert isinstance(found, Displacement)
    assert (found.tasks, [(one.name, one.node) for one in found.victims]) == (1, [("victim", "n1")])
    assert scene.stops == [], "a question stops nobody"
    scene.hear(PreemptionAsked(2, (TaskId(1, 0),)))
    assert [stop.reason for stop in scene.stops] == ["preempted by modest (workload 2)"]
    assert scene.why("modest") == ("preempting", "frees capacity for 1 task: waits for 1 task: victim.0")
    scene.submit("quick", cpu=4, priority="low")
    assert scene.tick() == [], "a victim that stops makes no room for others"
    assert scene.why("modest")[0] == "preempting"


def test_it_starts_once_the_victim_is_gone_and_the_victim_waits_again() -> None:
    scene = full(priority="low")
    scene.hear(PreemptionAsked(2, (TaskId(1, 0),)))
    scene.tick()
    scene.stopped()
    assert scene.tick() == ["modest.0"]
    assert scene.record("victim").state == "pending"
    assert scene.notebook.tasks_of(1)[0].reason == "preempted"


def test_room_that_did_not_help_is_given_to_others() -> None:
    scene = full(priority="low")
    scene.hear(PreemptionAsked(2, (TaskId(1, 0),)))
    scene.tick()
    scene.hear(NodeCordoned("n1", True, "maintenance"))
    scene.stopped()
    scene.tick()
    scene.hear(NodeCordoned("n1", False, ""))
    scene.tick()
    assert not scene.engine._state.promises.of_work, "nothing is kept for work that did not come"


def test_what_it_cannot_do_it_says_and_does_not() -> None:
    scene = full(disruption={"allowed": False})
    cases = {
        (TaskId(1, 0),): "victim.0 must not be disturbed",
        (TaskId(2, 0),): "modest.0 holds no node",
        (TaskId(9, 0),): "task 9.0 holds no node",
        (): "no task is named",
    }
    for tasks, words in cases.items():
        found = asked(scene, *tasks)
        assert isinstance(found, str)
        assert words in found
        scene.hear(PreemptionAsked(2, tasks))
    assert "no task of victim waits" in str(asked(scene, workload=1))
    assert asked(scene, workload=7) == "it has ended"
    assert scene.stops == []


def test_tasks_that_would_not_help_are_left_alone() -> None:
    scene = Scene()
    scene.join("n1", cpu=4)
    scene.run("small", cpu=1)
    scene.run("rest", cpu=3)
    scene.submit("modest", cpu=3, priority="low")
    scene.tick()
    assert "modest would still not fit" in str(asked(scene, TaskId(1, 0), workload=3))
    assert isinstance(asked(scene, TaskId(2, 0), workload=3), Displacement)
