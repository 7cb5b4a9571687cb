"""An attempt that ends while its task goes on is recorded: where it was, from when until when, and how it ended."""

from tests.unit.engine.scene import Scene

from dovetail.model.command import Move
from dovetail.model.event import NodeDrained, RetryAsked, TaskMoved


def test_each_retry_leaves_a_record_of_the_attempt_before() -> None:
    scene = Scene(backoff={"first": 1, "most": 1, "jitter": 0})
    scene.join("n1")
    scene.run("w", retries=1)
    scene.tick(10)
    scene.end("w", code=3)
    [first] = scene.attempts
    assert (first.attempt, first.node, first.started_at, first.ended_at) == (1, "n1", 0.0, 10.0)
    assert (first.reason, first.exit_code) == ("failed", 3)
    assert scene.work("w").task(0).exit_code is None, "the next attempt has not ended"
    scene.tick(1)
    scene.started("w")
    scene.end("w")
    assert len(scene.attempts) == 1, "the last attempt is in the record of the task"


def test_a_drain_ends_an_attempt_on_its_node() -> None:
    scene = Scene()
    scene.join("n1")
    scene.run("w")
    scene.hear(NodeDrained("n1", "maintenance"))
    scene.tick(5)
    scene.stopped("w")
    [first] = scene.attempts
    assert (first.node, first.ended_at, first.reason, first.exit_code) == ("n1", 5.0, "evicted", None)


def test_a_node_that_leaves_ends_the_attempts_that_ran_there() -> None:
    scene = Scene()
    scene.join("n1")
    scene.run("w", replicas=2)
    scene.leave("n1")
    assert [(one.task.replica, one.node) for one in scene.attempts] == [(0, "n1"), (1, "n1")]


def test_a_live_migration_is_recorded_with_the_node_that_was_left() -> None:
    scene = Scene()
    scene.join("n1")
    scene.run("w")
    scene.join("n2")
    (move,) = scene.hear(NodeDrained("n1", "maintenance"))
    assert isinstance(move, Move)
    scene.tick(5)
    scene.hear(TaskMoved(move.task, move.key, "n2"))
    scene.hear(TaskMoved(move.task, move.key, "n2"))
    [left] = scene.attempts
    assert (left.attempt, left.node, left.ended_at, left.reason) == (1, "n1", 5.0, "moved")
    assert scene.work("w").task(0).started_at == 0.0


def test_a_task_that_waits_has_no_attempt_to_record() -> None:
    scene = Scene()
    scene.submit("w")
    scene.tick()
    scene.cancel("w")
    assert scene.attempts == []


def test_a_failed_task_that_is_asked_for_again_keeps_its_attempt_on_record() -> None:
    scene = Scene()
    scene.join("n1")
    scene.run("w", replicas=2)
    scene.tick(5)
    scene.end("w", 0, code=3)
    scene.tick(7)
    scene.hear(RetryAsked(scene.ids["w"], "again"))
    [first] = scene.attempts
    assert (first.node, first.ended_at, first.reason, first.exit_code) == ("n1", 5.0, "failed", 3)
