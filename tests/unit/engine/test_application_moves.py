"""Which running tasks would move so that those that exchange traffic are nearer to each other."""

from typing import Any

import pytest
from tests.unit.engine.scene import Scene

from dovetail.engine.pieces import whole
from dovetail.engine.questions.plan_questions import ApplicationMove
from dovetail.engine.questions.questions import Questions
from dovetail.model.event import MoveAsked, NodeCordoned


def on(node: str) -> dict[str, Any]:
    return {"node_affinity": {"preferred": [{"weight": 1, "match": [name_is(node)]}]}}


def name_is(node: str) -> dict[str, Any]:
    return {"key": "name", "operator": "In", "values": [node]}


@pytest.fixture
def scene() -> Scene:
    """Two racks of two nodes. web on n0 talks to api on n2, api a little to log on n3."""
    scene = Scene()
    for number in range(4):
        scene.join(f"n{number}", labels={"rack": f"r{number // 2}", "name": f"n{number}"})
    scene.run("web", cpu=2, **on("n0"))
    scene.run("api", cpu=2, traffic=[{"to": "web", "mbps": 1000}], **on("n2"))
    scene.run("log", cpu=2, traffic=[{"to": "api", "mbps": 10}], **on("n3"))
    assert [scene.on(name) for name in ("web", "api", "log")] == [["n0"], ["n2"], ["n3"]]
    return scene


def moves(scene: Scene, cost_per_move: float) -> list[ApplicationMove]:
    return whole(Questions(scene.engine).plans.application_moves(cost_per_move, scene.now))


def test_moves_pay_for_themselves(scene: Scene) -> None:
    [move] = moves(scene, cost_per_move=5000)
    assert (move.name, move.source, move.target) in (("web", "n0", "n2"), ("api", "n2", "n0"))
    assert move.saves >= 99_000
    assert not moves(scene, cost_per_move=200_000)
    assert len(moves(scene, cost_per_move=0)) >= 2


def test_asking_changes_nothing(scene: Scene) -> None:
    before = scene.engine._state.cluster.changes, [scene.on(name) for name in ("web", "api", "log")]
    moves(scene, 0.0)
    assert (scene.engine._state.cluster.changes, [scene.on(name) for name in ("web", "api", "log")]) == before


def test_the_moves_can_be_asked_for(scene: Scene) -> None:
    for move in moves(scene, 5000):
        scene.hear(MoveAsked(move.task, move.target, "nearer to those it talks to"))
        scene.stopped(move.name)
        scene.tick()
    assert scene.on("web") == scene.on("api")
    assert not moves(scene, 5000)


def test_nothing_moves_to_a_node_that_takes_no_work_and_its_own_tasks_may_stay(scene: Scene) -> None:
    scene.hear(NodeCordoned("n0", True, "repairs"))
    [move] = moves(scene, 5000)
    assert (move.name, move.target) == ("web", "n2")
    scene.hear(NodeCordoned("n2", True, "repairs"))
    assert all(move.target not in ("n0", "n2") for move in moves(scene, 0))


def test_work_without_traffic_and_gangs_stay(scene: Scene) -> None:
    other = Scene()
    for number in range(2):
        other.join(f"n{number}", cpu=2, labels={"rack": f"r{number}"})
    other.run("gang", cpu=2, replicas=2, gang={"min": 2}, traffic=[{"to": "alone", "mbps": 1000}])
    assert not moves(other, 0)
