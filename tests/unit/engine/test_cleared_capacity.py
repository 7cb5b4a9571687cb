"""Room that victims are leaving: kept for the preemptor, whatever happens meanwhile, and for nobody else."""

from tests.unit.engine.scene import Scene


def test_nobody_else_takes_the_room_while_the_victims_stop_one_after_the_other() -> None:
    scene = Scene()
    scene.join("n1", cpu=2)
    scene.run("victims", replicas=2, priority="batch")
    scene.submit("urgent", cpu=2, priority="high")
    scene.tick()
    scene.submit("quick", priority="medium", deadline={"run_for": 1})
    scene.submit("equal", priority="high")
    scene.end("victims", 0, code=None)
    assert scene.tick() == []
    scene.end("victims", 1, code=None)
    assert scene.tick() == ["urgent.0"]


def test_the_room_is_kept_also_if_the_victims_take_longer_to_stop_than_the_preemptor_runs() -> None:
    scene = Scene()
    scene.join("n1", cpu=2)
    scene.run("victims", replicas=2, priority="batch")
    scene.submit("urgent", cpu=2, priority="high", deadline={"run_for": 10})
    scene.tick()
    scene.submit("quick", priority="medium")
    scene.tick(60)
    scene.end("victims", 0, code=None)
    assert scene.tick(1) == []
    scene.end("victims", 1, code=None)
    assert scene.tick() == ["urgent.0"]


def test_a_more_urgent_one_may_take_the_room_that_was_being_made() -> None:
    scene = Scene()
    scene.join("n1", cpu=1)
    scene.run("victim", priority="batch")
    scene.submit("medium", priority="medium")
    scene.tick()
    scene.submit("critical", priority="critical")
    scene.tick()
    scene.stopped()
    assert scene.tick() == ["critical.0"]
    assert len(scene.stops) == 1


def test_nobody_more_is_displaced_while_the_victims_stop() -> None:
    scene = Scene()
    scene.join("n1", cpu=1)
    scene.join("n2", cpu=1)
    scene.run("filler", replicas=2, priority="batch")
    scene.submit("urgent", priority="high")
    scene.tick()
    for _ in range(5):
        scene.join("n3", cpu=0.5)
        scene.tick(10)
    assert len(scene.stops) == 1


def test_room_that_comes_free_elsewhere_meanwhile_is_taken_and_the_victims_run_again() -> None:
    scene = Scene()
    scene.join("n1", cpu=1)
    scene.run("victim", priority="batch")
    scene.submit("urgent", priority="high")
    scene.tick()
    scene.join("n2", cpu=1)
    assert scene.tick() == ["urgent.0"]
    scene.stopped()
    assert scene.tick() == ["victim.0"]


def test_a_preemptor_goes_where_others_gave_way_for_it_though_a_better_node_has_come_meanwhile() -> None:
    scene = Scene()
    scene.join("n1", cpu=1)
    scene.run("victim", priority="batch")
    scene.submit("urgent", priority="high")
    scene.tick()
    scene.stopped()
    scene.join("n2", cpu=64)
    scene.tick()
    assert scene.on("urgent") == ["n1"]
    assert scene.on("victim") == ["n2"]


def test_a_preemptor_that_is_cancelled_while_its_victims_stop_leaves_the_room_to_others() -> None:
    scene = Scene()
    scene.join("n1", cpu=1)
    scene.run("victim", priority="batch")
    scene.submit("urgent", priority="high")
    scene.tick()
    scene.cancel("urgent")
    assert not scene.engine._state.promises.of_work
    scene.stopped()
    assert scene.tick() == ["victim.0"]


def test_a_node_that_leaves_with_the_victims_sends_the_preemptor_elsewhere() -> None:
    scene = Scene()
    scene.join("n1", cpu=1)
    scene.join("n2", cpu=1)
    scene.run("v", replicas=2, priority="batch")
    scene.submit("urgent", priority="high")
    scene.tick()
    node = next(live.node for _, live in scene._tasks("v") if live.state == "stopping")
    assert node is not None
    scene.leave(node)
    scene.tick()
    assert len(scene.stopping()) == 1
    scene.stopped()
    assert scene.tick() == ["urgent.0"]


def test_a_node_that_falls_silent_with_its_room_sends_the_preemptor_elsewhere() -> None:
    scene = Scene()
    scene.join("n1", cpu=1)
    scene.run("v1", priority="batch")
    scene.join("n2", cpu=1)
    scene.run("v2", priority="batch", disruption={"min_run_time": "1h"})
    scene.submit("urgent", priority="high")
    scene.tick()
    assert scene.stopping() == ["v1.0"]
    scene.join("n1", cpu=1, taints=[{"key": "off", "effect": "NoSchedule"}])
    scene.stopped()
    scene.tick()
    assert scene.stopping() == ["v2.0"]


def test_after_a_restart_the_preemptor_waits_for_the_same_victims() -> None:
    scene = Scene()
    scene.join("n1", cpu=1)
    scene.join("n2", cpu=1)
    scene.run("filler", replicas=2, priority="batch")
    scene.submit("urgent", priority="high")
    scene.tick()
    scene.restart()
    scene.tick()
    assert len(scene.stops) == 1
    scene.stopped()
    assert scene.tick() == ["urgent.0"]


def test_a_victim_that_ends_well_before_it_is_stopped_has_ended_well() -> None:
    scene = Scene()
    scene.join("n1", cpu=1)
    scene.run("victim", priority="batch")
    scene.submit("urgent", priority="high")
    scene.tick()
    scene.end("victim", code=0)
    assert scene.record("victim").state == "succeeded"
    assert scene.tick() == ["urgent.0"]


def test_a_victim_that_is_cancelled_while_it_stops_does_not_come_back() -> None:
    scene = Scene()
    scene.join("n1", cpu=1)
    scene.run("victim", priority="batch")
    scene.submit("urgent", priority="high")
    scene.tick()
    scene.cancel("victim")
    scene.stopped()
    assert scene.tick() == ["urgent.0"]
    assert scene.record("victim").state == "cancelled"
