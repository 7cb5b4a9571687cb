"""Events about the network: what waits is looked at again, what was told survives a restart."""

from typing import Any

import numpy as np
from tests.unit.engine.scene import Scene
from tests.unit.engine.test_restore import Restartable

from dovetail.cluster.network.distance import distances_from
from dovetail.model.event import DistancesCleared, DistancesMeasured, DistancesSet, TopologySet
from dovetail.model.network.topology import Topology

LEVELS = [{"name": "spine", "latency": "5us"}, {"name": "leaf", "latency": "1us"}]


def topology(*leaves: str, **more: Any) -> Topology:
    domains = {"leaf": {f"l{i}": hosts for i, hosts in enumerate(leaves)}}
    return Topology.model_validate({"levels": LEVELS, "domains": domains, **more})


def test_work_that_waits_for_a_domain_is_looked_at_when_a_topology_says_who_is_in_it() -> None:
    scene = Scene()
    scene.join("n1", cpu=1)
    scene.join("n2")
    scene.run("db", node_selector={}, cpu=1)
    scene.submit("web", cpu=2, affinity=[{"near": "db", "within": "leaf"}])
    assert scene.tick() == []
    scene.hear(TopologySet(topology("n[1-2]")))
    assert scene.tick() == ["web.0"]


def test_work_that_waits_for_nearness_is_looked_at_when_a_distance_is_set() -> None:
    scene = Scene()
    scene.join("n1", cpu=1)
    scene.join("n2")
    scene.run("db", cpu=1, node_affinity={})
    where = next(iter(scene.engine._state.cluster.placements.by_task.values())).row
    other = "n2" if where == 0 else "n1"
    scene.submit("web", cpu=1, affinity=[{"near": "db", "distance": 10}, {"apart": "db", "within": "host"}])
    assert scene.tick() == []
    scene.hear(DistancesSet(((scene.engine._state.cluster.names[where], other, 5.0),)))
    assert scene.tick() == ["web.0"]


def test_work_that_waits_for_nearness_is_looked_at_when_distances_are_measured() -> None:
    scene = Scene()
    scene.join("n1", cpu=1)
    scene.join("n2", cpu=1)
    scene.run("db", cpu=1)
    scene.submit("web", cpu=1, affinity=[{"near": "db", "distance": 10}])
    assert scene.tick() == []
    scene.hear(DistancesMeasured(("n1", "n2"), np.array([[0, 9], [9, 0]], dtype=np.float32)))
    assert scene.tick() == ["web.0"]


def test_the_same_topology_again_changes_nothing() -> None:
    scene = Scene()
    scene.join("n1")
    scene.hear(TopologySet(topology("n1")))
    before = scene.engine._state.cluster.epoch
    scene.hear(TopologySet(topology("n1")))
    assert scene.engine._state.cluster.epoch == before


def test_topology_and_distances_survive_a_restart_and_so_do_labels_of_nodes() -> None:
    world = Restartable()
    world.join("n1", "n2", "n3")
    world.tell(TopologySet(topology("n[1-2]", "n3")))
    world.tell(DistancesSet((("n1", "n3", 25.0), ("n1", "n2", 7.0))))
    world.tell(DistancesSet((("n2", "n1", None),)))
    world.restart()
    cluster = world.engine._state.cluster
    assert cluster.labels.row(cluster.rows["n2"]) == {"leaf": "l0"}
    assert cluster.node("n2").labels == {}
    assert cluster.topology.distances.all() == [("n1", "n3", 25.0)]
    assert distances_from(cluster, cluster.rows["n3"])[cluster.rows["n1"]] == 25


def test_what_was_forgotten_stays_forgotten_after_a_restart() -> None:
    world = Restartable()
    world.join("n1", "n2")
    world.tell(TopologySet(topology("n[1-2]")))
    world.tell(DistancesSet((("n1", "n2", 25.0),)))
    world.tell(TopologySet(Topology()))
    world.tell(DistancesCleared())
    world.restart()
    cluster = world.engine._state.cluster
    assert not cluster.topology
    assert len(cluster.topology.distances) == 0
    assert cluster.labels.row(0) == {}
