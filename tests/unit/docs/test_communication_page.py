"""The page about communication says what the code says."""

from pathlib import Path

import pytest

from dovetail.model.network.topology import DEFAULT_LINKS, OTHER_LINK, LinkDefaults
from dovetail.model.text.quantity import parse_bandwidth_mbps, parse_latency_ns
from dovetail.placement.network_cost.fabric import LOCAL

PAGE = (Path(__file__).parents[3] / "docs" / "communication.md").read_text()


@pytest.mark.parametrize(("level", "link"), [*DEFAULT_LINKS.items(), ("any other level", OTHER_LINK)])
def test_default_links_are_those_of_the_page(level: str, link: LinkDefaults) -> None:
    [line] = [line for line in PAGE.splitlines() if line.startswith(f"| {level} |")]
    _, _, bandwidth, latency, _ = (cell.strip() for cell in line.split("|"))
    assert parse_bandwidth_mbps(bandwidth.replace(" ", "")) == link.mbps
    assert parse_latency_ns(latency.replace(" ", "").replace("µ", "u")) == link.latency_ns


def test_links_inside_a_node_are_those_of_the_page() -> None:
    assert f"each has {LOCAL.mbps / 1e6:g} Tbps and {LOCAL.latency_ns / 1e3:g} µs" in PAGE
