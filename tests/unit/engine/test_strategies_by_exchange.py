"""Strategies that go by how long the gang's ranks would take to exchange data, on a described network."""

from typing import Any

import numpy as np
import pytest
from tests.unit.engine.scene import Scene
from tests.unit.placement.scene import cluster_of, request_for

from dovetail.cluster.views.view import View
from dovetail.engine.pieces import whole
from dovetail.engine.questions.questions import Questions
from dovetail.model.event import TopologySet
from dovetail.model.network.topology import Topology
from dovetail.model.workloads.workload import Workload
from dovetail.placement.gangs.domain_features import MOST_COMPARED, Prospect
from dovetail.placement.gangs.strategies import STRATEGIES, WeightedStrategy
from dovetail.placement.gangs.tiers import tiers_of

FOUR: dict[str, Any] = {"replicas": 4, "gang": {"min": 4}}


def spines(links: dict[str, dict[str, Any]], **settings: Any) -> Scene:
    """By spine, how the links up from its two leaves are; two nodes of one place in each leaf."""
    scene = Scene(**settings)
    wires, nodes = [], {}
    for spine, how in links.items():
        for leaf in (f"{spine}l0", f"{spine}l1"):
            wires.append({"from": leaf, "to": f"{spine}s", "bandwidth": "100Gbps", "latency": "1us", **how})
            for host in (f"{leaf}n0", f"{leaf}n1"):
                wires.append({"from": host, "to": leaf, "bandwidth": "100Gbps", "latency": "1us"})
                nodes[host] = {"spine": spine, "leaf": leaf}
    switches = sorted({wire["to"] for wire in wires})
    levels = [{"name": "spine"}, {"name": "leaf"}, {"name": "host"}]
    topology = {"levels": levels, "nodes": nodes, "switches": switches, "links": wires}
    scene.hear(TopologySet(Topology.model_validate(topology)))
    for host in nodes:
        scene.join(host, cpu=1, labels={"only": host})
    return scene


def chosen(scene: Scene, strategy: str, **fields: Any) -> str:
    """The spine that a gang of four goes to."""
    scene.run("g", topology={"required": "spine", "strategy": strategy}, **FOUR | fields)
    (spine,) = {node[0] for node in scene.on("g")}
    return spine


def notes(scene: Scene) -> tuple[str, ...]:
    return scene.decisions[-1].explanation.notes


def test_bandwidth_takes_the_domain_whose_links_have_most_to_spare() -> None:
    busy = {"a": {"utilisation": 0.8}, "b": {"utilisation": 0.1}, "c": {"utilisation": 0.5}}
    assert chosen(spines(busy), "bandwidth") == "b"


def test_latency_takes_the_domain_with_the_shortest_ways_whatever_the_links_carry() -> None:
    slow: dict[str, dict[str, Any]] = {
        "a": {"latency": "9us"},
        "b": {"latency": "1us", "utilisation": 0.8},
        "c": {"latency": "5us"},
    }
    assert chosen(spines(slow), "latency") == "b"
    assert chosen(spines(slow), "bandwidth") == "c", "the same network: of those with free links the one with less way"


def test_the_note_has_the_features_of_the_chosen_and_of_the_next_and_the_time_of_an_exchange() -> None:
    scene = spines({"a": {"utilisation": 0.5}, "b": {}})
    assert chosen(scene, "bandwidth") == "b"
    (strategy,) = [note for note in notes(scene) if note.startswith("strategy")]
    assert strategy == (
        "strategy bandwidth: spine b has 95 points (bandwidth 1, alignment 0.5, availability 1, history 1), "
        "spine a 65 points (bandwidth 0.5, alignment 0.5, availability 1, history 1)"
    )
    assert any(note.startswith("all-reduce of 1GiB: about") for note in notes(scene))


def test_a_plan_says_by_which_strategy_as_the_decision_would() -> None:
    scene = spines({"a": {"utilisation": 0.5}, "b": {}})
    asked = {"name": "g", "resources": {"cpu": 1}, "topology": {"required": "spine", "strategy": "bandwidth"}} | FOUR
    questions = Questions(scene.engine)
    planned = whole(questions.plans.plan(Workload.model_validate(asked)))
    assert {task.node[0] for task in planned if task.node} == {"b"}
    told = [note for note in planned[0].explanation.notes if note.startswith("strategy")]
    assert chosen(scene, "bandwidth") == "b"
    assert told == [note for note in notes(scene) if note.startswith("strategy")]


@pytest.mark.parametrize("strategy", ["balanced", "pack", "fragmentation"])
def test_of_domains_that_are_as_good_the_one_with_the_quicker_all_reduce_is_taken(strategy: str) -> None:
    scene = spines({"a": {"utilisation": 0.5}, "b": {}})
    assert chosen(scene, strategy) == "b"
    assert any(note.endswith("; near enough for the quicker all-reduce to decide") for note in notes(scene))


def test_a_domain_that_is_clearly_better_is_taken_however_busy_its_links_are() -> None:
    for strategy, expected in (("busy", "b"), ("even", "a")):
        weights = {"busy": {"utilisation": 1}, "even": {"history": 1}}
        scene = spines({"a": {}, "b": {"utilisation": 0.9}}, strategies=weights)
        scene.run("other", cpu=0.5, node_selector={"only": "bl0n0"})
        assert chosen(scene, strategy, cpu=0.5, replicas=6, gang={"min": 6}) == expected


def test_where_nobody_describes_the_network_the_first_of_equals_is_taken() -> None:
    scene = Scene()
    for name in ("a0", "a1", "b0", "b1"):
        scene.join(name, cpu=1, labels={"row": name[0]})
    for strategy in ("latency", "bandwidth", "balanced"):
        scene.run(strategy, replicas=2, gang={"min": 2}, topology={"required": "row", "strategy": strategy})
        assert scene.on(strategy) == ["a0", "a1"]
        scene.end_all(strategy)


def test_only_the_best_by_everything_else_are_compared_and_no_other_comes_out_ahead() -> None:
    racks = 3 * MOST_COMPARED
    cluster = cluster_of(*({"labels": {"rack": f"r{n:02}", "zone": f"z{n % 2}"}} for n in range(racks) for _ in "12"))
    view, tiers = View(cluster), tiers_of(cluster, ("rack",))
    tier = tiers.at("rack")
    copies, holding = np.ones(view.size), np.ones(racks, dtype=np.bool_)
    for domain in range(0, racks, 2):  # every other one has failed work before
        cluster.count_outcome(cluster.names[int(tiers[tier].first[domain])], False)
    for sign in (1, -1):
        asked: list[int] = []

        def exchange(domain: int, size_bytes: int, asked: list[int] = asked) -> float:
            asked.append(domain)
            return float(1 + domain)

        prospect = Prospect(request_for(cluster), view, tiers, tier, copies, 2, holding, exchange)
        points = WeightedStrategy("w", {"history": 10, "latency": sign * 5}).points(prospect)
        assert len(asked) == MOST_COMPARED
        assert set(asked) <= set(range(1, racks, 2))
        assert int(points.argmax()) == (min(asked) if sign > 0 else max(asked))


def test_latency_and_bandwidth_go_by_the_exchange_first() -> None:
    for name in ("latency", "bandwidth"):
        assert STRATEGIES[name][name] > sum(STRATEGIES[name].values()) / 2
