"""NoExecute taints: running work leaves a node that it does not tolerate, at once or after as long as it bears it."""

from typing import Any

from tests.unit.engine.scene import Scene

TAINT = {"key": "maintenance", "effect": "NoExecute"}


def tolerating(seconds: float | None = None, **more: Any) -> dict[str, Any]:
    return {"tolerations": [{"key": "maintenance", "operator": "Exists", "toleration_seconds": seconds} | more]}


def tainted(scene: Scene, name: str, *taints: dict[str, str]) -> None:
    scene.join(name, taints=list(taints))


def test_work_without_a_toleration_leaves_at_once_and_runs_elsewhere() -> None:
    scene = Scene()
    scene.join("n1")
    scene.run("w")
    tainted(scene, "n1", TAINT)
    (stop,) = scene.stops
    assert stop.reason == "does not tolerate maintenance:NoExecute"
    scene.join("n2")
    assert scene.tick() == [], "it must not run twice"
    scene.stopped()
    assert scene.record("w").reason == "evicted"
    assert scene.tick() == ["w.0"]
    assert scene.on("w") == ["n2"]


def test_work_that_tolerates_the_taint_stays() -> None:
    scene = Scene()
    scene.join("n1")
    scene.run("w", **tolerating())
    tainted(scene, "n1", TAINT)
    scene.tick(10_000)
    assert scene.stops == []


def test_other_effects_move_nobody() -> None:
    scene = Scene()
    scene.join("n1")
    scene.run("w")
    tainted(scene, "n1", TAINT | {"effect": "NoSchedule"}, {"key": "slow", "effect": "PreferNoSchedule"})
    scene.tick(10_000)
    assert scene.stops == []


def test_work_that_bears_it_for_a_while_leaves_when_that_is_over() -> None:
    scene = Scene()
    scene.join("n1")
    scene.run("w", **tolerating(60))
    tainted(scene, "n1", TAINT)
    assert scene.wakes[-1] == 60.0, "the loop is asked for a tick at that moment"
    scene.tick(59)
    assert scene.stops == []
    scene.tick(1)
    assert len(scene.stops) == 1


def test_the_shortest_of_several_tolerations_counts() -> None:
    scene = Scene()
    scene.join("n1")
    tolerations = [
        {"key": "maintenance", "operator": "Exists", "toleration_seconds": 300},
        {"operator": "Exists", "toleration_seconds": 30},
    ]
    scene.run("w", tolerations=tolerations)
    tainted(scene, "n1", TAINT)
    scene.tick(29)
    assert scene.stops == []
    scene.tick(1)
    assert len(scene.stops) == 1


def test_a_taint_that_is_gone_in_time_evicts_nobody() -> None:
    scene = Scene()
    scene.join("n1")
    scene.run("w", **tolerating(60))
    tainted(scene, "n1", TAINT)
    scene.tick(30)
    tainted(scene, "n1")
    scene.tick(100)
    assert scene.stops == []
    tainted(scene, "n1", TAINT)
    scene.tick(59)
    assert scene.stops == [], "the time begins anew with a new taint"
    scene.tick(1)
    assert len(scene.stops) == 1


def test_hearing_of_the_same_taint_again_does_not_begin_the_time_anew() -> None:
    scene = Scene()
    scene.join("n1")
    scene.run("w", **tolerating(60))
    tainted(scene, "n1", TAINT)
    scene.tick(40)
    tainted(scene, "n1", TAINT)
    scene.tick(20)
    assert len(scene.stops) == 1


def test_work_that_moved_meanwhile_is_not_evicted_from_its_new_node() -> None:
    scene = Scene()
    scene.join("n1")
    scene.run("w", retries=1, **tolerating(60))
    tainted(scene, "n1", TAINT)
    scene.tick(30)
    scene.join("n2", taints=[TAINT])
    scene.leave("n1")
    assert scene.tick() == ["w.0"]
    scene.started("w")
    before = len(scene.stops)
    scene.tick(40)
    assert len(scene.stops) == before, "its time on the new node has just begun"
    scene.tick(21)
    assert len(scene.stops) == before + 1


def test_work_placed_on_a_node_with_a_taint_that_it_bears_for_a_while_leaves_when_that_is_over() -> None:
    scene = Scene()
    scene.join("n1", taints=[TAINT])
    scene.run("w", **tolerating(60))
    scene.tick(59)
    assert scene.stops == []
    scene.tick(1)
    assert len(scene.stops) == 1


def test_after_a_restart_work_still_leaves_what_it_does_not_bear_for_ever() -> None:
    scene = Scene()
    scene.join("n1")
    scene.run("w", **tolerating(60))
    tainted(scene, "n1", TAINT)
    scene.tick(30)
    scene.restart()
    scene.tick(1)
    scene.tick(61)
    assert len(scene.stops) == 1


def test_a_gang_that_loses_members_to_a_taint_goes_whole() -> None:
    scene = Scene()
    scene.join("n1", cpu=1)
    scene.join("n2", cpu=1)
    scene.run("g", replicas=2, gang={"min": 2})
    tainted(scene, "n1", TAINT)
    scene.stopped()
    scene.stopped()
    assert scene.on("g") == []


def test_cancelling_what_is_being_evicted_ends_it() -> None:
    scene = Scene()
    scene.join("n1")
    scene.run("w")
    tainted(scene, "n1", TAINT)
    scene.cancel("w")
    scene.stopped()
    assert scene.record("w").state == "cancelled"
