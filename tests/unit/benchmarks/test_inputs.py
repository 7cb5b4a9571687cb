"""The synthetic input is what the figures claim it to be."""

import pytest
from benchmarks.clusters import different_shapes, nodes
from benchmarks.measuring import fastest, middle, quantile
from benchmarks.process_memory import peak_resident_bytes

from dovetail.model.requests.shaping import shape_of


def test_every_task_wants_something_else() -> None:
    shapes = {shape_of(w, "default", "balanced") for seed in range(3) for w in different_shapes(500, seed)}
    assert len(shapes) == 1500
    assert all(s.node_selector and s.tolerations and len(s.preferred) == 2 for s in shapes)


def test_the_same_seed_gives_the_same_cluster_and_the_same_work() -> None:
    assert list(nodes(50, seed=3)) == list(nodes(50, seed=3))
    assert list(different_shapes(50, seed=3)) == list(different_shapes(50, seed=3))
    assert list(nodes(50, seed=3)) != list(nodes(50, seed=4))


def test_a_cluster_holds_machines_of_every_kind() -> None:
    found = list(nodes(500))
    assert len({node.labels["pool"] for node in found}) == 6
    assert len({str(node.taints) for node in found}) == 4
    assert len({node.name for node in found}) == 500


@pytest.mark.parametrize(("share", "expected"), [(0.5, 51), (0.99, 100), (1.0, 100)])
def test_a_quantile_is_a_sample_that_was_seen(share: float, expected: int) -> None:
    assert quantile(list(range(1, 101)), share) == expected


def test_a_summary_keeps_the_spread_and_says_how_it_was_made() -> None:
    assert (fastest([1, 3, 2]).value, fastest([1, 3, 2]).how) == (3, "best of 3")
    assert (middle([1, 9, 2]).value, middle([1, 9, 2]).low, middle([1, 9, 2]).high) == (2, 1, 9)


def test_peak_memory_is_that_of_this_process() -> None:
    assert 5_000_000 < peak_resident_bytes() < 50_000_000_000
