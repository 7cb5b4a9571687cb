"""What needs a person: nodes that do not answer, gangs that wait although enough is free, work that fits nowhere."""

from typing import Any

from tests.unit.engine.scene import Scene

from dovetail.engine.pieces import whole
from dovetail.engine.questions.attention_questions import EngineFindings
from dovetail.engine.questions.questions import Questions
from dovetail.model.event import NodeHealthChanged

GANG: dict[str, Any] = {"gang": {"min": 2}, "topology": {"required": "rack"}, "replicas": 2}


def findings(scene: Scene) -> EngineFindings:
    return whole(Questions(scene.engine).attention.findings())


def racks() -> Scene:
    """Two racks with two nodes of four GPUs each."""
    scene = Scene()
    for rack in ("r1", "r2"):
        for i in (1, 2):
            scene.join(f"{rack}-{i}", 8, capacity={"gpu": 4}, labels={"rack": rack})
    return scene


def test_nothing_is_found_where_all_is_well() -> None:
    scene = racks()
    scene.submit("runs", 1)
    scene.tick()
    assert findings(scene) == EngineFindings([], [], [], [], [])


def test_a_silent_node_is_named_with_the_tasks_on_it() -> None:
    scene = Scene()
    scene.join("a", 4)
    scene.submit("on-it", 1, replicas=2)
    scene.tick()
    scene.join("idle", 4)
    scene.hear(NodeHealthChanged("a", False, "silent for 14 s"))
    scene.hear(NodeHealthChanged("idle", False, ""))
    found = findings(scene).silent
    assert [(one.name, one.reason, one.tasks) for one in found] == [("a", "silent for 14 s", 2), ("idle", "", 0)]


def test_gangs_that_wait_for_a_domain_although_enough_gpus_are_free() -> None:
    scene = racks()
    for rack in ("r1", "r2"):
        scene.submit(f"fills-{rack}", 1, resources={"cpu": 1, "gpu": 2}, node_selector={"rack": rack})
    scene.tick()
    for i in range(3):
        scene.submit(f"gang{i}", 1, resources={"cpu": 1, "gpu": 4}, **GANG)
    scene.tick()
    found = findings(scene)
    assert sum(one.count for one in found.split) == 3
    first = found.split[0]
    assert (first.level, first.needed, first.free, first.largest_free, first.largest_gpus) == ("rack", 8, 12, 6, 8)
    assert first.largest in ("r1", "r2")
    assert found.never == []
    assert [(queue, head.name) for queue, head in found.heads] == [("default", "gang0")]


def test_gangs_that_wait_because_too_little_is_free_need_no_attention() -> None:
    scene = racks()
    scene.submit("fills", 1, resources={"cpu": 1, "gpu": 4}, replicas=3)
    scene.tick()
    scene.submit("gang", 1, resources={"cpu": 1, "gpu": 4}, **GANG)
    scene.tick()
    assert findings(scene).split == []


def test_work_that_no_node_could_take_is_told_from_work_that_waits_for_its_turn() -> None:
    scene = Scene()
    scene.join("a", 4)
    scene.submit("fills", 4)
    scene.tick()
    scene.submit("waits", 4)
    scene.submit("huge", 99)
    scene.submit("huge-too", 99)
    scene.submit("picky", 1, node_selector={"colour": "green"})
    scene.submit("crowd", 1, replicas=5, gang={"min": 5})
    scene.tick()
    never = {one.example.name: one for one in findings(scene).never}
    assert set(never) == {"huge", "picky", "crowd"}
    assert never["huge"].count == 2
    assert never["huge"].qualified
    assert "no node has 99 of cpu; the largest node, a, has 4" in never["huge"].why
    assert not never["picky"].qualified
    assert "colour" in never["picky"].why
    assert "room for 4" in never["crowd"].why
