"""The page about topology: its examples can be read, and its tables say what the code does."""

import re
from pathlib import Path

import pytest

from dovetail.model.network.topology import DEFAULT_LINKS, OTHER_LINK, DistanceWeights
from dovetail.model.network.topology_format import TopologyFormat
from dovetail.model.network.topology_readers.node_labels import CONVENTIONS
from dovetail.model.network.topology_readers.reading import read_topology
from dovetail.model.text.quantity import parse_bandwidth_mbps, parse_latency_ns

PAGE = (Path(__file__).parents[3] / "docs" / "topology.md").read_text()
EXAMPLES = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("text", EXAMPLES)
def test_an_example_is_a_topology(text: str) -> None:
    assert read_topology(text, "topology.md").levels


def test_what_links_are_like_that_nobody_described_is_told_as_it_is() -> None:
    rows = {cells[0]: cells[1:] for line in PAGE.splitlines() if (cells := _cells(line))}
    levels = rows["link up from a"]
    told = zip(levels, rows["bandwidth"], rows["latency"], strict=True)
    found = {level: (parse_bandwidth_mbps(mbps), parse_latency_ns(latency)) for level, mbps, latency in told}
    assert found == {**DEFAULT_LINKS, "other": OTHER_LINK}


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []


def test_every_conventional_label_and_format_is_named() -> None:
    for _, label in CONVENTIONS:
        assert re.split(r"[/.-]", label)[-1] in PAGE, label
    for one in TopologyFormat:
        assert f"| `{one}` |" in PAGE


def test_the_weights_of_distance_are_those_of_the_code() -> None:
    weights = DistanceWeights()
    assert f"{{latency: {weights.latency:g},\nbandwidth: {weights.bandwidth:g}, loss: {weights.loss:g}}}" in PAGE
