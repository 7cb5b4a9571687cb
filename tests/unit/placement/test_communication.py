"""The communication model: what it says of small networks, in numbers one can work out by hand."""

from itertools import product
from typing import Any

import pytest

from dovetail.cluster.state import Cluster
from dovetail.model.network.topology import Topology
from dovetail.model.node import Node
from dovetail.model.resources import Capacity
from dovetail.placement.network_cost.communication import (
    GIB,
    CommunicationModel,
    Estimate,
    double_tree,
    ring,
    show_seconds,
)
from dovetail.placement.network_cost.fabric import LOCAL

GBPS = 1e9 / 8  # bytes a second


def cluster_of(topology: dict[str, Any], hosts: list[str]) -> Cluster:
    cluster = Cluster()
    cluster.set_topology(Topology.model_validate(topology))
    for host in hosts:
        cluster.join(Node(name=host, capacity=Capacity(cpu=4)))
    return cluster


def two_leaves(up: str = "25Gbps") -> Cluster:
    """Four hosts under each of two leaves."""
    hosts = {f"n{leaf}{i}": {"leaf": f"l{leaf}"} for leaf, i in product(range(2), range(4))}
    levels = [
        {"name": "leaf", "bandwidth": up, "latency": "2us"},
        {"name": "host", "bandwidth": "100Gbps", "latency": "1us"},
    ]
    return cluster_of({"levels": levels, "nodes": hosts}, list(hosts))


def fat_tree(spines: int = 2) -> Cluster:
    """Two leaves with four hosts each, linked to every spine at the speed of a host."""
    hosts = [f"n{leaf}{i}" for leaf, i in product(range(2), range(4))]
    fast = {"bandwidth": "100Gbps", "latency": "1us"}
    links = [{"from": host, "to": f"l{host[1]}", **fast} for host in hosts]
    links += [{"from": f"l{leaf}", "to": f"s{spine}", **fast} for leaf, spine in product(range(2), range(spines))]
    switches = ["l0", "l1", *(f"s{i}" for i in range(spines))]
    return cluster_of({"switches": switches, "links": links}, hosts)


def estimated(cluster: Cluster, *hosts: str, size: int = GIB) -> Estimate:
    found = CommunicationModel(cluster).estimate([cluster.rows[host] for host in hosts], size)
    assert found is not None
    return found


def test_a_ring_takes_the_time_of_its_slowest_link_and_the_latency_of_each_step() -> None:
    found = estimated(two_leaves(), "n00", "n01", "n10", "n11")
    rounds, part = 6, GIB / 4
    assert found.all_reduce.algorithm == "ring"
    assert found.all_reduce.seconds == pytest.approx(rounds * (part / (25 * GBPS) + 6e-6))
    assert found.all_reduce.busiest == "the links up from leaf l0"


def test_the_best_possible_is_the_same_exchange_behind_one_switch() -> None:
    apart, together = estimated(two_leaves(), "n00", "n01", "n10"), estimated(two_leaves(), "n00", "n01", "n02")
    assert together.all_reduce.times_best == 1.0
    assert together.all_to_all.times_best == 1.0
    assert apart.all_reduce.best_seconds == pytest.approx(together.all_reduce.seconds)
    assert apart.all_reduce.times_best == pytest.approx(4.0, rel=0.01)


def test_ranks_that_alternate_between_leaves_take_longer_than_neighbours() -> None:
    cluster = two_leaves()
    in_order, mixed = ("n00", "n01", "n10", "n11"), ("n00", "n10", "n01", "n11")
    # By ring they load the links between the leaves twice; by trees, which is what they do then, a third more.
    ratio = estimated(cluster, *mixed).all_reduce.seconds / estimated(cluster, *in_order).all_reduce.seconds
    assert ratio == pytest.approx(4 / 3, rel=1e-3)
    assert estimated(cluster, *mixed).all_reduce.algorithm == "tree"
    assert estimated(cluster, *mixed).all_to_all == estimated(cluster, *in_order).all_to_all


def test_small_data_goes_by_trees_and_large_data_by_ring() -> None:
    hosts = [f"n{leaf}{i}" for leaf, i in product(range(2), range(4))]
    assert estimated(two_leaves("400Gbps"), *hosts, size=1024).all_reduce.algorithm == "tree"
    assert estimated(two_leaves("400Gbps"), *hosts, size=GIB).all_reduce.algorithm == "ring"


def test_tasks_of_one_node_use_its_own_links_and_share_its_way_out() -> None:
    cluster = two_leaves()
    on_one = estimated(cluster, "n00", "n00")
    assert on_one.all_reduce.seconds == pytest.approx(GIB * 8 / (LOCAL.mbps * 1e6) + 2 * LOCAL.latency_ns * 1e-9)
    spread, shared = estimated(cluster, "n00", "n01"), estimated(cluster, "n00", "n00", "n01", "n01")
    assert shared.all_to_all.seconds > 1.9 * spread.all_to_all.seconds


def test_equal_ways_share_what_goes_over_them() -> None:
    hosts = [f"n{leaf}{i}" for leaf, i in product(range(2), range(4))]
    one, two, four = (estimated(fat_tree(spines), *hosts).all_to_all for spines in (1, 2, 4))
    assert one.seconds == pytest.approx(2 * two.seconds, rel=1e-3)
    assert four.seconds == pytest.approx(four.best_seconds, rel=1e-2)  # then the links of the hosts are the busiest
    assert estimated(fat_tree(1), *hosts).all_to_all.busiest in (
        "the link from l0 to s0",
        "the link from s0 to l1",
        "the link from l1 to s0",
        "the link from s0 to l0",
    )


def test_a_graph_and_its_levels_say_the_same() -> None:
    """With one spine, the fabric is a tree."""
    hosts = {f"n{leaf}{i}": {"leaf": f"l{leaf}"} for leaf, i in product(range(2), range(4))}
    fast = {"bandwidth": "100Gbps", "latency": "1us"}
    levels = cluster_of({"levels": [{"name": "leaf", **fast}, {"name": "host", **fast}], "nodes": hosts}, list(hosts))
    for ranks in (["n00", "n10"], ["n00", "n01", "n10", "n13"], list(hosts), ["n00", "n00", "n12"]):
        one, other = estimated(levels, *ranks), estimated(fat_tree(1), *ranks)
        assert one.all_reduce.seconds == pytest.approx(other.all_reduce.seconds)
        assert one.all_to_all.seconds == pytest.approx(other.all_to_all.seconds)


def test_nobody_knows_about_one_task_or_a_node_that_is_in_no_graph() -> None:
    cluster = fat_tree()
    cluster.join(Node(name="stranger", capacity=Capacity(cpu=4)))
    communication = CommunicationModel(cluster)
    assert communication.estimate([0]) is None
    assert communication.estimate([0, cluster.rows["stranger"]]) is None


def test_another_topology_is_taken_in() -> None:
    cluster = fat_tree(1)
    communication = CommunicationModel(cluster)
    rows = list(range(8))
    before, after = communication.estimate(rows), None
    definition = fat_tree(4).topology.definition
    cluster.set_topology(definition)
    after = communication.estimate(rows)
    assert before is not None
    assert after is not None
    assert after.all_to_all.seconds < before.all_to_all.seconds


def test_where_there_is_no_way_it_takes_forever() -> None:
    fast = {"bandwidth": "100Gbps", "latency": "1us"}
    links = [{"from": "n0", "to": "s0", **fast}, {"from": "n1", "to": "s1", **fast}]
    cluster = cluster_of({"switches": ["s0", "s1"], "links": links}, ["n0", "n1"])
    found = estimated(cluster, "n0", "n1")
    assert "forever" in str(found)


def test_without_a_topology_the_usual_labels_are_the_levels() -> None:
    cluster = Cluster()
    assert not CommunicationModel(cluster).is_known
    for i in range(4):
        cluster.join(Node(name=f"n{i}", capacity=Capacity(cpu=4), labels={"rack": f"r{i // 2}"}))
    assert CommunicationModel(cluster).is_known
    near, far = estimated(cluster, "n0", "n1", size=1024), estimated(cluster, "n0", "n2", size=1024)
    assert near.all_reduce.seconds < far.all_reduce.seconds


def test_the_estimate_in_words() -> None:
    assert str(estimated(two_leaves(), "n00", "n01")) == "all-reduce of 1GiB: about 86 ms; the best possible"
    assert str(estimated(two_leaves(), "n00", "n10")) == "all-reduce of 1GiB: about 344 ms; 4 × the best possible"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(12.4, "12 s"), (1.44, "1.4 s"), (0.0123, "12 ms"), (0.00099999, "1.0 ms"), (3.2e-6, "3.2 µs"), (0.0, "0.0 µs")],
)
def test_seconds_for_people(seconds: float, words: str) -> None:
    assert show_seconds(seconds) == words


@pytest.mark.parametrize("ranks", [2, 3, 4, 5, 8, 13, 64])
def test_in_both_trees_everybody_is_reached_and_nobody_sends_more_than_in_a_ring(ranks: int) -> None:
    trees, circle = double_tree(ranks), ring(ranks)
    sent = [0.0] * ranks
    for source, share in zip(trees.sources.tolist(), trees.shares.tolist(), strict=True):
        sent[source] += share
    assert len(trees.sources) == 4 * (ranks - 1)
    assert max(sent) <= 2.0
    assert set(trees.targets.tolist()) == set(range(ranks))
    assert circle.times * circle.shares[0] == pytest.approx(2 * (ranks - 1) / ranks)
