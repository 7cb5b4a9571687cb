"""Topologies from the labels that Kubernetes and the clouds give nodes."""

import json

import pytest

from dovetail.model.network.topology_readers.node_labels import CONVENTIONS, levels_in, read_node_list
from dovetail.model.text.complaint import Invalid

BLOCK, SUBBLOCK = "cloud.google.com/gce-topology-block", "cloud.google.com/gce-topology-subblock"


def node(name: str, **labels: str) -> dict[str, object]:
    return {"metadata": {"name": name, "labels": labels}}


def test_a_list_of_nodes_gives_the_levels_that_they_carry() -> None:
    items = [node("n1", **{BLOCK: "b1", SUBBLOCK: "b1s1"}), node("n2", **{BLOCK: "b1"}), node("n3", other="x")]
    found = read_node_list(json.dumps({"kind": "List", "items": items}), "nodes.json")
    assert [(level.name, level.key) for level in found.levels] == [("block", BLOCK), ("subblock", SUBBLOCK)]
    assert found.places() == {"n1": {"block": "b1", "subblock": "b1s1"}, "n2": {"block": "b1"}, "n3": {}}


def test_levels_come_widest_first_whatever_clouds_are_mixed() -> None:
    names = [level.name for level in levels_in({label for _, label in CONVENTIONS})]
    assert names.index("region") < names.index("zone") < names.index("layer-1") < names.index("layer-3")
    assert names.index("spine") < names.index("leaf") < names.index("rack") < names.index("accelerator")
    assert len(set(names)) == len(names)


def test_of_two_labels_of_one_level_the_one_that_is_called_so_has_the_name() -> None:
    nvidia = "network.topology.nvidia.com/leaf"
    assert [(level.name, level.key) for level in levels_in({"leaf", nvidia})] == [(nvidia, nvidia), ("leaf", "leaf")]
    assert [level.name for level in levels_in({nvidia})] == ["leaf"]


def test_nodes_without_such_labels_are_refused_in_a_sentence() -> None:
    with pytest.raises(Invalid, match="no node carries a label that says where it is"):
        read_node_list(json.dumps([node("n1", a="b")]), "nodes.json")
    with pytest.raises(Invalid, match="is not a node as Kubernetes lists it"):
        read_node_list("- {name: n1}\n", "nodes.yaml")
    with pytest.raises(Invalid, match="holds no node"):
        read_node_list("", "nodes.yaml")
