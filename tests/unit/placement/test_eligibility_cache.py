"""The eligibility cache: it notices every change of a node, mixes up no two requests and stays within its memory."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.unit.placement.conftest import Offer
from tests.unit.placement.scene import cluster_of, pipeline_of, request_for

from dovetail.cluster.state import Cluster
from dovetail.cluster.views.view import View
from dovetail.model.network.topology import Topology
from dovetail.model.node import Node
from dovetail.model.plugin_loading import PluginError
from dovetail.placement.contract import Request
from dovetail.placement.pipeline import eligibility_cache
from dovetail.placement.pipeline.evaluation import Evaluator
from dovetail.placement.pipeline.profiles import ProfileSettings

HERE = "tests.unit.placement.outsiders"
NODES: list[dict[str, Any]] = [
    {"labels": {"zone": "a"}},
    {"labels": {"zone": "a"}, "backend": "other"},
    {"labels": {"zone": "b"}, "taints": [{"key": "gpu", "effect": "NoSchedule"}]},
    {"labels": {"zone": "b"}, "kinds": ["vm"]},
]
REQUESTS: list[dict[str, Any]] = [
    {},
    {"node_selector": {"zone": "a"}},
    {"node_selector": {"zone": "b"}},
    {"tolerations": [{"key": "gpu", "operator": "Exists"}]},
    {"backends": {"allow": ["other"]}},
    {"kind": "vm"},
    {"node_affinity": {"required": [{"match": [{"key": "zone", "operator": "In", "values": ["b"]}]}]}},
    {"constraints": [{"require": "node.labels['zone'] == 'a'"}]},
]
CHANGES: dict[str, Callable[[Cluster], object]] = {
    "cordoned": lambda cluster: cluster.set_cordoned("n0", True, "work"),
    "offline": lambda cluster: cluster.set_online("n0", False, "silent"),
    "in quarantine": lambda cluster: cluster.set_quarantined("n0", "failures"),
    "backend unavailable": lambda cluster: cluster.set_backend_available("other", False),
    "left": lambda cluster: cluster.leave("n0"),
    "joined": lambda cluster: cluster.join(Node.model_validate({"name": "new", "capacity": {"cpu": 4}})),
    "relabelled": lambda cluster: cluster.join(_changed(cluster, labels={"zone": "b"})),
    "tainted": lambda cluster: cluster.join(_changed(cluster, taints=[{"key": "x", "effect": "NoSchedule"}])),
    "labels of a topology": lambda cluster: cluster.set_topology(
        Topology.model_validate({"levels": [{"name": "zone"}], "domains": {"zone": {"b": ["n0"]}}})
    ),
}


def _changed(cluster: Cluster, **fields: Any) -> Node:
    return Node.model_validate({**cluster.node("n0").model_dump(), **fields})


def asked(cluster: Cluster) -> list[Request]:
    return [request_for(cluster, scope=scope, **fields) for fields in REQUESTS for scope in (None, {"zone": "a"})]


def same_as_fresh(evaluator: Evaluator, cluster: Cluster, requests: list[Request]) -> None:
    for request in requests:
        fresh = Evaluator("tried", ProfileSettings()).run_filters(request, View(cluster))
        for _ in range(2):  # the second time from the cache
            found = evaluator.run_filters(request, View(cluster))
            assert found.counts == fresh.counts
            assert [stage.tolist() for stage in found.stages] == [stage.tolist() for stage in fresh.stages]


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_of_a_node_is_noticed(change: str) -> None:
    cluster = cluster_of(*NODES)
    evaluator, requests = pipeline_of(cluster).evaluator, asked(cluster)
    same_as_fresh(evaluator, cluster, requests)
    before = [evaluator.run_filters(request, View(cluster)).counts for request in requests]
    CHANGES[change](cluster)
    same_as_fresh(evaluator, cluster, requests)
    assert [evaluator.run_filters(request, View(cluster)).counts for request in requests] != before


def test_what_was_changed_in_a_trial_is_forgotten_with_it() -> None:
    cluster = cluster_of(*NODES)
    evaluator, requests = pipeline_of(cluster).evaluator, asked(cluster)
    same_as_fresh(evaluator, cluster, requests)
    with cluster.trial():
        cluster.set_cordoned("n0", True)
        same_as_fresh(evaluator, cluster, requests)
    same_as_fresh(evaluator, cluster, requests)


@pytest.mark.parametrize("kept_bytes", [0, 200])
def test_results_beyond_the_memory_bound_are_dropped_without_harm(
    kept_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(eligibility_cache, "KEPT_BYTES", kept_bytes)
    cluster = cluster_of(*NODES)
    evaluator, requests = pipeline_of(cluster).evaluator, asked(cluster)
    for _ in range(3):
        same_as_fresh(evaluator, cluster, requests)


def test_a_filter_that_names_no_field_of_a_shape_is_refused(offer: Offer) -> None:
    offer("other", {"dovetail.filters": {"misdeclared": f"{HERE}:Misdeclared"}})
    with pytest.raises(PluginError, match=r"is decided by 'shape\.colour'"):
        pipeline_of(cluster_of({}), filters=["misdeclared"])


def test_a_filter_of_another_package_may_declare_what_decides_it(offer: Offer) -> None:
    offer("other", {"dovetail.filters": {"declared": f"{HERE}:Declared"}})
    cluster = cluster_of({"labels": {"zone": "a"}}, {"labels": {"zone": "b"}})
    pipeline = pipeline_of(cluster, filters=["declared"])
    request = request_for(cluster, node_selector={})
    rows = [pipeline.decide(request, "x").row for _ in range(3)]
    cluster.join(_changed(cluster, labels={"zone": "b"}))
    cluster.join(Node.model_validate({**cluster.node("n1").model_dump(), "labels": {"zone": "a"}}))
    assert (rows, pipeline.decide(request_for(cluster, resources={"cpu": 2}), "x").row) == ([0, 0, 0], 1)
