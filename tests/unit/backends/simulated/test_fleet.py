"""Which nodes the settings describe, and which settings describe none."""

from collections import Counter
from typing import Any

import pytest
from pydantic import ValidationError

from dovetail.backends.simulated.fleet import LEAF, RACK, REGION, SPINE, ZONE, fleet
from dovetail.backends.simulated.settings import LeafSpine, SimulatedSettings


def settings(**fields: Any) -> SimulatedSettings:
    return SimulatedSettings.model_validate(fields)


def test_the_default_leaf_spine_is_a_thousand_nodes_with_eight_gpus_each() -> None:
    nodes = fleet(settings(leaf_spine={}), "sim")
    assert len(nodes) == len({node.name for node in nodes}) == 1000
    assert sum(node.capacity.gpu for node in nodes) == 8000
    assert {node.backend for node in nodes} == {"sim"}


def test_every_node_of_a_leaf_spine_says_where_it_is() -> None:
    shape = LeafSpine(spines=4, leaves_per_spine=3, nodes_per_leaf=6, racks_per_leaf=2, zones=2, region="north")
    nodes = fleet(settings(leaf_spine=shape), "sim")
    assert {node.labels[REGION] for node in nodes} == {"north"}
    assert Counter(node.labels[ZONE] for node in nodes) == {"north-z1": 36, "north-z2": 36}
    assert set(Counter(node.labels[SPINE] for node in nodes).values()) == {18}
    assert set(Counter(node.labels[LEAF] for node in nodes).values()) == {6}
    assert set(Counter(node.labels[RACK] for node in nodes).values()) == {3}


def test_domains_nest() -> None:
    shape = LeafSpine(spines=3, leaves_per_spine=2, nodes_per_leaf=5, racks_per_leaf=2, zones=3)
    nodes = fleet(settings(leaf_spine=shape), "sim")
    for inner, outer in ((RACK, LEAF), (LEAF, SPINE), (SPINE, ZONE), (ZONE, REGION)):
        pairs = {(node.labels[inner], node.labels[outer]) for node in nodes}
        assert len(pairs) == len({node.labels[inner] for node in nodes})


def test_groups_keep_their_capacity_labels_and_taints_and_sort_by_name() -> None:
    taint = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}
    nodes = fleet(
        settings(
            groups=[
                {"prefix": "small", "count": 12, "capacity": {"cpu": 4}, "labels": {"disk": "nvme"}},
                {"prefix": "big", "count": 1, "capacity": {"cpu": 64, "vendor.com/chip": 2}, "taints": [taint]},
            ]
        ),
        "sim",
    )
    small = [node.name for node in nodes[:12]]
    assert small[0] == "small-01"
    assert small == sorted(small)
    assert nodes[0].labels == {"disk": "nvme"}
    assert nodes[12].capacity.amounts()["vendor.com/chip"] == 2
    assert [str(found) for found in nodes[12].taints] == ["dedicated=gpu:NoSchedule"]


def test_groups_and_a_leaf_spine_can_be_mixed() -> None:
    nodes = fleet(settings(groups=[{"count": 2}], leaf_spine={"spines": 1, "leaves_per_spine": 1}), "sim")
    assert len({node.name for node in nodes}) == 42


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, "describes no node"),
        ({"groups": [{"prefix": "a", "count": 1}, {"prefix": "a", "count": 1}]}, "share names"),
        ({"groups": [{"prefix": "a b", "count": 1}]}, "is not the name of a node"),
        ({"groups": [{"count": 0}]}, "greater than or equal to 1"),
        ({"leaf_spine": {"spines": 1000, "leaves_per_spine": 1000, "nodes_per_leaf": 2}}, "the most is 1000000"),
        ({"leaf_spine": {"spines": 2, "zones": 3}}, "at most one zone a spine"),
        ({"leaf_spine": {"nodes_per_leaf": 2, "racks_per_leaf": 3}}, "at most one rack a node"),
        ({"leaf_spine": {"gpu": 8}}, "Extra inputs are not permitted"),
        ({"leaf_spine": {}, "speed": 0}, "greater than 0"),
        ({"leaf_spine": {}, "speed": "nan"}, "finite number"),
        ({"leaf_spine": {}, "failure_rate": 1.5}, "less than or equal to 1"),
        ({"leaf_spine": {}, "run_time": {"median": "ten"}}, "write a duration"),
        ({"leaf_spine": {}, "observe": {"least_share": 0.9, "most_share": 0.1}}, "is above most_share"),
    ],
)
def test_settings_that_make_no_sense_are_refused_with_a_reason(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        settings(**fields)


def test_nodes_of_a_group_and_of_a_fabric_have_the_gpus_that_are_described() -> None:
    gpus = [{"count": 4, "model": "H100", "memory": "80GiB", "islands": 2}]
    settings = SimulatedSettings.model_validate(
        {
            "groups": [{"prefix": "g", "count": 1, "gpus": gpus}],
            "leaf_spine": {"spines": 1, "leaves_per_spine": 1, "nodes_per_leaf": 1, "gpus": gpus},
        }
    )
    for node in fleet(settings, "sim"):
        assert node.capacity.gpu == 4
        assert node.gpus[0].model == "H100"


@pytest.mark.parametrize(
    "fields",
    [
        {"groups": [{"count": 1, "capacity": {"gpu": 2}, "gpus": [{"count": 4}]}]},
        {"leaf_spine": {"gpus_per_node": 2, "gpus": [{"count": 4}]}},
    ],
)
def test_two_numbers_of_gpus_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="is 2, but gpus describes 4"):
        SimulatedSettings.model_validate(fields)
