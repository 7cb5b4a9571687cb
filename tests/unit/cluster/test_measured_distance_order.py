"""What counts between two nodes: set by hand, then described, then measured, then the levels that they share."""

import numpy as np

from dovetail.cluster.network.distance import distance_to, distances_from, proximity_to
from dovetail.cluster.state import Cluster
from dovetail.model.network.topology import Topology
from dovetail.model.node import Node

NAN = np.nan


def measured_cluster(labels: int = 4) -> Cluster:
    """n0 and n1 in one rack, n2 and n3 in another; n3 was never measured, and n1 was not measured with n2."""
    cluster = Cluster()
    for place in range(4):
        cluster.join(Node(name=f"n{place}", labels={"rack": f"r{place // 2}"} if place < labels else {}))
    distance = np.array([[0, 80, 10], [80, 0, NAN], [10, NAN, 0]], dtype=np.float32)
    cluster.set_measured_distances(["n0", "n1", "n2"], distance)
    return cluster


def test_what_is_measured_counts_before_labels_and_labels_where_nothing_was() -> None:
    cluster = measured_cluster()
    assert distances_from(cluster, 0).tolist() == [0, 80, 10, 100]
    assert distances_from(cluster, 1).tolist() == [80, 0, 100, 100]
    assert distances_from(cluster, 2).tolist() == [10, 100, 0, 50]


def test_what_is_set_by_hand_counts_before_it() -> None:
    cluster = measured_cluster()
    cluster.set_distance("n0", "n1", 5.0)
    assert distances_from(cluster, 1).tolist() == [5, 0, 100, 100]
    cluster.clear_distances()
    assert distances_from(cluster, 1).tolist() == [80, 0, 100, 100]


def test_what_is_described_counts_before_it_between_the_nodes_that_are_described() -> None:
    cluster = measured_cluster()
    links = [{"from": f"n{place}", "to": "leaf", "bandwidth": "10Gbps", "latency": "1us"} for place in (0, 1)]
    cluster.set_topology(Topology.model_validate({"switches": ["leaf"], "links": links}))
    assert distances_from(cluster, 0).tolist() == [0, 100, 10, 100]
    levels = [{"name": "rack", "latency": "5us"}]
    cluster.set_topology(Topology.model_validate({"levels": levels}))
    described = Cluster()
    for place in range(4):
        described.join(Node(name=f"n{place}", labels={"rack": f"r{place // 2}"}))
    described.set_topology(Topology.model_validate({"levels": levels}))
    assert distances_from(cluster, 0).tolist() == distances_from(described, 0).tolist()


def test_levels_without_speeds_leave_distances_to_measurements() -> None:
    cluster = measured_cluster(labels=0)
    cluster.set_topology(Topology.model_validate({"levels": [{"name": "leaf"}], "nodes": {"n0": {"leaf": "l1"}}}))
    assert distances_from(cluster, 0).tolist() == [0, 80, 10, 100]


def test_the_nearest_of_several_and_sums_follow_from_it() -> None:
    cluster = measured_cluster()
    assert distance_to(cluster, np.array([1, 2])).tolist() == [10, 0, 0, 50]
    assert np.allclose(proximity_to(cluster, [0, 0, 2]), [2 * 1 + 0.9, 0.4, 2 * 0.9 + 1, 0.5], atol=1e-6)


def test_a_node_that_comes_back_is_as_far_as_before_and_new_measurements_replace_all() -> None:
    cluster = measured_cluster()
    cluster.leave("n1")
    cluster.join(Node(name="n9"))
    assert distances_from(cluster, 0).tolist() == [0, 100, 10, 100]
    cluster.join(Node(name="n1"))
    assert distances_from(cluster, 0)[cluster.rows["n1"]] == 80
    cluster.set_measured_distances([], np.zeros((0, 0), dtype=np.float32))
    assert distances_from(cluster, 2).tolist()[3] == 50
