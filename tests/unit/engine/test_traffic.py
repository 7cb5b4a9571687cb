"""Declared traffic makes workloads related, in both directions, and counts by its share."""

from typing import Any

import pytest
from tests.unit.engine.scene import Scene

from dovetail.model.event import TopologySet
from dovetail.model.network.topology import Topology


@pytest.fixture
def scene() -> Scene:
    """Two nodes in each of two racks, so large that load hardly counts."""
    scene = Scene(default_profile="network")
    for i in range(4):
        scene.join(f"n{i}", cpu=1000, labels={"rack": f"r{i // 2}"})
    return scene


def placed(scene: Scene, name: str, **fields: Any) -> str:
    scene.submit(name, **fields)
    scene.tick()
    [node] = scene.on(name)
    return node


def on(node: str) -> dict[str, Any]:
    return {"constraints": [{"require": f'node.name == "{node}"'}]}


def test_a_task_goes_near_to_whom_it_talks_to(scene: Scene) -> None:
    placed(scene, "server", **on("n3"))
    assert placed(scene, "client", traffic=[{"to": "server", "mbps": 100}]) == "n3"


def test_a_task_goes_near_to_who_talks_to_it(scene: Scene) -> None:
    placed(scene, "client", traffic=[{"to": "server", "mbps": 100}], **on("n2"))
    assert placed(scene, "server") == "n2"


def test_of_two_it_goes_near_to_the_one_with_more_traffic(scene: Scene) -> None:
    placed(scene, "little", **on("n0"))
    placed(scene, "much", **on("n3"))
    for little, nearest in ((100, "n3"), (2000, "n0")):
        traffic = [{"to": "little", "mbps": little}, {"to": "much", "mbps": "1Gbps"}]
        assert placed(scene, f"client-{little}", traffic=traffic) == nearest


def test_what_both_say_adds_up(scene: Scene) -> None:
    placed(scene, "a", traffic=[{"to": "client", "mbps": 300}], **on("n0"))
    placed(scene, "b", **on("n3"))
    traffic = [{"to": "a", "mbps": 100}, {"to": "b", "mbps": 350}]
    assert placed(scene, "client", traffic=traffic) == "n0"


def test_who_has_ended_is_talked_to_no_longer(scene: Scene) -> None:
    placed(scene, "client", traffic=[{"to": "server", "mbps": 100}], **on("n2"))
    scene.end("client")
    scene.tick()
    assert placed(scene, "server") == "n0"


def test_another_namespace_is_another_world(scene: Scene) -> None:
    placed(scene, "client", namespace="one", traffic=[{"to": "server", "mbps": 100}], **on("n2"))
    assert placed(scene, "server", namespace="two") == "n0"


def test_of_places_as_near_the_one_with_bandwidth_left_on_the_way_is_better(scene: Scene) -> None:
    links = [
        {"from": f"n{i}", "to": "leaf", "bandwidth": "10Gbps", "latency": "1us", "utilisation": used}
        for i, used in enumerate((0.9, 0.9, 0.0, 0.0))
    ]
    scene.hear(TopologySet(Topology.model_validate({"switches": ["leaf"], "links": links})))
    placed(scene, "server", **on("n3"))
    traffic = [{"to": "server", "mbps": "8Gbps"}]
    away = {"constraints": [{"require": 'node.name != "n3"'}]}
    assert placed(scene, "client", traffic=traffic, **away) == "n2"
