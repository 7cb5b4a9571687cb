"""When nothing fits, the outcome is typed and the words say what is short, by how much, and what would help."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.unit.placement.scene import cluster_of, occupy, request_for

from dovetail.cluster.state import Cluster
from dovetail.model.reason import Eviction, Explanation
from dovetail.placement.pipeline.pipeline import Pipeline
from dovetail.placement.pipeline.profiles import BUILT_IN


def told(cluster: Cluster, scope: dict[str, str] | None = None, **fields: Any) -> Explanation:
    """What both ways of deciding say, having made sure that they say the same."""
    request = request_for(cluster, scope, **fields)
    fresh = Pipeline("tried", BUILT_IN["balanced"], cluster).decide(request, "1.0")
    kept = Pipeline("tried", BUILT_IN["balanced"], cluster).decide(request, "1.0", repeats=True)
    assert fresh.row is kept.row is None
    assert fresh.explanation == kept.explanation
    assert not fresh.explanation.best
    return fresh.explanation


def test_without_any_node_there_are_no_available_nodes() -> None:
    explanation = told(cluster_of())
    assert explanation.outcome == "no_available_nodes"
    assert explanation.message == "there are no nodes yet: register one or configure a backend"
    assert explanation.nodes == 0
    assert [step.remaining for step in explanation.funnel] == [0] * 14


def test_with_all_nodes_offline_or_cordoned_there_are_no_available_nodes() -> None:
    cluster = cluster_of({}, {}, {})
    cluster.set_online("n0", False)
    cluster.set_cordoned("n1", True)
    cluster.set_online("n2", False)
    cluster.set_cordoned("n2", True)
    explanation = told(cluster)
    assert explanation.outcome == "no_available_nodes"
    helps = "dovetail uncordon NODE lets one take work again"
    assert explanation.message == f"none of 3 nodes takes work: 1 cordoned, 2 offline; {helps}"
    assert explanation.nodes == 3


@pytest.mark.parametrize(
    ("close", "message"),
    [
        (
            lambda cluster, name: cluster.set_cordoned(name, True),
            "all 2 nodes are cordoned; dovetail uncordon NODE lets one take work again",
        ),
        (
            lambda cluster, name: cluster.set_quarantined(name, "three failures"),
            "all 2 nodes are in quarantine; dovetail uncordon NODE lets one take work again",
        ),
        (
            lambda cluster, name: cluster.set_online(name, False),
            "all 2 nodes are offline; dovetail nodes -o wide shows why",
        ),
    ],
)
def test_with_every_node_closed_for_one_reason_the_command_that_helps_is_named(
    close: Callable[[Cluster, str], object], message: str
) -> None:
    cluster = cluster_of({}, {})
    for name in ("n0", "n1"):
        close(cluster, name)
    assert told(cluster).message == message


def test_a_cluster_whose_last_node_left_is_told_apart_from_one_that_is_down() -> None:
    cluster = cluster_of({})
    cluster.leave("n0")
    assert told(cluster).message.startswith("there are no nodes yet")


def test_nodes_whose_backend_is_silent_are_unavailable_and_the_backend_is_named() -> None:
    cluster = cluster_of({"backend": "k8s-a"}, {"backend": "k8s-b"}, {"backend": "slurm"})
    for backend in ("k8s-a", "k8s-b", "slurm", "without-nodes"):
        cluster.set_backend_available(backend, False)
    cluster.set_cordoned("n2", True)
    explanation = told(cluster)
    assert explanation.outcome == "backend_unavailable"
    assert explanation.message == (
        "2 nodes could take it, but backend 'k8s-a', 'k8s-b' does not answer; dovetail backend shows why"
    )


def test_what_is_short_is_told_of_the_node_that_lacks_least() -> None:
    cluster = cluster_of({}, {})
    occupy(cluster, 0, cpu=4)
    occupy(cluster, 1, cpu=2)
    explanation = told(cluster, resources={"cpu": 3, "memory": "1GiB"})
    assert explanation.outcome == "insufficient_resources"
    (shortage,) = explanation.shortages
    assert (shortage.resource, shortage.best_node, shortage.needed, shortage.best_free) == ("cpu", "n1", 3000, 2000)
    assert shortage.short_by == 1000
    assert explanation.message == "cpu short by 1 or more on 2 nodes; nearest n1 (needs 3, 2 free)"
    assert explanation.eviction is Eviction.HELPS


def test_eviction_never_helps_where_even_an_empty_node_is_too_small() -> None:
    explanation = told(cluster_of({}, {}), resources={"cpu": 64, "memory": "1TiB"})
    assert {shortage.resource for shortage in explanation.shortages} == {"cpu", "memory"}
    assert explanation.eviction is Eviction.NEVER


def test_eviction_never_helps_against_a_reservation() -> None:
    cluster = cluster_of({})
    cluster.reserve("n0", {"cpu": 4000})
    assert told(cluster, resources={"cpu": 1}).eviction is Eviction.NEVER


def test_a_resource_nobody_has_is_short_by_all_of_it() -> None:
    explanation = told(cluster_of({}), resources={"example.com/fpga": 2})
    (shortage,) = explanation.shortages
    assert (shortage.resource, shortage.short_by) == ("example.com/fpga", 2)
    assert explanation.eviction is Eviction.NEVER


def test_only_nodes_that_pass_the_other_filters_count_as_near_misses() -> None:
    cluster = cluster_of({"labels": {"zone": "a"}}, {})
    occupy(cluster, 0, cpu=4)
    occupy(cluster, 1, cpu=1)
    explanation = told(cluster, resources={"cpu": 4}, node_selector={"zone": "a"})
    assert explanation.shortages[0].best_node == "n0"
    assert explanation.message == "cpu short by 4 on n0, the only node that may take it (needs 4, 0 free)"


def test_nodes_that_lack_different_things_are_not_all_said_to_lack_the_same() -> None:
    cluster = cluster_of({"capacity": {"cpu": 8, "memory": "1GiB"}}, {"capacity": {"cpu": 2, "memory": "8GiB"}})
    explanation = told(cluster, resources={"cpu": 4, "memory": "3GiB"})
    assert explanation.message == "cpu short by 2 on the nearest of 2 nodes, n1 (needs 4, 2 free)"


def test_nodes_that_lack_several_things_name_what_is_needed_of_each() -> None:
    explanation = told(cluster_of({}, {}), resources={"cpu": 64, "memory": "1TB"})
    assert explanation.message.startswith("cpu short by 60, memory short by ")
    assert "on the nearest of 2 nodes, n0 (cpu needs 64, 4 free; memory needs 1TB, " in explanation.message


@pytest.mark.parametrize(
    ("fields", "scope", "outcome", "example"),
    [
        ({}, {"pool": "ml"}, "outside_scope", "label pool is missing (needs ml)"),
        ({"backends": {"allow": ["slurm"]}}, {}, "backend_not_allowed", "backend 'registered' is not among those"),
        ({"node_selector": {"zone": "b"}}, {}, "node_selector_mismatch", "label zone is a, not b"),
        (
            {"node_affinity": {"required": [{"match": [{"key": "gpu", "operator": "Exists"}]}]}},
            {},
            "node_affinity_mismatch",
            "gpu Exists fails (gpu is missing)",
        ),
        ({}, {}, "untolerated_taint", "does not tolerate spot:NoSchedule"),
    ],
)
def test_each_filter_gives_its_own_reason_and_an_example(
    fields: dict[str, Any], scope: dict[str, str], outcome: str, example: str
) -> None:
    node = {"labels": {"zone": "a"}, "taints": [{"key": "spot", "effect": "NoSchedule"}]}
    explanation = told(cluster_of(node, node), scope, **fields)
    assert explanation.outcome == outcome
    assert ", such as on n0; " in explanation.message
    assert example in explanation.message
    assert explanation.eviction is Eviction.NEVER


def test_the_dominant_reason_is_the_filter_that_took_the_last_node() -> None:
    cluster = cluster_of({"labels": {"zone": "a"}}, {"labels": {"zone": "b"}})
    occupy(cluster, 0, cpu=4)
    explanation = told(cluster, node_selector={"zone": "a"}, resources={"cpu": 1})
    assert [step.remaining for step in explanation.funnel] == [2, 2, 2] + [1] * 10 + [0]
    assert explanation.outcome == "insufficient_resources"


@pytest.mark.parametrize(
    ("close", "message"),
    [
        (
            lambda cluster, name: cluster.set_quarantined(name, "quarantined: disk full"),
            "only n1 could take it: the node is quarantined: disk full; dovetail uncordon n1 lets it take work again",
        ),
        (
            lambda cluster, name: cluster.set_online(name, False, "the cable is cut"),
            "only n1 could take it: the node is offline: the cable is cut",
        ),
        (
            lambda cluster, name: cluster.set_cordoned(name, True, "for the audit"),
            "only n1 could take it: the node is cordoned: for the audit; dovetail uncordon n1 lets it take work again",
        ),
    ],
)
def test_where_the_only_suitable_node_takes_no_work_that_is_the_cause(
    close: Callable[[Cluster, str], None], message: str
) -> None:
    cluster = cluster_of({"labels": {"zone": "a"}}, {"labels": {"zone": "b"}, "capacity": {"cpu": 64}}, {})
    close(cluster, "n1")
    elsewhere, too_large = told(cluster, node_selector={"zone": "b"}), told(cluster, resources={"cpu": 32})
    assert (elsewhere.outcome, elsewhere.message) == ("no_available_nodes", message)
    assert (too_large.outcome, too_large.message) == ("insufficient_resources", message)


def test_several_suitable_nodes_that_take_no_work_are_counted() -> None:
    cluster = cluster_of(*[{"labels": {"zone": "b"}}] * 3, {})
    cluster.set_online("n0", False)
    cluster.set_quarantined("n1", "failures")
    cluster.set_quarantined("n2", "failures")
    explanation = told(cluster, node_selector={"zone": "b"})
    words = "only 3 nodes could take it, and none of 3 nodes takes work: 2 in quarantine, 1 offline; "
    assert explanation.message == f"{words}dovetail uncordon NODE lets one take work again"


def test_nodes_that_take_no_work_are_no_cause_where_they_would_not_do_or_others_are_only_full() -> None:
    cluster = cluster_of({"labels": {"zone": "a"}}, {"labels": {"zone": "b"}})
    cluster.set_quarantined("n1", "failures")
    assert told(cluster, node_selector={"zone": "c"}).outcome == "node_selector_mismatch"
    occupy(cluster, 0, cpu=4)
    assert told(cluster, resources={"cpu": 2}).outcome == "insufficient_resources"


def test_the_cause_of_a_node_whose_backend_is_silent_is_the_backend() -> None:
    cluster = cluster_of({"labels": {"zone": "a"}}, {"labels": {"zone": "b"}, "backend": "far"})
    cluster.set_backend_available("far", False)
    explanation = told(cluster, node_selector={"zone": "b"})
    words = "only n1 could take it: its backend 'far' does not answer; dovetail backend far shows why"
    assert (explanation.outcome, explanation.message) == ("backend_unavailable", words)
