"""Levels found from measurements, and nodes that contradict their description."""

import numpy as np
from tests.unit.network_measurement.fabrics import KnownFabric, three_levels

from dovetail.model.network.topology import DistanceWeights, Topology
from dovetail.network_measurement.contradictions import find_contradictions
from dovetail.network_measurement.discovery import as_topology, discover_levels
from dovetail.network_measurement.network_map import NetworkMap, make_map


def mapped(fabric: KnownFabric, noise: float = 0.1) -> NetworkMap:
    random = np.random.default_rng(3)
    return make_map(fabric.measured(fabric.all_pairs(), noise, random), DistanceWeights(), random)


def test_leaves_and_spines_are_found_and_named_from_below() -> None:
    fabric = three_levels(64, 8, 4, np.random.default_rng(1))
    levels = discover_levels(mapped(fabric))
    assert [level.name for level in levels] == ["spine", "leaf"]
    for level, truth in zip(levels, (fabric.spines, fabric.leaves), strict=True):
        assert {frozenset(one.nodes) for one in level.domains} == {
            frozenset(name for name in fabric.names if truth[name] == domain) for domain in set(truth.values())
        }
    assert {one.inside for one in levels[1].domains} == {one.name for one in levels[0].domains}
    described = Topology.model_validate(as_topology(levels))
    assert [level.name for level in described.levels] == ["spine", "leaf"]
    assert described.places()["node-0000"] == {"spine": "spine-1", "leaf": "leaf-1"}


def test_in_a_flat_network_there_is_no_level() -> None:
    flat = three_levels(24, 24, 1, np.random.default_rng(1))
    assert discover_levels(mapped(flat)) == []
    assert discover_levels(make_map({}, DistanceWeights(), np.random.default_rng(1))) == []


def test_a_node_that_measures_like_another_domain_is_named() -> None:
    fabric = three_levels(64, 8, 4, np.random.default_rng(1))
    measured = mapped(fabric)
    assert find_contradictions(measured, "leaf", fabric.leaves) == []
    assert find_contradictions(measured, "spine", fabric.spines) == []
    wrong = fabric.leaves | {"node-0017": "l5"}
    (found,) = find_contradictions(measured, "leaf", wrong)
    assert str(found).startswith("node-0017 is described in leaf l5 but measures like l2: ")
    assert "ms to l2" in str(found)
