"""Replicas of a service are workloads of their own, and others know them by the name of the service.

The oracle: to everybody else a service of so many replicas is what one workload with so many tasks is.
"""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.unit.engine.scene import Scene

from dovetail.model.services.service import Service
from dovetail.services.replicas import replica_workload

RACKS = ("r1", "r2", "r3")


def cluster(nodes: int = 9) -> Scene:
    scene = Scene()
    for number in range(nodes):
        scene.join(f"n{number}", labels={"rack": RACKS[number % 3], "zone": f"z{number % 2}"})
    return scene


def run_service(scene: Scene, name: str, replicas: int, revision: int = 1, **fields: Any) -> list[str]:
    """The names of its replicas."""
    spec = Service.model_validate({"name": name, "resources": {"cpu": 1}, **fields})
    found = []
    for index in range(replicas):
        one = replica_workload(spec, revision, index, {port.name: port.port or 20_000 for port in spec.ports})
        fields_of = one.model_dump(exclude_unset=True, exclude={"name"}) | {"replicas": 1}
        scene.run(one.name, **fields_of)
        found.append(one.name)
    return found


def rack_of(node: str) -> str:
    return RACKS[int(node[1:]) % 3]


def test_replicas_are_spread_over_nodes_racks_and_zones_by_default() -> None:
    scene = cluster(6)
    names = run_service(scene, "web", 6)
    assert sorted(scene.on(name)[0] for name in names) == [f"n{number}" for number in range(6)]
    assert sorted(rack_of(scene.on(name)[0]) for name in names[:3]) == list(RACKS)


def test_a_rule_that_names_the_service_reaches_all_its_replicas() -> None:
    scene = cluster()
    names = run_service(scene, "web", 3, node_selector={"rack": "r2"})
    scene.run("cache", affinity=[{"near": "web", "within": "rack"}])
    assert rack_of(scene.on("cache")[0]) == "r2"
    scene.run("noisy", replicas=6, affinity=[{"apart": "web", "within": "host"}])
    assert not {scene.on(name)[0] for name in names} & set(scene.on("noisy"))


def test_a_service_that_keeps_apart_from_itself_has_one_replica_a_node_whatever_their_revision() -> None:
    scene = cluster(4)
    apart = [{"apart": "web", "within": "host"}]
    names = run_service(scene, "web", 2, affinity=apart) + run_service(scene, "web", 2, revision=2, affinity=apart)
    assert len({scene.on(name)[0] for name in names}) == 4
    spec = Service.model_validate({"name": "web", "resources": {"cpu": 1}, "affinity": apart})
    one_more = replica_workload(spec, 2, 2, {})
    scene.submit(one_more.name, **one_more.model_dump(exclude_unset=True, exclude={"name"}))
    assert scene.tick() == []


def test_replicas_that_listen_on_one_port_never_share_a_node_whatever_their_service_and_namespace() -> None:
    scene = cluster(3)
    port = [{"name": "http", "port": 8080}]
    names = run_service(scene, "web", 2, ports=port) + run_service(scene, "shop", 1, ports=port, namespace="team")
    assert len({scene.on(name)[0] for name in names}) == 3
    other = run_service(scene, "dns", 1, ports=[{"name": "dns", "port": 8080, "protocol": "udp"}])
    assert scene.on(other[0]), "a port of udp is another one"


def test_a_service_of_another_namespace_is_another_one() -> None:
    scene = cluster(2)
    run_service(scene, "web", 1, namespace="team", node_selector={"rack": "r1"})
    scene.submit("cache", affinity=[{"near": "web", "within": "host"}])
    assert scene.tick() == [], "there is no web in its namespace"


@pytest.mark.parametrize("level", ["host", "rack", "zone"])
@given(
    where=st.sets(st.integers(0, 8), min_size=1, max_size=4),
    relation=st.sampled_from(["near", "apart"]),
    weight=st.none() | st.just(0.7),
)
@examples(15)
def test_for_others_a_service_is_what_one_workload_with_as_many_tasks_is(
    level: str, where: set[int], relation: str, weight: float | None
) -> None:
    found = []
    for as_service in (True, False):
        scene = cluster()
        names = ", ".join(f'"n{node}"' for node in sorted(where))
        fields: dict[str, Any] = {
            "constraints": [{"require": f"node.name in [{names}]"}],
            "affinity": [{"apart": "web", "within": "host"}],
        }
        if as_service:
            run_service(scene, "web", len(where), **fields)
        else:
            scene.run("web", service="web", replicas=len(where), **fields)
        rule: dict[str, Any] = {relation: "web", "within": level}
        if weight is not None:
            rule["weight"] = weight
        scene.submit("follower", affinity=[rule], replicas=3)
        scene.tick()
        found.append(scene.on("follower"))
    assert found[0] == found[1]


def test_traffic_to_a_service_counts_for_each_of_its_replicas() -> None:
    placed = []
    for as_service in (True, False):
        scene = Scene(default_profile="network")
        for number in range(6):
            scene.join(f"n{number}", labels={"rack": RACKS[number % 3]})
        if as_service:
            run_service(scene, "store", 2, node_selector={"rack": "r2"}, spread=[{"over": "host", "max_skew": 1}])
        else:
            scene.run("store", replicas=2, node_selector={"rack": "r2"}, spread=[{"over": "host", "max_skew": 1}])
        scene.run("reader", traffic=[{"to": "store", "mbps": 1000}])
        placed.append(scene.on("reader"))
    assert placed[0] == placed[1]
    assert rack_of(placed[0][0]) == "r2"
