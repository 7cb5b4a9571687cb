"""Heat strips: one cell a node, in 80 columns, and the same without colours."""

from typing import Any

import pytest
from tests.unit.cli.answers import drawn, node, widest
from tests.unit.cli.test_render_topology import level, network

from dovetail.cli.render.heat import heat_strips
from dovetail.cli.render.heat_by import HeatBy

NET = network(level("leaf", 2), level("rack", 4))


def gpu_node(name: str, leaf: str, rack: str, used: float, status: str = "online") -> Any:
    found = node(name, labels={"leaf": leaf, "rack": rack})
    gpus: Any = {"unit": "", "capacity": 8.0, "allocated": used, "reserved": 0.0, "free": 8.0 - used}
    return {**found, "status": status, "resources": {"gpu": gpus}}


CLUSTER = [
    *(gpu_node(f"a{number}", "l1", f"l1-r{1 + number // 5}", used) for number, used in enumerate([8, 8, 4, 0, 1] * 2)),
    *(gpu_node(f"b{number}", "l2", f"l2-r{1 + number // 5}", 0) for number in range(9)),
    gpu_node("b10", "l2", "l2-r2", 8, "offline"),
]


def test_a_cell_says_how_much_of_a_node_is_in_use() -> None:
    lines = drawn(heat_strips(NET, CLUSTER, HeatBy.UTILISATION)).splitlines()
    assert lines[0] == "GPUs in use in 2 leaves, one cell a node"
    assert lines[1].split() == ["leaf", "l1", "██▅·▂", "██▅·▂", "52%"]
    assert lines[2].split() == ["leaf", "l2", "·····", "····✗", "0%"]
    assert "✗ takes no work" in lines[3]


def test_fragmentation_is_what_is_free_on_nodes_in_use() -> None:
    lines = drawn(heat_strips(NET, CLUSTER, HeatBy.FRAGMENTATION)).splitlines()
    assert lines[1].split() == ["leaf", "l1", "··▅·█", "··▅·█", "28%"]
    assert lines[2].split() == ["leaf", "l2", "·····", "····✗", "0%"]


def test_health_has_a_sign_for_each_status_and_a_legend() -> None:
    lines = drawn(heat_strips(NET, CLUSTER, HeatBy.HEALTH)).splitlines()
    assert lines[2].split() == ["leaf", "l2", "●●●●●", "●●●●✗", "9/10", "online"]
    assert lines[3].split() == ["●", "online", "✗", "offline"]


@pytest.mark.parametrize("asked", ["rack", None])
def test_a_level_can_be_chosen(asked: str | None) -> None:
    lines = drawn(heat_strips(NET, CLUSTER, HeatBy.UTILISATION, asked)).splitlines()
    assert len(lines) == (6 if asked else 4)


def test_a_long_strip_goes_on_in_the_next_line() -> None:
    many = [gpu_node(f"n{number}", "l1", f"r{number // 10}", number % 9) for number in range(200)]
    text = drawn(heat_strips(network(level("leaf", 1), level("rack", 20)), many, HeatBy.UTILISATION, "leaf"))
    assert widest(text) <= 80
    lines = text.splitlines()
    assert len(lines) == 6
    assert sum(sign in "▁▂▃▄▅▆▇█·" for line in lines[1:-1] for sign in line) == 200


def test_a_network_without_levels_is_one_strip() -> None:
    lines = drawn(heat_strips(network(described=False), CLUSTER, HeatBy.UTILISATION)).splitlines()
    assert lines[0] == "GPUs in use in the cluster, one cell a node"
    assert lines[1].startswith("cluster  ██▅·▂")


def test_nodes_are_in_the_order_of_their_numbers() -> None:
    rows = [gpu_node(name, "l1", "r", used) for name, used in (("n10", 8), ("n9", 4), ("n1", 1))]
    text = drawn(heat_strips(network(level("leaf", 1)), rows, HeatBy.UTILISATION, "leaf"))
    assert "▂▅█" in text
