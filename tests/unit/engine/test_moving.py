"""Moving a task to another node: capacity on both sides, live migration, and what happens in between."""

from tests.unit.engine.scene import Scene

from dovetail.model.command import Command, Move, Stop
from dovetail.model.event import MoveAsked, MoveRefused, NodeDrained, TaskMoved
from dovetail.model.task import TaskId, TaskState


def free_cpu(scene: Scene, node: str) -> float:
    cluster = scene.engine._state.cluster
    return float(cluster.resources.free[cluster.resources.index["cpu"], cluster.rows[node]]) / 1000


def running_on_a(**more: object) -> Scene:
    """`web` runs on node a; node b is empty."""
    scene = Scene(**more)
    scene.join("a", cpu=4)
    scene.run("web", cpu=3)
    scene.join("b", cpu=4)
    return scene


def drain(scene: Scene, node: str) -> list[Command]:
    return scene.hear(NodeDrained(node, "maintenance"))


def test_a_drain_moves_a_task_and_holds_capacity_on_both_sides() -> None:
    scene = running_on_a()
    (move,) = drain(scene, "a")
    assert isinstance(move, Move)
    assert (move.node, move.target, move.key) == ("a", "b", "1.0.1")
    assert free_cpu(scene, "a") == 1, "the task still runs there"
    assert free_cpu(scene, "b") == 1, "nobody else may have its place"
    scene.submit("other", cpu=2)
    assert scene.tick() == []
    scene.stopped("web")
    assert scene.tick() == ["web.0"]
    assert scene.on("web") == ["b"]
    assert free_cpu(scene, "b") == 1


def test_the_decision_about_a_moved_task_tells_why_it_went_there() -> None:
    scene = running_on_a()
    drain(scene, "a")
    scene.stopped("web")
    scene.tick()
    told = scene.decisions[-1].explanation
    assert told.funnel
    assert told.best[0].node == "b"


def test_a_task_without_another_node_is_evicted() -> None:
    scene = Scene()
    scene.join("a", cpu=4)
    scene.run("web", cpu=3)
    (stop,) = drain(scene, "a")
    assert type(stop) is Stop


def test_a_restart_in_the_middle_of_a_move_keeps_both_sides() -> None:
    scene = running_on_a()
    drain(scene, "a")
    scene.restart()
    assert (free_cpu(scene, "a"), free_cpu(scene, "b")) == (1, 1)
    scene.submit("other", cpu=2)
    assert scene.tick() == []
    scene.stopped("web")
    assert scene.tick() == ["web.0"]
    scene.restart()
    assert free_cpu(scene, "b") == 1, "what was held for it is not held twice"


def test_a_task_that_was_migrated_live_continues_under_its_key() -> None:
    scene = running_on_a()
    (move,) = drain(scene, "a")
    assert isinstance(move, Move)
    assert move.live
    scene.hear(TaskMoved(move.task, move.key, "b"))
    live = scene.work("web").task(0)
    assert (live.state, live.node, live.attempt) == (TaskState.RUNNING, "b", 1)
    assert (free_cpu(scene, "a"), free_cpu(scene, "b")) == (4, 1)
    assert scene.hear(TaskMoved(move.task, move.key, "b")) == [], "reports repeat"
    assert scene.tick() == []
    scene.restart()
    assert scene.on("web") == ["b"]
    scene.end("web")
    assert scene.record("web").state == "succeeded"


def test_a_task_that_was_cancelled_while_it_migrated_is_stopped_on_its_target() -> None:
    scene = running_on_a()
    (move,) = drain(scene, "a")
    assert isinstance(move, Move)
    scene.cancel("web")
    (stop,) = scene.hear(TaskMoved(move.task, move.key, "b"))
    assert isinstance(stop, Stop)
    assert (stop.node, stop.key) == ("b", move.key)
    scene.stopped("web")
    assert scene.record("web").state == "cancelled"
    assert free_cpu(scene, "b") == 4


def test_an_attempt_that_arrives_after_it_was_given_up_is_stopped() -> None:
    scene = running_on_a()
    (move,) = drain(scene, "a")
    assert isinstance(move, Move)
    scene.leave("a")
    (stop,) = scene.hear(TaskMoved(move.task, move.key, "b"))
    assert isinstance(stop, Stop)
    assert (stop.node, stop.key) == ("b", move.key)
    assert scene.tick() == ["web.0"], "the next attempt starts on the node that was kept for it"


def test_a_target_that_is_lost_ends_the_move_like_an_eviction() -> None:
    scene = running_on_a()
    drain(scene, "a")
    scene.leave("b")
    scene.join("c", cpu=4)
    scene.stopped("web")
    assert scene.tick() == ["web.0"]
    assert scene.on("web") == ["c"]


def test_a_move_can_be_asked_for() -> None:
    scene = running_on_a()
    task = TaskId(scene.ids["web"], 0)
    (move,) = scene.hear(MoveAsked(task, "b", "rebalancing"))
    assert isinstance(move, Move)
    assert move.target == "b"
    assert scene.hear(MoveAsked(task, "b", "again")) == []


def test_a_move_to_a_node_that_cannot_take_the_task_is_ignored() -> None:
    scene = running_on_a()
    scene.run("other", cpu=2)
    task = TaskId(scene.ids["web"], 0)
    assert scene.on("other") == ["b"]
    assert scene.hear(MoveAsked(task, "b", "rebalancing")) == []
    assert scene.hear(MoveAsked(task, "a", "it is there")) == []
    assert scene.hear(MoveAsked(task, "nowhere", "no such node")) == []
    assert scene.work("web").task(0).state is TaskState.RUNNING


def test_a_task_that_could_not_be_migrated_stays_and_its_target_is_free_again() -> None:
    scene = running_on_a()
    task = TaskId(scene.ids["web"], 0)
    (move,) = scene.hear(MoveAsked(task, "b", "nearer to its data"))
    assert isinstance(move, Move)
    scene.submit("other", cpu=4)
    assert scene.tick() == []
    assert scene.hear(MoveRefused(task, move.key, "its disk is local")) == []
    live = scene.work("web").task(0)
    assert (live.state, live.node, live.attempt) == (TaskState.RUNNING, "a", 1)
    assert live.message == "stays on a: its disk is local"
    assert scene.hear(MoveRefused(task, move.key, "its disk is local")) == [], "reports repeat"
    assert scene.tick() == ["other.0"], "what waited for the target is woken"
    scene.restart()
    assert scene.on("web") == ["a"]
    scene.end("web")
    assert scene.record("web").state == "succeeded"


def test_a_task_that_has_to_leave_its_node_is_stopped_if_it_cannot_be_migrated() -> None:
    scene = running_on_a()
    (move,) = drain(scene, "a")
    assert isinstance(move, Move)
    (stop,) = scene.hear(MoveRefused(move.task, move.key, "its disk is local"))
    assert stop == Stop(move.task, "a", move.backend, move.key, move.reason)
    scene.stopped("web")
    assert scene.tick() == ["web.0"]
    assert scene.on("web") == ["b"]


def test_a_node_that_is_drained_while_a_migration_fails_does_not_keep_its_task() -> None:
    scene = running_on_a()
    task = TaskId(scene.ids["web"], 0)
    (move,) = scene.hear(MoveAsked(task, "b", "nearer to its data"))
    assert isinstance(move, Move)
    assert drain(scene, "a") == []
    (stop,) = scene.hear(MoveRefused(task, move.key, "its disk is local"))
    assert isinstance(stop, Stop)


def test_a_task_that_was_cancelled_while_its_migration_failed_is_stopped() -> None:
    scene = running_on_a()
    task = TaskId(scene.ids["web"], 0)
    (move,) = scene.hear(MoveAsked(task, "b", "nearer to its data"))
    assert isinstance(move, Move)
    scene.cancel("web")
    (stop,) = scene.hear(MoveRefused(task, move.key, "its disk is local"))
    assert isinstance(stop, Stop)
    scene.stopped("web")
    assert scene.record("web").state == "cancelled"
