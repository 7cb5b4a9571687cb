"""What a topology does to a cluster: labels over labels, levels, ways, bandwidth, distances set by hand."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.cluster.bandwidth import reserve_bandwidth
from tests.unit.cluster.test_link_paths import networks

from dovetail.cluster.network.distance import distance_to, distances_from
from dovetail.cluster.network.domains import domain_codes, level_column, level_key
from dovetail.cluster.network.levels import bandwidth_of, path_between, present_levels, shared_level
from dovetail.cluster.state import Cluster
from dovetail.model.network.topology import Topology
from dovetail.model.node import Node

LEVELS = [
    {"name": "spine", "bandwidth": "1600Gbps", "latency": "5us"},
    {"name": "leaf", "bandwidth": "800Gbps", "latency": "2us"},
    {"name": "host", "bandwidth": "200Gbps", "latency": "1us"},
]
PLACES = {
    "leaf": {"l1": ["n0", "n1"], "l2": ["n2", "n3"], "l3": ["n4"]},
    "spine": {"s1": ["l1", "l2"], "s2": ["l3"]},
}


def cluster_of(*labels: dict[str, str]) -> Cluster:
    cluster = Cluster()
    for i, one in enumerate(labels):
        cluster.join(Node(name=f"n{i}", labels=one))
    return cluster


def described(cluster: Cluster, **fields: Any) -> Cluster:
    cluster.set_topology(Topology.model_validate(fields))
    return cluster


def usual() -> Cluster:
    return described(cluster_of({}, {}, {}, {}, {}), levels=LEVELS, domains=PLACES)


# --- labels ----------------------------------------------------------------------------------------------------


def test_a_node_carries_what_the_topology_says_and_keeps_what_it_says_of_itself() -> None:
    cluster = described(cluster_of({"leaf": "own", "disk": "ssd"}, {}), levels=LEVELS, domains=PLACES)
    assert cluster.labels.row(0) == {"leaf": "l1", "spine": "s1", "disk": "ssd"}
    assert cluster.node("n0").labels == {"leaf": "own", "disk": "ssd"}
    cluster.set_topology(Topology())
    assert cluster.labels.row(0) == {"leaf": "own", "disk": "ssd"}
    assert cluster.labels.row(1) == {}


def test_a_node_that_joins_later_goes_where_the_topology_has_it() -> None:
    cluster = usual()
    cluster.leave("n1")
    row = cluster.join(Node(name="n1", labels={"a": "b"}))
    assert cluster.labels.row(row) == {"a": "b", "leaf": "l1", "spine": "s1"}
    assert cluster.node("n1").labels == {"a": "b"}


def test_another_topology_replaces_the_first_wholly() -> None:
    cluster = described(usual(), levels=[{"name": "row"}], domains={"row": {"r1": ["n0"]}})
    assert cluster.labels.row(0) == {"row": "r1"}
    assert cluster.labels.row(2) == {}
    assert [level.name for level in present_levels(cluster)] == ["row"]


def test_a_level_may_have_a_label_of_another_name() -> None:
    cluster = described(
        cluster_of({"example.com/block": "b1"}), levels=[{"name": "block", "label": "example.com/block"}]
    )
    assert level_key(cluster, "block") == "example.com/block"
    assert [level.domain(1) for level in present_levels(cluster)] == ["b1"]


def test_without_a_topology_the_labels_of_the_clouds_are_levels() -> None:
    layers = {f"topology.k8s.aws/network-node-layer-{i}": f"x{i}" for i in (1, 2, 3)}
    cluster = cluster_of({**layers, "topology.kubernetes.io/zone": "z"})
    assert [level.name for level in present_levels(cluster)] == ["zone", "layer-1", "layer-2", "layer-3"]
    column = level_column(cluster, "layer-3")
    assert column is not None
    assert column.value(0) == "x3"


def test_a_plain_label_goes_before_the_conventional_one_of_that_level() -> None:
    cluster = cluster_of({"leaf": "plain", "network.topology.nvidia.com/leaf": "cloud"})
    assert level_key(cluster, "leaf") == "leaf"
    other = cluster_of({"network.topology.nvidia.com/leaf": "cloud"})
    assert level_key(other, "leaf") == "network.topology.nvidia.com/leaf"


def test_changes_of_the_network_make_cached_results_start_afresh() -> None:
    cluster = usual()
    before = cluster.epoch
    cluster.set_distance("n0", "n1", 5)
    cluster.clear_distances()
    cluster.set_topology(Topology())
    assert cluster.epoch == before + 3


# --- ways by level ---------------------------------------------------------------------------------------------


def test_the_narrowest_level_two_nodes_share_says_what_lies_between_them() -> None:
    cluster = usual()
    near, far, farthest = (path_between(cluster, 0, other) for other in (1, 2, 4))
    assert near is not None
    assert far is not None
    assert farthest is not None
    assert [(path.hops, path.latency_us, path.mbps) for path in (near, far, farthest)] == [
        (2, 2.0, 200_000),
        (4, 6.0, 200_000),
        (6, 16.0, 200_000),
    ]
    levels = present_levels(cluster)
    assert [shared_level(levels, 0, other) for other in (1, 2, 4)] == [1, 0, None]


def test_distances_follow_from_the_links_where_a_topology_says_how_fast_they_are() -> None:
    assert distances_from(usual(), 0).tolist() == [0, 12.5, 37.5, 37.5, 100]


def test_a_topology_without_speeds_keeps_even_steps() -> None:
    plain = [{"name": "spine"}, {"name": "leaf"}]
    cluster = described(cluster_of({}, {}, {}, {}, {}), levels=plain, domains=PLACES)
    third = 100 / 3
    assert distances_from(cluster, 0).tolist() == pytest.approx([0, third, 2 * third, 2 * third, 100])


def test_the_farthest_there_are_count_as_100() -> None:
    cluster = usual()
    cluster.leave("n4")
    assert distances_from(cluster, 0)[:4].tolist() == pytest.approx([0, 100 * 2 / 6, 100, 100])


def test_narrow_links_and_lossy_ones_make_nodes_far() -> None:
    def far(**of_spine: Any) -> float:
        levels = [{"name": "spine", "latency": "1us", **of_spine}, {"name": "leaf", "latency": "1us"}]
        cluster = described(cluster_of({}, {}, {}, {}, {}), levels=levels, domains=PLACES)
        return float(distances_from(cluster, 0)[2])

    plain = far()
    assert far(bandwidth="1Gbps") < plain  # what crosses spines is farther now, so this is nearer than it was
    assert far(loss=0.2) < plain


def test_a_rule_of_hops_is_a_level_by_its_name() -> None:
    rules = [{"name": "close", "hops": 2}, {"name": "alone", "hops": 1}, {"name": "pod", "hops": 5}]
    cluster = described(cluster_of({}, {}, {}, {}, {}), levels=LEVELS, domains=PLACES, rules=rules)
    assert level_key(cluster, "close") == "leaf"
    assert level_key(cluster, "pod") == "spine"
    assert level_key(cluster, "alone") is None
    assert len(set(domain_codes(cluster, "alone").tolist())) == 5


# --- graphs ----------------------------------------------------------------------------------------------------


def ring(many: int, **more: Any) -> Cluster:
    links = [{"from": f"n{i}", "to": f"n{(i + 1) % many}", "latency": "1us", **more} for i in range(many)]
    rules = [{"name": "close", "hops": 1}]
    return described(cluster_of(*({} for _ in range(many))), links=links, rules=rules)


def test_in_a_graph_distances_are_those_of_the_shortest_ways() -> None:
    cluster = ring(8)
    assert distances_from(cluster, 0).tolist() == [0, 25, 50, 75, 100, 75, 50, 25]
    assert distance_to(cluster, np.array([0, 4])).tolist() == [0, 25, 50, 25, 0, 25, 50, 25]


def test_a_rule_of_hops_in_a_graph_is_a_label() -> None:
    cluster = ring(6)
    column = level_column(cluster, "close")
    assert column is not None
    assert [column.value(row) for row in range(6)] == ["n0", "n0", "n2", "n2", "n4", "n4"]


def test_a_node_that_is_not_in_the_graph_is_far_from_all() -> None:
    cluster = ring(4)
    cluster.join(Node(name="stranger"))
    assert distances_from(cluster, 0).tolist() == [0, 50, 100, 50, 100]
    assert distances_from(cluster, 4).tolist() == [100, 100, 100, 100, 0]
    assert path_between(cluster, 0, 4) is None


def test_switches_of_a_graph_become_labels() -> None:
    links = [{"from": host, "to": leaf} for host, leaf in (("n0", "l1"), ("n1", "l1"), ("n2", "l2"))]
    links += [{"from": leaf, "to": "top"} for leaf in ("l1", "l2")]
    cluster = described(cluster_of({}, {}, {}), links=links, switches=["l1", "l2", "top"])
    assert [cluster.labels.row(row) for row in range(3)] == [
        {"leaf": "l1", "spine": "top"},
        {"leaf": "l1", "spine": "top"},
        {"leaf": "l2", "spine": "top"},
    ]


@given(
    networks(), st.sampled_from([[], [{"name": "row"}], [{"name": "a"}, {"name": "b"}, {"name": "c"}, {"name": "d"}]])
)
def test_any_graph_gives_distances_that_are_the_same_both_ways(network: dict[str, Any], levels: list[Any]) -> None:
    cluster = Cluster()
    for i in range(6):
        cluster.join(Node(name=f"h{i}"))
    described(cluster, **network, levels=levels, rules=[{"name": "close", "hops": 2}])
    table = np.array([distances_from(cluster, row) for row in range(6)])
    assert np.array_equal(table, table.T)
    assert not table.diagonal().any()
    assert ((table >= 0) & (table <= 100)).all()
    for row in range(6):
        nearest = distance_to(cluster, np.array([row, (row + 1) % 6]))
        assert np.array_equal(nearest, np.minimum(table[row], table[(row + 1) % 6]))
    cluster.set_topology(Topology())
    assert not any(cluster.labels.row(row) for row in range(6))


# --- by hand ---------------------------------------------------------------------------------------------------


def test_a_distance_set_by_hand_counts_in_both_directions_and_before_links() -> None:
    cluster = usual()
    cluster.set_distance("n0", "n4", 25)
    assert distances_from(cluster, 0)[4] == distances_from(cluster, 4)[0] == 25
    cluster.set_distance("n4", "n0", None)
    assert distances_from(cluster, 0)[4] == 100


def test_a_distance_set_by_hand_may_be_longer_than_what_links_say() -> None:
    cluster = usual()
    cluster.set_distance("n0", "n1", 99)
    assert distance_to(cluster, np.array([0])).tolist() == [0, 99, 37.5, 37.5, 100]
    assert distance_to(cluster, np.array([0, 2])).tolist() == [0, 37.5, 0, 12.5, 100]


def test_a_distance_set_by_hand_waits_for_its_node_to_come_back() -> None:
    cluster = usual()
    cluster.set_distance("n0", "n4", 25)
    cluster.leave("n4")
    assert distances_from(cluster, 0)[4] == 100
    cluster.join(Node(name="n4"))
    assert distances_from(cluster, 0)[4] == 25
    assert cluster.topology.distances.all() == [("n0", "n4", 25)]
    assert len(cluster.topology.distances) == 1


# --- bandwidth -------------------------------------------------------------------------------------------------


def test_links_up_carry_what_the_level_says_and_holding_lowers_what_is_left() -> None:
    cluster = usual()
    reserve_bandwidth(cluster, "leaf", 1, 300_000)
    carried, held, left = bandwidth_of(cluster, "leaf")
    assert carried.tolist() == [0, 800_000, 800_000, 800_000]
    assert held.tolist() == [0, 300_000, 0, 0]
    assert left.tolist() == [0, 500_000, 800_000, 800_000]
    path = path_between(cluster, 0, 2)
    assert path is not None
    assert (path.mbps, path.headroom_mbps) == (200_000, 200_000)


def test_what_is_held_of_a_host_link_is_missing_on_every_way_from_it() -> None:
    cluster = usual()
    reserve_bandwidth(cluster, "host", 1, 150_000)
    path = path_between(cluster, 0, 1)
    assert path is not None
    assert path.headroom_mbps == 50_000


def test_a_level_known_by_two_names_has_one_account() -> None:
    cluster = cluster_of({"topology.kubernetes.io/zone": "a"})
    reserve_bandwidth(cluster, level_key(cluster, "zone") or "", 1, 5)
    assert bandwidth_of(cluster, "zone")[1].tolist() == bandwidth_of(cluster, "topology.kubernetes.io/zone")[1].tolist()


def test_links_up_from_a_graph_are_the_links_that_leave_the_domain() -> None:
    links: list[dict[str, Any]] = [{"from": f"n{i}", "to": "l1", "bandwidth": "100Gbps"} for i in range(2)]
    links += [{"from": "l1", "to": f"s{i}", "bandwidth": "400Gbps", "utilisation": 0.25} for i in range(2)]
    links += [{"from": "l2", "to": "s0", "bandwidth": "50Gbps"}, {"from": "n2", "to": "l2", "bandwidth": "100Gbps"}]
    cluster = described(cluster_of({}, {}, {}), links=links, switches=["l1", "l2", "s0", "s1"])
    carried, _, left = bandwidth_of(cluster, "leaf")
    assert carried.tolist() == [0, 800_000, 50_000]
    assert left.tolist() == [0, 600_000, 50_000]
    assert bandwidth_of(cluster, "host")[0].tolist() == [100_000, 100_000, 100_000]
