"""Distance: 0 to 100, from the narrowest level two nodes share."""

from dovetail.cluster.network.distance import distances_from, proximity_to
from dovetail.cluster.state import Cluster
from dovetail.model.node import Node

ZONE = "topology.kubernetes.io/zone"


def cluster_of(*labels: dict[str, str]) -> Cluster:
    cluster = Cluster()
    for i, one in enumerate(labels):
        cluster.join(Node(name=f"n{i}", labels=one))
    return cluster


def test_levels_that_some_node_carries_divide_the_way_evenly() -> None:
    cluster = cluster_of(
        {ZONE: "z1", "rack": "r1"}, {ZONE: "z1", "rack": "r1"}, {ZONE: "z1", "rack": "r2"}, {ZONE: "z2"}, {}
    )
    step = 100 / 3
    assert distances_from(cluster, 0).tolist() == [0, 100 - 2 * step, 100 - step, 100, 100]


def test_nodes_without_labels_are_as_far_apart_as_can_be() -> None:
    cluster = cluster_of({}, {})
    assert distances_from(cluster, 0).tolist() == [0, 100]


def test_a_level_counts_no_longer_once_no_node_carries_it() -> None:
    cluster = cluster_of({"rack": "r1"}, {"rack": "r1"}, {"leaf": "l1"})
    assert distances_from(cluster, 0)[1] == 100 - 2 * (100 / 3)
    cluster.leave("n2")
    assert distances_from(cluster, 0)[1] == 50


def test_missing_a_label_is_not_sharing_it() -> None:
    cluster = cluster_of({"rack": "r1"}, {}, {})
    assert distances_from(cluster, 1).tolist() == [100, 0, 100]


def test_proximity_counts_every_task_of_a_node() -> None:
    cluster = cluster_of({"rack": "r1"}, {"rack": "r1"}, {"rack": "r2"})
    assert proximity_to(cluster, [0, 0, 2]).tolist() == [2.0, 1.0, 1.0]
