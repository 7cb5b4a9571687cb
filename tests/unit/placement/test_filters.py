"""Each built-in filter: whom it lets through, and what it says to the rest."""

from typing import Any

import pytest
from tests.unit.placement.scene import cluster_of, masked, occupy, request_for

from dovetail.cluster.state import Cluster
from dovetail.cluster.views.view import View
from dovetail.model.reason import Eviction, Refused
from dovetail.model.task import TaskId
from dovetail.placement.contract import Request
from dovetail.placement.registry import FILTERS, build_filter

NVME, HDD = {"labels": {"disk": "nvme"}}, {"labels": {"disk": "hdd"}}


def refusal(name: str, cluster: Cluster, request: Request, row: int = 0, **settings: Any) -> Refused:
    return build_filter(name, settings).refuse(request, View(cluster), row)


def test_the_funnel_reads_from_is_it_there_to_is_there_room() -> None:
    about_the_node = ("ready", "scope", "backend", "node_selector", "node_affinity", "taints", "gpu_model")
    about_others = ("constraints", "workload_affinity", "spread", "bandwidth")
    assert (*about_the_node, *about_others, "promised", "gpus", "resources") == tuple(FILTERS)
    stages = [plugin.stage for plugin in FILTERS.values()]
    assert stages == sorted(stages)


# --- ready -------------------------------------------------------------------------------------------------------


def test_ready_wants_a_node_online_uncordoned_and_its_backend_answering() -> None:
    cluster = cluster_of({}, {}, {}, {"backend": "k8s"})
    cluster.set_online("n0", False, "no heartbeat for 30s")
    cluster.set_cordoned("n1", True, "new kernel")
    cluster.set_backend_available("k8s", False)
    request = request_for(cluster)
    assert masked("ready", cluster, request) == [False, False, True, False]
    said = [refusal("ready", cluster, request, row) for row in (0, 1, 3)]
    assert [one.reason for one in said] == ["offline", "cordoned", "backend_unavailable"]
    assert said[0].message == "the node is offline: no heartbeat for 30s"
    assert said[1].message == "the node is cordoned: new kernel; dovetail uncordon n1 lets it take work again"
    assert said[2].message == "its backend 'k8s' does not answer; dovetail backend k8s shows why"
    assert {one.eviction for one in said} == {Eviction.NEVER}


def test_ready_says_of_a_vacant_row_that_its_node_left() -> None:
    cluster = cluster_of({}, {})
    cluster.leave("n0")
    assert refusal("ready", cluster, request_for(cluster)).message == "the node left the cluster"


# --- scope -------------------------------------------------------------------------------------------------------


def test_scope_wants_every_label_of_the_scheduler() -> None:
    cluster = cluster_of({"labels": {"pool": "ml", "zone": "a"}}, {"labels": {"pool": "ml"}}, {})
    request = request_for(cluster, {"pool": "ml", "zone": "a"})
    assert masked("scope", cluster, request) == [True, False, False]
    assert refusal("scope", cluster, request, 1).message == (
        "outside scheduler 'default': label zone is missing (needs a)"
    )
    assert masked("scope", cluster, request_for(cluster)) == [True, True, True]


# --- backend -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("allow", "passed"),
    [
        ([], [True, True, True]),
        (["slurm"], [False, False, True]),
        (["k8s-*"], [True, True, False]),
        (["k8s-b", "slurm"], [False, True, True]),
        (["elsewhere"], [False, False, False]),
    ],
)
def test_backend_takes_names_and_patterns(allow: list[str], passed: list[bool]) -> None:
    cluster = cluster_of({"backend": "k8s-a"}, {"backend": "k8s-b"}, {"backend": "slurm"})
    assert masked("backend", cluster, request_for(cluster, backends={"allow": allow})) == passed


def test_backend_says_what_is_allowed_or_that_the_kind_cannot_run() -> None:
    cluster = cluster_of({"backend": "slurm", "kinds": ["job"]})
    elsewhere = refusal("backend", cluster, request_for(cluster, backends={"allow": ["k8s-*"]}))
    assert (elsewhere.reason, elsewhere.message) == (
        "backend_not_allowed",
        "backend 'slurm' is not among those allowed: k8s-*",
    )
    machine = request_for(cluster, kind="vm")
    assert masked("backend", cluster, machine) == [False]
    assert refusal("backend", cluster, machine).reason == "kind_unsupported"


def test_a_job_with_an_image_needs_a_node_that_runs_containers() -> None:
    cluster = cluster_of({"kinds": ["job"]}, {"kinds": ["container"]})
    assert masked("backend", cluster, request_for(cluster, run={"image": "trainer:1"})) == [False, True]


# --- labels ------------------------------------------------------------------------------------------------------


def test_node_selector_wants_every_label() -> None:
    cluster = cluster_of({"labels": {"zone": "a", "disk": "nvme"}}, {"labels": {"zone": "b", "disk": "nvme"}}, NVME)
    request = request_for(cluster, node_selector={"zone": "a", "disk": "nvme"})
    assert masked("node_selector", cluster, request) == [True, False, False]
    assert refusal("node_selector", cluster, request, 1).message == "label zone is b, not a"
    assert refusal("node_selector", cluster, request, 2).message == "label zone is missing (needs a)"


def test_node_affinity_wants_any_term_and_all_of_its_comparisons() -> None:
    cluster = cluster_of({"labels": {"disk": "nvme", "size": "2"}}, {"labels": {"disk": "nvme", "size": "9"}}, HDD, {})
    nvme = {"key": "disk", "operator": "In", "values": ["nvme"]}
    large = {"key": "size", "operator": "Gt", "values": [4]}
    terms = [{"match": [nvme, large]}, {"match": [{"key": "disk", "operator": "DoesNotExist"}]}]
    request = request_for(cluster, node_affinity={"required": terms})
    assert masked("node_affinity", cluster, request) == [False, True, False, True]
    assert refusal("node_affinity", cluster, request, 0).message == (
        "size Gt 4 fails (size is 2); or disk DoesNotExist fails (disk is nvme)"
    )
    assert masked("node_affinity", cluster, request_for(cluster)) == [True] * 4


# --- taints ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("toleration", "passed"),
    [
        (None, [True, False, False, True]),
        ({"operator": "Exists"}, [True, True, True, True]),
        ({"key": "dedicated", "operator": "Exists"}, [True, True, False, True]),
        ({"key": "dedicated", "value": "gpu"}, [True, True, False, True]),
        ({"key": "dedicated", "value": "db"}, [True, False, False, True]),
        ({"key": "dedicated", "value": "gpu", "effect": "NoExecute"}, [True, False, False, True]),
        ({"key": "spot", "effect": "NoExecute"}, [True, False, True, True]),
    ],
)
def test_taints_let_through_what_is_tolerated_and_prefer_no_schedule(toleration: Any, passed: list[bool]) -> None:
    cluster = cluster_of(
        {},
        {"taints": [{"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}]},
        {"taints": [{"key": "spot", "effect": "NoExecute"}]},
        {"taints": [{"key": "old", "effect": "PreferNoSchedule"}]},
    )
    request = request_for(cluster, tolerations=[toleration] if toleration else [])
    assert masked("taints", cluster, request) == passed


def test_taints_name_those_that_are_not_tolerated() -> None:
    both = [{"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}, {"key": "spot", "effect": "NoExecute"}]
    cluster = cluster_of({"taints": both})
    request = request_for(cluster, tolerations=[{"key": "spot", "operator": "Exists"}])
    assert refusal("taints", cluster, request).message == "does not tolerate dedicated=gpu:NoSchedule"


# --- resources ---------------------------------------------------------------------------------------------------


def test_resources_compares_with_capacity_less_allocated_and_reserved() -> None:
    cluster = cluster_of({}, {}, {})
    occupy(cluster, 0, cpu=3)
    cluster.reserve("n1", {"cpu": 2500})
    assert masked("resources", cluster, request_for(cluster, resources={"cpu": 2})) == [False, False, True]
    assert masked("resources", cluster, request_for(cluster, resources={"cpu": 1})) == [True, True, True]


def test_resources_lets_a_node_be_filled_to_the_last_millicore() -> None:
    cluster = cluster_of({})
    assert masked("resources", cluster, request_for(cluster, resources={"cpu": 4})) == [True]
    assert masked("resources", cluster, request_for(cluster, resources={"cpu": "4001m"})) == [False]


def test_overcommit_makes_room() -> None:
    cluster = cluster_of({}, overcommit={"cpu": 2.0})
    assert masked("resources", cluster, request_for(cluster, resources={"cpu": 8})) == [True]


def test_every_task_takes_a_slot() -> None:
    cluster = cluster_of({"capacity": {"cpu": 4, "slots": 1}}, {"capacity": {"cpu": 4, "slots": 0}})
    assert masked("resources", cluster, request_for(cluster)) == [True, False]
    occupy(cluster, 0)
    assert masked("resources", cluster, request_for(cluster)) == [False, False]


def test_a_resource_that_no_node_has_fits_nowhere_and_never_will() -> None:
    cluster = cluster_of({})
    request = request_for(cluster, resources={"example.com/fpga": 1})
    assert masked("resources", cluster, request) == [False]
    said = refusal("resources", cluster, request)
    assert (said.resource, said.needed, said.free, said.eviction) == ("example.com/fpga", 1, 0, Eviction.NEVER)


def test_a_refusal_gives_needed_and_free_and_whether_eviction_could_help() -> None:
    cluster = cluster_of({}, {})
    occupy(cluster, 0, cpu=3, memory="1GiB")
    said = refusal("resources", cluster, request_for(cluster, resources={"cpu": 2}))
    assert (said.resource, said.needed, said.free, said.eviction) == ("cpu", 2000, 1000, Eviction.HELPS)
    assert said.message == "cpu: needs 2, 1 free"
    worse = refusal("resources", cluster, request_for(cluster, resources={"cpu": 2, "memory": "9GiB"}))
    assert (worse.resource, worse.eviction) == ("memory", Eviction.NEVER), "what nothing mends outranks the rest"
    assert worse.message == "memory: needs 9GiB, 3GiB free, and the node never has more than 4GiB"


def test_what_is_reserved_cannot_be_won_by_eviction() -> None:
    cluster = cluster_of({})
    cluster.reserve("n0", {"cpu": 3000})
    assert refusal("resources", cluster, request_for(cluster, resources={"cpu": 2})).eviction is Eviction.NEVER


def test_observed_use_counts_instead_of_allocations_for_cpu_memory_and_disk_only() -> None:
    cluster = cluster_of({"capacity": {"cpu": 4, "gpu": 2, "slots": 10}})
    occupy(cluster, 0, cpu=4, gpu=2)
    cluster.observe("n0", {"cpu": 500, "gpu": 0})
    asks = [request_for(cluster, resources=asked) for asked in ({"cpu": 3}, {"cpu": 4}, {"gpu": 1})]
    assert [masked("resources", cluster, ask, basis="observed")[0] for ask in asks] == [True, False, False]
    assert [masked("resources", cluster, ask)[0] for ask in asks] == [False, False, False]
    occupy(cluster, 0, TaskId(901, 0), cpu=1)
    assert not masked("resources", cluster, asks[0], basis="observed")[0], "placed since the measurement counts too"
