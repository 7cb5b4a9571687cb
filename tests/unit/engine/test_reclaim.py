"""Reclaim: a queue within its guarantee takes back what others borrow, and nobody takes the same room in turns."""

import pytest
from tests.unit.engine.scene import Scene

SHARED_OUT = {"queues": {"ml": {"guaranteed": {"cpu": 2}}, "web": {"guaranteed": {"cpu": 2}}}}


@pytest.mark.parametrize("wanted", ["critical", "medium", "batch"])
@pytest.mark.parametrize("borrowed", ["critical", "medium", "batch"])
def test_a_queue_within_its_guarantee_takes_back_what_others_borrow_whatever_the_priority(
    wanted: str, borrowed: str
) -> None:
    scene = Scene(**SHARED_OUT)
    scene.join("n1", cpu=4)
    scene.run("train", replicas=4, queue="ml", priority=borrowed)
    scene.submit("site", replicas=1, queue="web", priority=wanted)
    scene.tick()
    assert len(scene.stopping()) == 1
    scene.stopped()
    assert scene.tick() == ["site.0"]


def test_nothing_is_taken_back_beyond_the_guarantee() -> None:
    scene = Scene(**SHARED_OUT)
    scene.join("n1", cpu=4)
    scene.run("train", replicas=4, queue="ml")
    scene.submit("site", replicas=4, queue="web")
    for _ in range(6):
        scene.tick()
        scene.stopped()
    assert len(scene.on("site")) == 2
    assert len(scene.on("train")) == 2


def test_two_queues_do_not_take_the_same_room_from_each_other_for_ever() -> None:
    scene = Scene(**SHARED_OUT)
    scene.join("n1", cpu=4)
    scene.run("train", replicas=4, queue="ml")
    scene.submit("site", replicas=4, queue="web")
    for _ in range(20):
        scene.tick(10)
        scene.stopped()
    assert len(scene.stops) == 2


def test_urgent_work_beyond_its_guarantee_does_not_take_back_what_was_reclaimed_from_it() -> None:
    scene = Scene(**SHARED_OUT)
    scene.join("n1", cpu=4)
    scene.run("train", replicas=4, queue="ml", priority="critical")
    scene.submit("site", replicas=4, queue="web", priority="batch")
    for _ in range(20):
        scene.tick(10)
        scene.stopped()
    assert len(scene.on("site")) == len(scene.on("train")) == 2
    assert len(scene.stops) == 2


def test_urgent_work_displaces_what_others_borrow_but_not_what_they_were_guaranteed() -> None:
    scene = Scene(**SHARED_OUT)
    scene.join("n1", cpu=4)
    scene.run("site", replicas=4, queue="web", priority="batch")
    scene.submit("urgent", replicas=4, priority="critical")
    for _ in range(20):
        scene.tick(10)
        scene.stopped()
    assert len(scene.on("urgent")) == 2
    assert len(scene.on("site")) == 2
