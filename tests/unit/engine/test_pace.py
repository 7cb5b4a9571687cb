"""How quickly work runs on a node, and what follows for the next gang: a domain is known by what happened."""

from typing import Any

import pytest
from tests.unit.engine.scene import Scene

from dovetail.engine.lifecycle.node_outcomes import MAX_SLOWDOWN
from dovetail.model.event import DomainFailed
from dovetail.model.record import Outcomes

GANG: dict[str, Any] = {"replicas": 2, "gang": {"min": 2}}


def racks(*names: str) -> Scene:
    scene = Scene()
    for rack in names:
        for number in range(2):
            scene.join(f"{rack}{number}", cpu=1, labels={"rack": rack, "only": f"{rack}{number}"})
    return scene


def took(scene: Scene, name: str, seconds: float, **fields: Any) -> None:
    scene.run(name, **fields)
    scene.tick(seconds)
    scene.end_all(name)


def slowdown(scene: Scene, node: str) -> float | None:
    """The mean of what was noted for a node."""
    found = scene.engine._state.cluster.outcomes(node)
    return found.pace_sum / found.pace_weight if found.pace_weight else None


def test_a_task_is_as_slow_as_it_took_longer_than_others_of_its_kind() -> None:
    scene = racks("a", "b")
    took(scene, "one", 100.0, node_selector={"only": "a0"})
    assert slowdown(scene, "a0") is None, "nobody knew yet what is usual"
    took(scene, "two", 300.0, node_selector={"only": "b0"})
    assert slowdown(scene, "b0") == pytest.approx(3.0)
    took(scene, "three", 30.0, cpu=0.5, node_selector={"only": "b1"})
    assert slowdown(scene, "b1") is None, "it asks for something else: another kind"


def test_replicas_that_run_by_themselves_are_compared_with_each_other_and_those_of_a_gang_are_not() -> None:
    scene = racks("a")
    for name, fields in (("array", {"replicas": 2}), ("gang", GANG)):
        scene.run(name, **fields)
        scene.tick(100.0)
        scene.end(name, 0)
        scene.tick(100.0)
        scene.end(name, 1)
    paces = [slowdown(scene, node) for node in ("a0", "a1")]
    assert paces == [None, pytest.approx(2.0)], "only the second of the array; a gang takes as long as its slowest"


def test_no_single_task_moves_the_mean_by_more_than_its_share_and_later_ones_count_more() -> None:
    scene = racks("a")
    took(scene, "usual", 10.0, node_selector={"only": "a0"})
    for number in range(3):
        took(scene, f"usual-{number}", 10.0, node_selector={"only": "a1"})
    took(scene, "odd", 100_000.0, node_selector={"only": "a1"})
    noted = [1.0, 1.0, 1.0, MAX_SLOWDOWN]
    weights = [0.9**age for age in (3, 2, 1, 0)]
    mean = sum(w * one for w, one in zip(weights, noted, strict=True)) / sum(weights)
    assert slowdown(scene, "a1") == pytest.approx(mean)


def test_a_task_lost_with_its_node_counts_as_badly_slow_and_one_that_was_stopped_does_not_count() -> None:
    scene = racks("a", "b")
    for node in ("a0", "a1", "b0"):
        scene.run(f"on-{node}", node_selector={"only": node})
    scene.end("on-a0", code=None)
    scene.hear(DomainFailed("node", "a1", "smoke"))
    scene.cancel("on-b0")
    scene.stopped("on-b0")
    assert [slowdown(scene, node) for node in ("a0", "a1", "b0")] == [MAX_SLOWDOWN, MAX_SLOWDOWN, None]
    assert scene.engine._state.cluster.outcomes("a0")[:2] == (0, 0), "it neither succeeded nor failed"


def test_a_gang_keeps_away_from_the_rack_where_work_was_slow() -> None:
    scene = racks("a", "b")
    for name, rack, seconds in (("g1", "a", 300.0), ("g2", "b", 100.0), ("g3", "a", 300.0), ("g4", "b", 100.0)):
        took(scene, name, seconds, node_selector={"rack": rack}, **GANG)
    scene.run("next", topology={"required": "rack", "strategy": "balanced"}, **GANG)
    assert scene.on("next") == ["b0", "b1"], "else the first of equals would be taken"
    (note,) = [note for note in scene.decisions[-1].explanation.notes if note.startswith("strategy")]
    assert note == (
        "strategy balanced: rack b has 65 points (availability 1, alignment 0.5, utilisation 0, history 1), "
        "rack a 58.3 points (availability 1, alignment 0.5, utilisation 0, history 0.33)"
    )


def test_what_was_learned_of_nodes_and_of_kinds_survives_a_restart() -> None:
    scene = racks("a", "b")
    took(scene, "one", 100.0, node_selector={"only": "a0"})
    took(scene, "two", 300.0, node_selector={"only": "b0"})
    before = scene.engine._state.cluster.outcomes("b0")
    assert before == Outcomes(1, 0, 3.0, 1.0)
    scene.notebook.memory |= scene.engine.memory(scene.now)
    scene.restart()
    assert scene.engine._state.cluster.outcomes("b0") == before
    took(scene, "three", 150.0, node_selector={"only": "b1"})
    assert slowdown(scene, "b1") == pytest.approx(1.5), "of two that ended before, the shorter took 100 seconds"
