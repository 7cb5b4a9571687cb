"""The communication model against a plain computation, flow by flow, and what must hold of it whatever the network."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.examples import examples
from tests.reference_communication import Network, all_to_all_s, link_network, ring_s, tree_network, tree_s

from dovetail.cluster.state import Cluster
from dovetail.model.network.topology import Topology
from dovetail.model.node import Node
from dovetail.model.resources import Capacity
from dovetail.placement.network_cost.communication import CommunicationModel, Estimate

SPEEDS = st.sampled_from(["10Gbps", "25Gbps", "100Gbps", "400Gbps"])
DELAYS = st.sampled_from(["0ns", "500ns", "1us", "5us"])
SIZES = st.sampled_from([1, 2**10, 2**20, 2**30])


def cluster_with(topology: Topology, hosts: list[str]) -> Cluster:
    cluster = Cluster()
    cluster.set_topology(topology)
    for host in hosts:
        cluster.join(Node(name=host, capacity=Capacity(cpu=4)))
    return cluster


def estimated(cluster: Cluster, hosts: list[str], size: int) -> Estimate:
    found = CommunicationModel(cluster).estimate([cluster.rows[host] for host in hosts], size)
    assert found is not None
    return found


def assert_agrees(found: Estimate, network: Network, hosts: list[str], size: int) -> None:
    by_ring, by_tree = ring_s(network, hosts, size), tree_s(network, hosts, size)
    assert found.all_reduce.seconds == pytest.approx(min(by_ring, by_tree), rel=1e-9)
    assert found.all_to_all.seconds == pytest.approx(all_to_all_s(network, hosts, size), rel=1e-9)


@st.composite
def trees(draw: st.DrawFn) -> tuple[Topology, list[str]]:
    """Up to three levels; a host may be in no domain of one of them."""
    names = ["spine", "leaf", "rack"][: draw(st.integers(0, 3))]
    levels: list[dict[str, Any]] = [
        {"name": name, "bandwidth": draw(SPEEDS), "latency": draw(DELAYS)} for name in names
    ]
    levels.append({"name": "host", "bandwidth": draw(SPEEDS), "latency": draw(DELAYS)})
    hosts = [f"n{i}" for i in range(draw(st.integers(1, 7)))]
    nodes: dict[str, dict[str, str]] = {}
    for host in hosts:
        place, path = {}, ""
        for name in names:
            if draw(st.integers(0, 9)):
                path += f"-{draw(st.integers(0, 2))}"
                place[name] = f"{name}{path}"
        if place:
            nodes[host] = place
    return Topology.model_validate({"levels": levels, "nodes": nodes}), hosts


@st.composite
def graphs(draw: st.DrawFn) -> tuple[Topology, list[str]]:
    """Hosts on one or two switches, switches linked at random on top of a chain, so that all are reached."""
    switches = [f"s{i}" for i in range(draw(st.integers(1, 5)))]
    hosts = [f"n{i}" for i in range(draw(st.integers(2, 6)))]
    pairs = set(pairwise(switches))
    pairs |= draw(st.sets(st.sampled_from([(a, b) for a in switches for b in switches if a < b] or [("s0", "n0")])))
    for host in hosts:
        pairs |= {(switch, host) for switch in draw(st.sets(st.sampled_from(switches), min_size=1, max_size=2))}
    links = [
        {
            "from": one,
            "to": other,
            "bandwidth": draw(SPEEDS),
            "latency": draw(DELAYS),
            "utilisation": draw(st.sampled_from([0.0, 0.0, 0.5, 1.0])),
        }
        for one, other in sorted(pairs)
    ]
    linked = {name for pair in pairs for name in pair}
    return Topology.model_validate({"switches": [s for s in switches if s in linked], "links": links}), hosts


@examples(60)
@given(trees(), st.data(), SIZES)
def test_on_a_tree_of_levels_the_model_is_the_sum_over_flows(
    drawn: tuple[Topology, list[str]], data: st.DataObject, size: int
) -> None:
    topology, hosts = drawn
    ranks = data.draw(st.lists(st.sampled_from(hosts), min_size=2, max_size=9))
    found = estimated(cluster_with(topology, hosts), ranks, size)
    assert_agrees(found, tree_network(topology, {host: topology.nodes.get(host, {}) for host in hosts}), ranks, size)


@examples(60)
@given(graphs(), st.data(), SIZES)
def test_on_a_graph_of_links_the_model_is_the_sum_over_flows_and_their_ways(
    drawn: tuple[Topology, list[str]], data: st.DataObject, size: int
) -> None:
    topology, hosts = drawn
    ranks = data.draw(st.lists(st.sampled_from(hosts), min_size=2, max_size=7))
    assert_agrees(estimated(cluster_with(topology, hosts), ranks, size), link_network(topology), ranks, size)


@examples(60)
@given(st.one_of(trees(), graphs()), st.data(), SIZES)
def test_nothing_is_quicker_than_the_best_possible(
    drawn: tuple[Topology, list[str]], data: st.DataObject, size: int
) -> None:
    topology, hosts = drawn
    ranks = data.draw(st.lists(st.sampled_from(hosts), min_size=2, max_size=9))
    found = estimated(cluster_with(topology, hosts), ranks, size)
    for exchange in (found.all_reduce, found.all_to_all):
        assert exchange.seconds >= exchange.best_seconds * (1 - 1e-9)


@examples(60)
@given(st.one_of(trees(), graphs()), st.data(), SIZES)
def test_comparing_placements_gives_the_times_that_estimating_each_does(
    drawn: tuple[Topology, list[str]], data: st.DataObject, size: int
) -> None:
    topology, hosts = drawn
    cluster = cluster_with(topology, hosts)
    comparing = CommunicationModel(cluster)
    for _ in range(6):  # some of them alike, so that what was found before is used again
        ranks = data.draw(st.lists(st.sampled_from(hosts), min_size=2, max_size=4))
        rows = [cluster.rows[host] for host in ranks]
        expected = estimated(cluster, ranks, size).all_reduce.seconds
        assert comparing.all_reduce_s(rows, size) == pytest.approx(expected, rel=1e-9)


# --- a tree with equal links ---------------------------------------------------------------------------------


def equal_tree(spines: int = 3, leaves: int = 3, nodes: int = 4) -> tuple[Cluster, list[list[list[str]]]]:
    """Hosts by spine and leaf."""
    speed = {"bandwidth": "100Gbps", "latency": "1us"}
    hosts = [[[f"n{s}-{leaf}-{n}" for n in range(nodes)] for leaf in range(leaves)] for s in range(spines)]
    places = {
        host: {"spine": f"s{s}", "leaf": f"s{s}l{leaf}"}
        for s, inner in enumerate(hosts)
        for leaf, some in enumerate(inner)
        for host in some
    }
    levels = [{"name": name, **speed} for name in ("spine", "leaf", "host")]
    topology = Topology.model_validate({"levels": levels, "nodes": places})
    return cluster_with(topology, list(places)), hosts


@examples(60)
@given(st.integers(2, 4), st.data(), SIZES)
def test_the_farther_one_rank_is_from_all_others_the_longer_it_takes(
    count: int, data: st.DataObject, size: int
) -> None:
    cluster, hosts = equal_tree()
    together = hosts[0][0][:count]
    mover = data.draw(st.integers(0, count - 1))
    near, far = hosts[0][1][0], hosts[1][0][0]
    placements = [[host if rank == mover else one for rank, one in enumerate(together)] for host in (near, far)]
    at_home, in_next_leaf, in_next_spine = (estimated(cluster, one, size) for one in (together, *placements))
    for kind in ("all_reduce", "all_to_all"):
        times = [getattr(one, kind).seconds for one in (at_home, in_next_leaf, in_next_spine)]
        assert times == sorted(times)


@examples(60)
@given(st.data())
def test_where_only_latency_counts_a_longer_way_is_never_quicker(data: st.DataObject) -> None:
    cluster, hosts = equal_tree()
    flat = [host for spine in hosts for leaf in spine for host in leaf]
    ranks = data.draw(st.lists(st.sampled_from(flat), min_size=3, max_size=8, unique=True))
    mover = data.draw(st.integers(0, len(ranks) - 1))
    target = data.draw(st.sampled_from([host for host in flat if host not in ranks]))
    moved = [target if rank == mover else host for rank, host in enumerate(ranks)]
    others = [host for rank, host in enumerate(ranks) if rank != mover]
    assume(all(_links(target, other) >= _links(ranks[mover], other) for other in others))
    before, after = (estimated(cluster, one, 0) for one in (ranks, moved))
    assert after.all_reduce.seconds >= before.all_reduce.seconds
    assert after.all_to_all.seconds >= before.all_to_all.seconds


def _links(one: str, other: str) -> int:
    """Between two hosts of `equal_tree`."""
    a, b = one.split("-"), other.split("-")
    return 6 if a[0] != b[0] else 4 if a[1] != b[1] else 2 if a[2] != b[2] else 0


@examples(60)
@given(st.data(), SIZES)
def test_places_that_look_alike_take_as_long(data: st.DataObject, size: int) -> None:
    cluster, hosts = equal_tree()
    shape = data.draw(st.lists(st.tuples(*[st.integers(0, 2)] * 2, st.integers(0, 3)), min_size=2, max_size=8))
    spines = data.draw(st.permutations(range(3)))
    leaves = data.draw(st.permutations(range(3)))
    nodes = data.draw(st.permutations(range(4)))
    one = estimated(cluster, [hosts[s][leaf][n] for s, leaf, n in shape], size)
    other = estimated(cluster, [hosts[spines[s]][leaves[leaf]][nodes[n]] for s, leaf, n in shape], size)
    assert one.all_reduce.seconds == pytest.approx(other.all_reduce.seconds, rel=1e-12)
    assert one.all_to_all.seconds == pytest.approx(other.all_to_all.seconds, rel=1e-12)
