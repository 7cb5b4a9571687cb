"""Each built-in score on numbers small enough to check by hand."""

from typing import Any

import pytest
from tests.unit.placement.scene import cluster_of, occupy, request_for, scored

from dovetail.cluster.state import Cluster
from dovetail.model.task import TaskId
from dovetail.placement.registry import SCORES

SOFT = {"taints": [{"key": "old", "effect": "PreferNoSchedule"}]}
ZONE = "topology.kubernetes.io/zone"


def term(weight: int, key: str, value: str) -> dict[str, Any]:
    return {"weight": weight, "match": [{"key": key, "operator": "In", "values": [value]}]}


def half_full() -> Cluster:
    """n0 has half its CPU, a quarter of its memory, a tenth of its disk and slots in use; n1 is empty."""
    cluster = cluster_of({}, {})
    occupy(cluster, 0, cpu=2, memory="1GiB", disk="10GB")
    return cluster


def test_resource_utilisation_is_the_room_left_in_what_the_task_asks_for() -> None:
    cluster = half_full()
    points = scored("resource_utilisation", cluster, request_for(cluster, resources={"cpu": 1, "memory": "1GiB"}))
    assert points == pytest.approx([1 - (0.75 + 0.5) / 2, 1 - 0.25])


def test_resource_utilisation_of_a_task_that_asks_for_nothing_looks_at_slots() -> None:
    cluster = half_full()
    assert scored("resource_utilisation", cluster, request_for(cluster)) == pytest.approx([0.8, 0.9])


def test_resource_utilisation_counts_an_extended_resource() -> None:
    cluster = cluster_of({"capacity": {"cpu": 4, "slots": 10, "example.com/fpga": 4}})
    request = request_for(cluster, resources={"cpu": 1, "example.com/fpga": 3})
    assert scored("resource_utilisation", cluster, request) == [0.5]


def test_load_balance_is_one_less_the_mean_share_of_cpu_memory_and_slots() -> None:
    cluster = half_full()
    assert scored("load_balance", cluster, request_for(cluster)) == pytest.approx([1 - (0.5 + 0.25 + 0.1) / 3, 1.0])


def test_least_loaded_weighs_cpu_and_memory_forty_and_disk_twenty_as_they_are_now() -> None:
    cluster = half_full()
    points = scored("least_loaded", cluster, request_for(cluster, resources={"cpu": 2}))
    assert points == pytest.approx([1 - (0.4 * 0.5 + 0.4 * 0.25 + 0.2 * 0.1), 1.0])


def test_best_fit_likes_the_node_that_will_be_fullest() -> None:
    cluster = half_full()
    points = scored("best_fit", cluster, request_for(cluster, resources={"cpu": 1, "disk": "20GB"}))
    assert points == pytest.approx([0.4 * 0.75 + 0.4 * 0.25 + 0.2 * 0.3, 0.4 * 0.25 + 0.2 * 0.2])


def test_resource_balance_is_the_gap_between_most_and_least_used() -> None:
    cluster = half_full()
    asked = {"memory": "1GiB", "disk": "70GB"}
    points = scored("resource_balance", cluster, request_for(cluster, resources=asked))
    assert points == pytest.approx([1 - (0.8 - 0.5), 1 - (0.7 - 0.0)])


def test_a_resource_the_node_has_none_of_counts_as_unused() -> None:
    cluster = cluster_of({"capacity": {"cpu": 2, "slots": 5}})
    request = request_for(cluster, resources={"cpu": 1})
    assert scored("best_fit", cluster, request) == pytest.approx([0.2])
    assert scored("least_loaded", cluster, request) == [1.0]


def test_preferred_is_the_share_of_weight_that_a_node_meets() -> None:
    cluster = cluster_of({"labels": {"disk": "nvme", "arch": "arm64"}}, {"labels": {"disk": "nvme"}}, {})
    wishes = [term(30, "disk", "nvme"), term(10, "arch", "arm64")]
    request = request_for(cluster, node_affinity={"preferred": wishes})
    assert scored("preferred", cluster, request) == pytest.approx([1.0, 0.75, 0.0])
    assert scored("preferred", cluster, request_for(cluster)) == [0.0] * 3


def test_avoided_is_the_share_of_unwanted_weight_that_a_node_has() -> None:
    cluster = cluster_of({"labels": {"disk": "hdd", "old": "yes"}}, {"labels": {"disk": "hdd"}}, {})
    request = request_for(cluster, node_affinity={"avoided": [term(1, "disk", "hdd"), term(3, "old", "yes")]})
    assert scored("avoided", cluster, request) == pytest.approx([1.0, 0.25, 0.0])


def test_a_soft_taint_outweighs_all_else_a_task_would_avoid() -> None:
    cluster = cluster_of({"labels": {"disk": "hdd"}}, SOFT, {"labels": {"old": "yes"}, **SOFT}, {})
    request = request_for(cluster, node_affinity={"avoided": [term(50, "disk", "hdd"), term(50, "old", "yes")]})
    assert scored("avoided", cluster, request) == [0.5, 1.0, 1.0, 0.0]
    assert scored("avoided", cluster, request_for(cluster)) == [0.0, 1.0, 1.0, 0.0]


def test_a_tolerated_soft_taint_is_nothing_to_avoid() -> None:
    cluster = cluster_of({}, SOFT)
    assert scored("avoided", cluster, request_for(cluster, tolerations=[{"operator": "Exists"}])) == [0.0, 0.0]


def test_what_is_avoided_on_one_node_does_not_depend_on_another_nodes_taints() -> None:
    cluster = cluster_of({"labels": {"disk": "hdd"}}, {})
    request = request_for(cluster, node_affinity={"avoided": [term(1, "disk", "hdd")]})
    before = scored("avoided", cluster, request)[0]
    cluster.join(cluster.node("n1").model_copy(update=SOFT | {"taints": cluster_of(SOFT).node("n0").taints}))
    assert scored("avoided", cluster, request) == [before, 1.0]


def test_affinity_puts_wishes_in_one_number_around_a_half() -> None:
    cluster = cluster_of({"labels": {"disk": "nvme"}}, {"labels": {"disk": "hdd"}}, {}, SOFT)
    wishes = {"preferred": [term(1, "disk", "nvme")], "avoided": [term(1, "disk", "hdd")]}
    assert scored("affinity", cluster, request_for(cluster, node_affinity=wishes)) == [1.0, 0.0, 0.5, 0.0]
    assert scored("affinity", cluster_of({}), request_for(cluster_of({}))) == [0.5]


def test_colocation_is_one_where_the_same_service_of_the_same_namespace_runs() -> None:
    cluster = cluster_of({}, {}, {})
    occupy(cluster, 1, TaskId(5, 0), service="web")
    occupy(cluster, 1, TaskId(5, 1), service="web")
    occupy(cluster, 2, TaskId(6, 0), service="db")
    assert scored("colocation", cluster, request_for(cluster, service="web")) == [0.0, 1.0, 0.0]
    assert scored("colocation", cluster, request_for(cluster, service="web", namespace="other")) == [0.0] * 3
    assert scored("colocation", cluster, request_for(cluster)) == [0.0] * 3


def with_related_tasks() -> Cluster:
    """Two tasks of `ps` on n0, one on n2; n0 and n1 share a rack."""
    cluster = cluster_of({"labels": {"rack": "r1"}}, {"labels": {"rack": "r1"}}, {"labels": {"rack": "r2"}})
    cluster.placements.directory["default", "ps"] = (7, 3)
    for replica, row in enumerate((0, 0, 2)):
        occupy(cluster, row, TaskId(7, replica))
    return cluster


def test_network_proximity_is_the_mean_nearness_to_related_tasks() -> None:
    cluster = with_related_tasks()
    request = request_for(cluster, affinity=[{"near": "ps"}])
    assert scored("network_proximity", cluster, request) == pytest.approx([2 / 3, 1 / 3, 1 / 3])


def test_related_proximity_is_their_sum() -> None:
    cluster = with_related_tasks()
    request = request_for(cluster, affinity=[{"near": "ps"}])
    assert scored("related_proximity", cluster, request) == pytest.approx([2.0, 1.0, 1.0])


def test_a_task_whose_related_workloads_are_not_placed_prefers_nothing() -> None:
    cluster = with_related_tasks()
    for name in ("network_proximity", "related_proximity"):
        assert scored(name, cluster, request_for(cluster, affinity=[{"near": "later"}])) == [0.0] * 3
        assert scored(name, cluster, request_for(cluster)) == [0.0] * 3


@pytest.mark.parametrize("name", [name for name in SCORES if name != "related_proximity"])
def test_points_lie_between_nothing_and_one(name: str) -> None:
    cluster = with_related_tasks()
    cluster.join(cluster.node("n1").model_copy(update={"name": "n3", "taints": cluster_of(SOFT).node("n0").taints}))
    request = request_for(cluster, resources={"cpu": 2}, service="web", affinity=[{"near": "ps"}])
    assert all(0 <= points <= 1 for points in scored(name, cluster, request))
