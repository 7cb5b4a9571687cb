"""The profile `network` gives the seed's numbers: (1 - load) + 0.3 affinity - 0.5 anti-affinity + 0.2 same service +
proximity × related, and bandwidth left on the way where links are described."""

from typing import Any

import pytest
from tests.unit.engine.scene import Scene

from dovetail.model.event import TopologySet
from dovetail.model.network.topology import Topology
from dovetail.model.reason import NodePoints


@pytest.fixture
def scene() -> Scene:
    """Two nodes in one rack and one in another; two tasks of the database on n0, one of them of the same service."""
    scene = Scene(default_profile="network")
    for number, (rack, disk) in enumerate((("a", "ssd"), ("a", "hdd"), ("b", "tape"))):
        capacity = {"memory": "10GiB", "slots": 10}
        scene.join(f"n{number}", cpu=10, capacity=capacity, labels={"rack": rack, "disk": disk})
    for name, service in (("db", None), ("cache", "shop")):
        on: dict[str, Any] = {"constraints": [{"require": 'node.name == "n0"'}], "service": service}
        scene.submit(name, resources={"cpu": 2, "memory": "1GiB"}, **on)
        scene.tick()
    return scene


def points(scene: Scene, **fields: Any) -> dict[str, NodePoints]:
    scene.submit("asked", resources={"cpu": 1, "memory": "1GiB"}, **fields)
    scene.tick()
    decision = scene.decisions[-1]
    return {each.node: each for each in decision.explanation.best}


LOAD_N0 = (4 / 10 + 2 / 10 + 2 / 10) / 3  # CPU, memory and slots of both tasks


def totals(found: dict[str, NodePoints]) -> list[float]:
    return [found[name].total for name in ("n0", "n1", "n2")]


def test_without_relations_only_the_load_counts(scene: Scene) -> None:
    assert totals(points(scene)) == pytest.approx([1 - LOAD_N0, 1.0, 1.0])


def test_all_five_parts_add_up(scene: Scene) -> None:
    found = points(
        scene,
        service="shop",
        node_affinity={
            "preferred": [{"weight": 1, "match": [{"key": "disk", "operator": "In", "values": ["hdd"]}]}],
            "avoided": [{"weight": 1, "match": [{"key": "disk", "operator": "In", "values": ["tape"]}]}],
        },
        affinity=[{"near": "db"}, {"near": "cache"}],
    )
    # In one rack nodes are 50 apart, otherwise 100. Two tasks are related.
    assert totals(found) == pytest.approx([1 - LOAD_N0 + 0.2 + 2 * 1.0, 1 + 0.3 + 2 * 0.5, 1 - 0.5 + 2 * 0.0])


def test_traffic_counts_by_its_share(scene: Scene) -> None:
    found = points(scene, traffic=[{"to": "db", "mbps": 300}, {"to": "cache", "mbps": 100}])
    assert totals(found) == pytest.approx([1 - LOAD_N0 + 1.0, 1 + 0.5, 1.0])


def test_bandwidth_left_on_the_way_is_added_where_links_are_described(scene: Scene) -> None:
    links = [
        {"from": f"n{number}", "to": "leaf", "bandwidth": "10Gbps", "latency": "1us", "utilisation": used}
        for number, used in enumerate((0.0, 0.5, 0.9))
    ]
    scene.hear(TopologySet(Topology.model_validate({"switches": ["leaf"], "links": links})))
    plain = points(scene, traffic=[{"to": "db", "mbps": "10Gbps"}])
    names = [name for name, _ in scene.decisions[-1].explanation.weights]
    related = {node: each.points[names.index("related_proximity")] for node, each in plain.items()}
    # n1 and n2 are as far from n0; of the 10 Gbps that the two exchange, 5 and 1 are left on the way.
    assert related["n1"] - related["n2"] == pytest.approx(0.4)
