"""Nodes on which placements keep failing get nothing for a while, say so, and are tried again."""

from typing import Any

from tests.unit.engine.scene import Scene

from dovetail.model.command import attempt_key
from dovetail.model.event import BindFailed, NodeCordoned
from dovetail.model.task import TaskId

QUARANTINE: dict[str, Any] = {
    "quarantine": {"failures": 3, "pause": 60, "most": 150},
    "max_bind_failures": 100,
    "backoff": {"first": 0.1, "most": 0.1, "jitter": 0},
}


def refuse(scene: Scene, name: str, replica: int = 0) -> None:
    task = TaskId(scene.ids[name], replica)
    scene.hear(BindFailed(task, attempt_key(task, scene.work(name).task(replica).attempt), "no such image"))


def fail_on(scene: Scene, name: str, times: int) -> None:
    for _ in range(times):
        assert scene.tick(0.2) == [f"{name}.0"]
        refuse(scene, name)


def test_a_node_on_which_placements_keep_failing_gets_nothing_for_a_while_and_says_so() -> None:
    scene = Scene(**QUARANTINE)
    scene.join("bad")
    scene.submit("w")
    fail_on(scene, "w", 3)
    words = "quarantined for 60 s: 3 placements in a row failed there, last: no such image"
    assert scene.notebook.nodes["bad"].reason == words
    assert scene.tick(1) == []
    assert "1 quarantined" in scene.why("w")[1] or "quarantine" in scene.why("w")[1]
    assert scene.tick(58) == []
    assert scene.tick(1.2) == ["w.0"]
    assert scene.notebook.nodes["bad"].reason == ""


def test_a_node_that_fails_its_probe_goes_back_for_longer_each_time_up_to_the_most() -> None:
    scene = Scene(**QUARANTINE)
    scene.join("bad")
    scene.submit("w")
    fail_on(scene, "w", 3)
    for pause_s in (60, 120, 150, 150):
        assert f"quarantined for {pause_s} s" in scene.notebook.nodes["bad"].reason
        assert scene.tick(pause_s - 1) == []
        assert scene.tick(2) == ["w.0"]
        refuse(scene, "w")


def test_a_placement_that_holds_lifts_the_suspicion() -> None:
    scene = Scene(**QUARANTINE)
    scene.join("n1")
    scene.submit("w")
    fail_on(scene, "w", 2)
    scene.submit("good")
    scene.tick(0.2)
    scene.started("good")
    scene.started("w")
    scene.end("w", code=0)
    scene.submit("again")
    fail_on(scene, "again", 2)
    assert scene.notebook.nodes["n1"].reason == ""
    fail_on(scene, "again", 1)
    assert "quarantined for 60 s" in scene.notebook.nodes["n1"].reason


def test_work_goes_elsewhere_while_a_node_is_in_quarantine() -> None:
    scene = Scene(**QUARANTINE)
    scene.join("bad")
    scene.submit("w")
    fail_on(scene, "w", 3)
    scene.join("good")
    assert scene.tick(0.2) == ["w.0"]
    assert scene.on("w") == ["good"]


def test_a_success_on_a_node_in_quarantine_lifts_it_at_once() -> None:
    scene = Scene(**QUARANTINE)
    scene.join("n1")
    scene.submit("slow")
    scene.tick()
    scene.submit("w")
    fail_on(scene, "w", 3)
    assert scene.notebook.nodes["n1"].reason
    scene.started("slow")
    assert scene.notebook.nodes["n1"].reason == ""
    assert scene.tick(0.2) == ["w.0"]


def test_a_node_that_left_takes_its_quarantine_with_it() -> None:
    scene = Scene(**QUARANTINE)
    scene.join("n1")
    scene.submit("w")
    fail_on(scene, "w", 3)
    scene.leave("n1")
    scene.join("n1")
    assert scene.tick(0.2) == ["w.0"]
    scene.tick(1000)


def test_uncordon_ends_a_quarantine_at_once() -> None:
    scene = Scene(**QUARANTINE)
    scene.join("bad")
    scene.submit("w")
    fail_on(scene, "w", 3)
    assert scene.tick(1) == []
    scene.hear(NodeCordoned("bad", False, ""))
    assert scene.tick(0.2) == ["w.0"]
    refuse(scene, "w")
    assert scene.tick(0.2) == ["w.0"], "one more failure is the first of a new count"
