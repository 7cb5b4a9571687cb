"""Work that stays up: a task that has ended starts again, however it ended, until the workload is cancelled."""

from typing import Any

import pytest
from tests.unit.engine.scene import Scene

from dovetail.engine.events.tasks import CALM_RUN_S
from dovetail.model.command import Stop, attempt_key
from dovetail.model.event import NodeDrained, TaskFinished, TaskRestartAsked
from dovetail.model.failure_cause import FailureCause
from dovetail.model.task import TaskId, TaskState, WorkloadState

NO_JITTER = {"backoff": {"first": "1s", "most": "60s", "jitter": 0}}


def running(**fields: Any) -> Scene:
    scene = Scene(**NO_JITTER)
    scene.join("a")
    scene.run("web", restart="always", **fields)
    return scene


def again(scene: Scene, pause_s: float) -> None:
    """After its pause, and not before, it is placed and starts."""
    assert scene.tick(pause_s - 0.01) == []
    assert scene.tick(0.02) == ["web.0"]
    scene.started("web")


def ask(scene: Scene, key: str | None = None) -> list[Any]:
    task = TaskId(scene.ids["web"], 0)
    live = scene.work("web").task(0)
    return scene.hear(TaskRestartAsked(task, key or attempt_key(task, live.attempt), "its liveness check failed"))


@pytest.mark.parametrize("code", [0, 1, None])
def test_a_task_that_ended_starts_again_however_it_ended(code: int | None) -> None:
    scene = running()
    scene.end("web", code=code)
    assert scene.record("web").state is WorkloadState.PENDING
    assert scene.why("web")[0] == "restarted"
    again(scene, 1)
    assert scene.record("web").state is WorkloadState.RUNNING
    assert scene.work("web").task(0).attempt == 2


def test_without_it_a_task_that_ended_has_ended() -> None:
    scene = Scene(**NO_JITTER)
    scene.join("a")
    scene.run("job")
    scene.end("job")
    assert scene.record("job").state is WorkloadState.SUCCEEDED


def test_pauses_grow_and_the_third_short_run_is_shown_as_a_crash_loop() -> None:
    scene = running()
    for pause_s, reason in ((1, "restarted"), (2, "restarted"), (4, "crash_loop"), (8, "crash_loop")):
        scene.end("web", code=3)
        found, message = scene.why("web")
        assert found == reason
        assert message.startswith("exit status 3; restart ")
        again(scene, pause_s)


def test_a_long_run_makes_the_pause_short_again() -> None:
    scene = running()
    for pause_s in (1, 2, 4):
        scene.end("web", code=3)
        again(scene, pause_s)
    scene.now += CALM_RUN_S
    scene.end("web", code=3)
    assert scene.why("web")[0] == "restarted"
    again(scene, 1)


def test_a_lost_machine_is_no_crash_of_the_task() -> None:
    scene = running()
    for _ in range(5):
        task = TaskId(scene.ids["web"], 0)
        key = attempt_key(task, scene.work("web").task(0).attempt)
        scene.hear(TaskFinished(task, key, None, "the machine restarted", FailureCause.NODE))
        assert scene.why("web")[0] == "restarted"
        again(scene, 1)


def test_cancelled_it_ends_and_stays_ended() -> None:
    scene = running()
    scene.cancel("web")
    scene.end("web", code=0)  # it ended well when it was told to stop
    assert scene.record("web").state is WorkloadState.CANCELLED
    assert scene.tick(1000) == []


def test_cancelled_while_it_waits_to_start_again_it_ends() -> None:
    scene = running()
    scene.end("web", code=1)
    scene.cancel("web")
    assert scene.record("web").state is WorkloadState.CANCELLED
    assert scene.tick(1000) == []


def test_a_drain_moves_it_at_once_and_is_no_crash() -> None:
    scene = running()
    scene.join("b")
    scene.hear(NodeDrained("a", "maintenance"))
    scene.stopped("web")
    assert scene.tick() == ["web.0"]
    assert scene.on("web") == ["b"]
    assert scene.work("web").task(0).failures == 0


def test_a_drain_also_moves_one_that_ends_by_itself_meanwhile() -> None:
    scene = running()
    scene.join("b")
    scene.hear(NodeDrained("a", "maintenance"))
    scene.end("web", code=0)
    assert scene.tick() == ["web.0"]
    assert scene.on("web") == ["b"]


def test_a_restart_of_the_server_keeps_the_count_and_the_pause() -> None:
    scene = running()
    for pause_s in (1, 2):
        scene.end("web", code=3)
        scene.restart()
        again(scene, pause_s)
        scene.restart()
    scene.end("web", code=3)
    scene.restart()
    assert scene.work("web").task(0).reason == "crash_loop"
    again(scene, 4)


def test_each_task_has_a_count_of_its_own() -> None:
    scene = running(replicas=2)
    for _ in range(3):
        scene.end("web", 0, code=3)
        scene.tick(100)
        scene.started("web")
    scene.end("web", 1, code=3)
    assert [scene.work("web").task(replica).failures for replica in (0, 1)] == [3, 1]
    assert scene.work("web").task(1).reason == "restarted"


# --- asked for, because a health check failed ----------------------------------------------------------------


def test_a_task_that_fails_its_check_is_stopped_and_started_again_after_a_pause() -> None:
    scene = running()
    (stop,) = ask(scene)
    assert isinstance(stop, Stop)
    assert scene.work("web").task(0).state is TaskState.STOPPING
    scene.stopped("web")
    reason, message = scene.why("web")
    assert (reason, message) == ("restarted", "its liveness check failed; restart 1 in 1.0 s")
    again(scene, 1)


def test_three_failed_checks_are_a_crash_loop() -> None:
    scene = running()
    for pause_s in (1, 2, 4):
        ask(scene)
        scene.end("web", code=143)
        again(scene, pause_s)
    assert scene.work("web").task(0).failures == 3


def test_a_restart_of_the_server_while_it_stops_changes_nothing() -> None:
    scene = running()
    ask(scene)
    scene.restart()
    scene.stopped("web")
    assert scene.why("web") == ("restarted", "its liveness check failed; restart 1 in 1.0 s")
    again(scene, 1)


def test_asking_twice_or_for_an_earlier_attempt_stops_nothing() -> None:
    scene = running()
    first = attempt_key(TaskId(scene.ids["web"], 0), 1)
    assert len(ask(scene)) == 1
    assert ask(scene) == []
    scene.stopped("web")
    assert ask(scene, first) == []
    again(scene, 1)
    assert ask(scene, first) == []
    assert scene.work("web").task(0).state is TaskState.RUNNING


def test_a_cancellation_while_it_stops_wins() -> None:
    scene = running()
    ask(scene)
    scene.cancel("web")
    scene.stopped("web")
    assert scene.record("web").state is WorkloadState.CANCELLED


def test_work_that_would_not_start_again_is_not_stopped() -> None:
    scene = Scene()
    scene.join("a")
    scene.run("web")
    assert ask(scene) == []
