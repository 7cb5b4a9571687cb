"""The map: what is drawn of each node, and what changed since a version is all that changed."""

import random
from typing import Any

import pytest
from tests.examples import seeds
from tests.unit.engine.scene import Scene

from dovetail.engine.pieces import whole
from dovetail.engine.questions.map_questions import LOOK_AGAIN_S, MapAnswer
from dovetail.engine.questions.map_rows import MapHealth, MapRow
from dovetail.engine.questions.questions import Questions
from dovetail.model.event import BackendHealthChanged, NodeCordoned, NodeHealthChanged, TopologySet
from dovetail.model.network.topology import Topology

GPUS: dict[str, Any] = {"capacity": {"gpu": 4}}


def asked(questions: Questions, scene: Scene, after: int | None = None) -> MapAnswer:
    return whole(questions.map.map(scene.now, after))


def by_name(answer: MapAnswer) -> dict[str, MapRow]:
    return {node.name: node for node in answer.nodes}


def place_of(answer: MapAnswer, name: str) -> str:
    assert answer.places is not None
    index = answer.domains[[node.name for node in answer.nodes].index(name)]
    words = []
    while index >= 0:
        words.append(answer.places[index].name)
        index = answer.places[index].parent
    return "/".join(reversed(words))


def test_a_node_is_drawn_with_its_gpus_its_tenant_and_its_place() -> None:
    scene = Scene()
    scene.join("a", labels={"zone": "z", "rack": "r1"}, **GPUS)
    scene.join("b", labels={"zone": "z", "rack": "r2"}, **GPUS)
    scene.join("c")
    scene.submit("big", 2, resources={"cpu": 2, "gpu": 2}, namespace="team", node_selector={"rack": "r1"})
    scene.submit("part", 1, resources={"cpu": 1, "gpu": "400m"}, node_selector={"rack": "r1"})
    scene.tick()
    scene.hear(NodeCordoned("b", True, "disk"))
    scene.hear(NodeHealthChanged("c", False, "silent for 14 s"))
    answer = asked(Questions(scene.engine), scene)
    nodes = by_name(answer)
    assert answer.full
    assert sorted(nodes["a"].gpu_used) == ["0", "4", "A", "A"]
    assert (nodes["a"].cpu_share, nodes["a"].tenant, nodes["a"].health) == (0.75, "team", MapHealth.OK)
    assert (nodes["b"].health, nodes["c"].health) == (MapHealth.CORDONED, MapHealth.SILENT)
    assert (nodes["b"].gpu_used, nodes["c"].gpu_used) == ("0000", "")
    assert answer.tenants[answer.holders[answer.rows.index(0)]] == "team"
    assert (place_of(answer, "a"), place_of(answer, "c")) == ("z/r1", "")


def test_a_machine_that_is_launched_joins_and_one_whose_backend_is_away_is_silent() -> None:
    scene = Scene()
    offer = {"price_per_hour": 1.0, "running": False, "start_up": "2m"}
    scene.join("cloud", 4, offer=offer, backend="cloud")
    scene.join("away", 4, backend="elsewhere", labels={"x": "y"})
    questions = Questions(scene.engine)
    assert by_name(asked(questions, scene))["cloud"].health == MapHealth.OK
    scene.hear(BackendHealthChanged("elsewhere", False, "no answer"))
    scene.submit("first", 1)
    scene.tick()
    nodes = by_name(asked(questions, scene))
    assert (nodes["cloud"].health, nodes["away"].health) == (MapHealth.JOINING, MapHealth.SILENT)


def test_a_map_that_may_be_old_is_not_looked_at_again_until_then() -> None:
    scene = Scene()
    scene.join("a")
    questions = Questions(scene.engine)
    first = asked(questions, scene)
    scene.hear(NodeCordoned("a", True, "disk"))
    old = whole(questions.map.map(scene.now + 0.9, first.version, max_age_s=1.0))
    assert (old.version, old.nodes) == (first.version, [])
    new = whole(questions.map.map(scene.now + 1.1, first.version, max_age_s=1.0))
    assert by_name(new)["a"].health == MapHealth.CORDONED


def test_what_is_expected_in_an_hour_follows_from_expected_ends() -> None:
    scene = Scene()
    scene.join("a", 8, **GPUS)
    questions = Questions(scene.engine)
    assert by_name(asked(questions, scene))["a"].forecast == 0.0
    scene.submit("short", 1, resources={"cpu": 1, "gpu": 1}, deadline={"run_for": "10m"})
    scene.submit("long", 1, resources={"cpu": 1, "gpu": 2}, deadline={"run_for": "5h"})
    scene.tick()
    assert by_name(asked(questions, scene))["a"].forecast == 0.5
    scene = Scene()
    scene.join("a", 8)
    scene.submit("endless", 1)
    scene.tick()
    assert by_name(asked(Questions(scene.engine), scene))["a"].forecast is None


def test_only_rows_that_look_different_are_told_again() -> None:
    scene = Scene()
    for name in ("a", "b", "c"):
        scene.join(name, 4, labels={"zone": "z"})
    questions = Questions(scene.engine)
    first = asked(questions, scene)
    assert asked(questions, scene, first.version).nodes == []
    scene.submit("one", 1)
    placed = scene.tick()
    assert placed
    second = asked(questions, scene, first.version)
    assert (second.full, len(second.nodes), second.places) == (False, 1, None)
    scene.leave("c")
    scene.join("d", 4, labels={"zone": "elsewhere"})
    third = asked(questions, scene, second.version)
    assert not third.full
    assert third.places is not None, "a domain came"
    assert [node.name for node in third.nodes] == ["d"], "it has the row that c had"
    scene.leave("d")
    assert asked(questions, scene, third.version).gone == third.rows
    scene.hear(TopologySet(Topology.model_validate({"levels": [{"name": "rack"}], "domains": {"rack": {"r": ["a"]}}})))
    again = asked(questions, scene, third.version)
    assert again.full, "another description of the network is another map"
    assert asked(questions, scene, 10**9).full, "a version that this map never had"


@pytest.mark.parametrize("seed", seeds(40))
def test_a_map_that_is_followed_is_the_map(seed: int) -> None:
    chance = random.Random(seed)
    scene = Scene()
    questions = Questions(scene.engine)
    followed: dict[int, MapRow] = {}
    version: int | None = None
    for step in range(25):
        _something_happens(scene, chance, step)
        at_the_end = step == 24
        if at_the_end or chance.random() < 0.5:
            scene.now += 2 * LOOK_AGAIN_S if at_the_end else 0.0
            answer = asked(questions, scene, version)
            if answer.full:
                followed.clear()
            for row in answer.gone:
                followed.pop(row, None)
            followed.update(zip(answer.rows, answer.nodes, strict=True))
            version = answer.version
            fresh = asked(Questions(scene.engine), scene)
            # What is typical changes with other work: fragments are looked at again after a while.
            expected = dict(zip(fresh.rows, fresh.nodes, strict=True))
            if at_the_end:
                assert followed == expected
            assert _without_fragments(followed) == _without_fragments(expected)


def _without_fragments(nodes: dict[int, MapRow]) -> dict[int, MapRow]:
    return {row: node._replace(fragment=None) for row, node in nodes.items()}


def _something_happens(scene: Scene, chance: random.Random, step: int) -> None:
    names = sorted(scene.engine._state.cluster.rows)
    what = chance.choice(["join", "join", "submit", "submit", "leave", "cordon", "tick"])
    if what == "join" or not names:
        scene.join(f"n{step}", 4, labels={"zone": chance.choice("xyz")}, **GPUS)
    elif what == "leave":
        scene.leave(chance.choice(names))
    elif what == "cordon":
        scene.hear(NodeCordoned(chance.choice(names), chance.random() < 0.5, "a test"))
    elif what == "submit":
        asked_for: dict[str, Any] = {"cpu": chance.choice([1, 2]), "gpu": chance.choice([0, "250m", 1])}
        scene.submit(f"w{step}", 1, resources=asked_for, namespace=chance.choice(["a", "b"]))
    scene.tick()


def test_the_workload_on_the_map_knows_its_level_and_the_links_between_its_domains() -> None:
    scene = Scene()
    for rack in ("r1", "r2"):
        for i in (1, 2):
            scene.join(f"{rack}-{i}", 4, **GPUS)
    network = {
        "levels": [{"name": "spine"}, {"name": "rack", "bandwidth": "100Gbps"}],
        "domains": {"rack": {"r1": ["r1-[1-2]"], "r2": ["r2-[1-2]"]}, "spine": {"s": ["r1", "r2"]}},
    }
    scene.hear(TopologySet(Topology.model_validate(network)))
    gang: dict[str, Any] = {"gang": {"min": 4}, "topology": {"bandwidth": "10Gbps"}}
    id_ = scene.submit("train", 4, replicas=4, **gang)
    scene.tick()
    found = Questions(scene.engine).map.workloads_on([id_])
    assert found.tasks == [1, 1, 1, 1]
    assert (found.level, found.domain) == ("spine", "s")
    assert found.estimate is not None
    assert [(link.level, link.name, link.tasks) for link in found.links] == [("rack", "r1", 2), ("rack", "r2", 2)]
    assert all(link.held == 20_000 for link in found.links)
    alone = scene.submit("nobody", 99)
    scene.tick()
    nothing = Questions(scene.engine).map.workloads_on([alone])
    assert (nothing.rows, nothing.level, nothing.links) == ([], None, [])
