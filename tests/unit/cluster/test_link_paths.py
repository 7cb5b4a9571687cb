"""Ways through graphs of links: against plain Floyd–Warshall, and on the shapes that networks have."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.cluster.network.link_graph import LinkGraph
from dovetail.cluster.network.link_paths import LinkPaths
from dovetail.model.network.topology import HopRule, Topology


def paths_of(**fields: Any) -> tuple[Topology, LinkGraph, LinkPaths]:
    topology = Topology.model_validate(fields)
    graph = LinkGraph(topology)
    return topology, graph, LinkPaths(graph, topology.weights)


def link(start: str, end: str, gbps: int = 100, us: int = 1, **more: Any) -> dict[str, Any]:
    return {"from": start, "to": end, "bandwidth": f"{gbps}Gbps", "latency": f"{us}us", **more}


def clos(leaves: int, spines: int, hosts: int) -> dict[str, Any]:
    up = [link(f"l{i}", f"s{j}", 400, 2) for i, j in product(range(leaves), range(spines))]
    down = [link(f"n{i}-{j}", f"l{i}") for i, j in product(range(leaves), range(hosts))]
    switches = {f"l{i}": "leaf" for i in range(leaves)} | {f"s{j}": "spine" for j in range(spines)}
    return {"levels": [{"name": "spine"}, {"name": "leaf"}], "switches": switches, "links": [*up, *down]}


def torus(size: int) -> list[dict[str, Any]]:
    return [
        link(f"h{x}-{y}", f"h{a % size}-{b % size}")
        for x, y in product(range(size), repeat=2)
        for a, b in ((x + 1, y), (x, y + 1))
    ]


def test_hosts_that_hang_on_a_switch_alike_are_one_class() -> None:
    _, _, paths = paths_of(**clos(leaves=4, spines=2, hosts=10))
    assert paths.count == 4
    here, there = paths.class_of["n0-0"], paths.class_of["n3-9"]
    assert paths.from_class(here).at(here).hops == 2
    far = paths.from_class(here).at(there)
    assert (far.hops, far.latency_us, far.mbps) == (4, 6.0, 100_000)
    assert paths.distance[here, there] == 100
    assert paths.distance[here, here] == pytest.approx(100 * 2 / 6)


def test_a_leaf_is_a_domain_and_spines_that_share_leaves_are_one() -> None:
    _, graph, _ = paths_of(**clos(leaves=4, spines=2, hosts=3))
    assert set(graph.domains["leaf"].of_host.values()) == {"l0", "l1", "l2", "l3"}
    assert set(graph.domains["spine"].of_host.values()) == {"s0+1"}
    assert graph.domains["leaf"].up_mbps["l0"] == 800_000
    assert graph.domains["host"].up_mbps["n0-0"] == 100_000


def test_hosts_with_two_leaves_are_in_the_domain_of_both() -> None:
    links = [link("n1", "l1"), link("n1", "l2"), link("n2", "l1"), link("n2", "l2"), link("n3", "l3")]
    _, graph, paths = paths_of(links=[*links, link("l1", "s"), link("l3", "s")], switches=["l1", "l2", "l3", "s"])
    assert [level.name for level in graph.levels] == ["spine", "leaf"]
    assert graph.domains["leaf"].of_host == {"n1": "l1+1", "n2": "l1+1", "n3": "l3"}
    assert paths.count == 3


def test_two_cables_between_the_same_two_add_up() -> None:
    _, graph, paths = paths_of(links=[link("a", "b", 100, 3), link("b", "a", 200, 1, utilisation=0.5)])
    found = paths.from_class(0).at(1)
    assert (len(graph.starts), found.mbps, found.headroom_mbps, found.latency_us) == (1, 300_000, 200_000, 1.0)


def test_in_a_ring_the_shorter_way_round_counts() -> None:
    _, _, paths = paths_of(links=[link(f"h{i}", f"h{(i + 1) % 9}") for i in range(9)])
    assert [paths.from_class(0).at(i).hops for i in range(9)] == [0, 1, 2, 3, 4, 4, 3, 2, 1]
    assert paths.distance[0, 4] == 100
    assert paths.distance[0, 1] == 25


def test_a_torus_closes_in_every_direction() -> None:
    _, _, paths = paths_of(links=torus(6))
    far = paths.from_class(paths.class_of["h0-0"])
    assert far.at(paths.class_of["h5-5"]).hops == 2
    assert far.at(paths.class_of["h3-3"]).hops == 6


def test_the_quickest_way_wins_even_if_it_is_narrower_and_has_more_links() -> None:
    links = [link("a", "b", 400, 10), link("a", "m", 10, 2), link("m", "b", 10, 2)]
    _, _, paths = paths_of(links=links)
    found = paths.from_class(paths.class_of["a"]).at(paths.class_of["b"])
    assert (found.hops, found.latency_us, found.mbps) == (2, 4.0, 10_000)


def test_of_ways_alike_the_wider_one_is_taken() -> None:
    links = [link("a", "x", 10), link("x", "b", 10), link("a", "y", 400), link("y", "b", 400)]
    _, _, paths = paths_of(links=links)
    assert paths.from_class(paths.class_of["a"]).at(paths.class_of["b"]).mbps == 400_000


def test_of_ways_as_wide_the_one_that_loses_less_is_taken_from_either_end() -> None:
    ways = [link("a", "x", 10, 1), link("x", "b", 400, 4), link("a", "y", 10, 2), link("y", "b", 400, 3, loss=0.1)]
    for links in (ways, ways[::-1]):
        _, _, paths = paths_of(links=links)
        a, b = paths.class_of["a"], paths.class_of["b"]
        assert paths.from_class(a).at(b).loss == paths.from_class(b).at(a).loss == 0


def test_losses_on_the_way_come_together() -> None:
    _, _, paths = paths_of(links=[link("a", "m", loss=0.1), link("m", "b", loss=0.2)])
    assert paths.from_class(0).at(paths.class_of["b"]).loss == pytest.approx(1 - 0.9 * 0.8)


def test_where_there_is_no_way_nodes_are_as_far_as_can_be() -> None:
    _, _, paths = paths_of(links=[link("a", "b"), link("c", "d")])
    a, c = paths.class_of["a"], paths.class_of["c"]
    assert np.isinf(paths.from_class(a).latency_ns[c])
    assert paths.distance[a, c] == 100
    assert paths.hops[a, c] > 1000


def test_a_rule_of_hops_makes_groups_of_which_every_two_are_so_near() -> None:
    _, _, paths = paths_of(links=torus(6))
    groups = paths.groups(HopRule(name="close", hops=2))
    assert set(groups) == set(paths.class_of)
    for one, other in product(groups, repeat=2):
        if groups[one] == groups[other]:
            assert paths.hops[paths.class_of[one], paths.class_of[other]] <= 2
    assert len(set(groups.values())) < 36 / 2


def test_two_hops_in_a_fabric_are_one_leaf() -> None:
    _, graph, paths = paths_of(**clos(leaves=3, spines=2, hosts=4))
    groups = paths.groups(HopRule(name="close", hops=2))
    leaves = graph.domains["leaf"].of_host
    assert all((groups[a] == groups[b]) == (leaves[a] == leaves[b]) for a, b in product(groups, repeat=2))
    assert paths.groups(HopRule(name="closer", hops=1)) == {}


# --- against an oracle -----------------------------------------------------------------------------------------


@st.composite
def networks(draw: st.DrawFn) -> dict[str, Any]:
    """Random graphs: some vertices are switches, hosts hang on them or on each other."""
    hosts, switches = draw(st.integers(2, 6)), draw(st.integers(0, 4))
    names = [f"h{i}" for i in range(hosts)] + [f"s{i}" for i in range(switches)]
    ends = st.tuples(st.sampled_from(names), st.sampled_from(names)).filter(lambda pair: pair[0] != pair[1])
    pairs = draw(st.lists(ends, min_size=1, max_size=14))
    links = [
        link(
            a,
            b,
            draw(st.sampled_from([10, 100, 400])),
            draw(st.integers(0, 4)),
            loss=draw(st.sampled_from([0, 0, 0.1])),
        )
        for a, b in pairs
    ]
    linked = {name for pair in pairs for name in pair}
    return {"links": links, "switches": [name for name in names[hosts:] if name in linked]}


@given(networks())
def test_latencies_links_and_distances_are_those_of_a_plain_search(network: dict[str, Any]) -> None:
    topology, graph, paths = paths_of(**network)
    best = _searched(graph)
    weights = topology.weights
    hosts = list(paths.class_of)
    parts: dict[tuple[str, str], float] = {}
    found = {
        (a, b): paths.from_class(paths.class_of[a]).at(paths.class_of[b]) for a, b in product(hosts, repeat=2) if a != b
    }
    for (a, b), path in found.items():
        latency_ns, hops = best[graph.index[a], graph.index[b]]
        if latency_ns == np.inf:
            assert path.latency_us == np.inf
            assert paths.distance[paths.class_of[a], paths.class_of[b]] == 100
            continue
        assert (path.latency_us, path.hops) == (latency_ns / 1000, hops)
        assert paths.hops[paths.class_of[a], paths.class_of[b]] == hops
    ways = {pair: path for pair, path in found.items() if np.isfinite(path.latency_us)}
    if not ways:
        return
    longest = max(path.latency_us for path in ways.values()) or 1.0
    slowest, fastest = (pick(1 / path.mbps for path in ways.values()) for pick in (max, min))
    lossiest = max(path.loss for path in ways.values()) or 1.0
    for pair, path in ways.items():
        parts[pair] = (
            weights.latency * path.latency_us / longest
            + weights.bandwidth * (1 / path.mbps - fastest) / slowest
            + weights.loss * path.loss / lossiest
        )
    most = max(parts.values())
    for (a, b), part in parts.items():
        expected = 100 * part / most if most else 100.0
        assert paths.distance[paths.class_of[a], paths.class_of[b]] == pytest.approx(expected, abs=1e-3)


def _searched(graph: LinkGraph) -> dict[tuple[int, int], tuple[float, float]]:
    """Floyd–Warshall over (latency, links)."""
    many = range(len(graph.names))
    best = {(i, j): (0.0, 0.0) if i == j else (np.inf, np.inf) for i, j in product(many, repeat=2)}
    for edge in range(len(graph.starts)):
        a, b = int(graph.starts[edge]), int(graph.ends[edge])
        best[a, b] = best[b, a] = (float(graph.latency_ns[edge]), 1.0)
    for k, i, j in product(many, repeat=3):
        through = (best[i, k][0] + best[k, j][0], best[i, k][1] + best[k, j][1])
        best[i, j] = min(best[i, j], through)
    return best
