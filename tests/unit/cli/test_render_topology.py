"""The network in 80 columns: a tree of domains, levels, distances."""

from typing import Any

import pytest
from tests.unit.cli.answers import drawn, node, widest

from dovetail.cli.render.topology import apart, distance_list, level_list, topology_tree
from dovetail.responses.network import DistanceBetween, DomainRow, LevelRow, TopologyAnswer


def level(name: str, domains: int, **more: Any) -> LevelRow:
    found: Any = {"name": name, "label": name, "domains": domains, "outside": 0, "loss": 0.0}
    return found | {"bandwidth": "800Gbps", "latency": "5us"} | more  # type: ignore[no-any-return]


def network(*levels: LevelRow, described: bool = True) -> TopologyAnswer:
    found: Any = {"described": described, "levels": list(levels), "rules": [], "links": 0, "switches": 0}
    return found | {"strangers": 0, "some_strangers": [], "definition": {}, "contradictions": []}  # type: ignore[no-any-return]


def domain(of: str, name: str, around: dict[str, str] | None = None, **more: Any) -> DomainRow:
    found: Any = {"level": of, "name": name, "around": around or {}, "nodes": 4, "healthy": 4, "whole_nodes": 2}
    found |= {"whole_gpus": 16, "gpu": {"capacity": 32, "free": 16}, "free": {"cpu": "8"}, "capacity": {"cpu": "64"}}
    found |= {"up_mbps": 800_000.0, "held_mbps": 0.0, "free_mbps": 800_000.0, "largest_gang": None}
    return found | more  # type: ignore[no-any-return]


NET = network(level("spine", 1), level("leaf", 2))
DOMAINS = [
    domain("spine", "s1", nodes=8, healthy=7),
    domain("leaf", "l1", {"spine": "s1"}, whole_gpus=12),
    domain("leaf", "l2", {"spine": "s1"}),
]


def test_domains_hang_under_the_wider_ones_around_them() -> None:
    lines = drawn(topology_tree(NET, DOMAINS, [])).splitlines()
    assert lines[0] == "network, described: 1 spine, 2 leaves"
    assert lines[1].startswith("└── spine s1  █████·····  50%  16/32 GPUs free  8 nodes  ✗ 1 takes no work")
    assert lines[2].startswith("    ├── leaf l1")
    assert "16/32 GPUs free, 12 whole" in lines[2]


def test_nodes_hang_in_the_narrowest_domain_that_they_are_in() -> None:
    inside, outside = node("n1", labels={"spine": "s1", "leaf": "l1"}), node("n2", labels={})
    lines = drawn(topology_tree(NET, DOMAINS, [inside, outside])).splitlines()
    (at,) = (index for index, line in enumerate(lines) if " n1 " in line)
    assert "leaf l1" in lines[at - 1]
    assert lines[-1].startswith("└── n2")


def test_a_tree_never_grows_beyond_the_terminal() -> None:
    long = [domain("spine", "s" * 100, largest_gang=3), domain("leaf", "l" * 100, {"spine": "s" * 100})]
    assert widest(drawn(topology_tree(NET, long, []))) <= 80


def test_how_many_fit_is_never_lost_in_a_deep_tree() -> None:
    around = {"spine": "s1"}
    deep = domain("leaf", "a-leaf-with-a-rather-long-name", around, largest_gang=12, healthy=2, held_mbps=1000.0)
    text = drawn(topology_tree(NET, [domain("spine", "s1"), deep], []))
    assert "a-leaf-with-a-rather-long-name  fits 12 tasks" in text
    assert "2 take no work" in " ".join(text.split())
    assert "…" not in text


@pytest.mark.parametrize(
    ("up_mbps", "free_mbps", "words"),
    [
        (800_000.0, 600_000.0, "up 600/800Gbps"),
        (1_000_000.0, 600_000.0, "up 600Gbps/1Tbps"),
        (800_000.0, 0.0, "up 0/800Gbps"),
    ],
)
def test_what_is_left_of_links_up_is_shown_where_some_is_held(up_mbps: float, free_mbps: float, words: str) -> None:
    one = domain("leaf", "l1", up_mbps=up_mbps, held_mbps=200_000.0, free_mbps=free_mbps, largest_gang=4)
    assert drawn(topology_tree(network(level("leaf", 1)), [one], []), width=120).endswith(f"4 nodes  {words}")
    wide = drawn(topology_tree(network(level("leaf", 1)), [one], [], wide=True), width=120)
    assert f"{words} free, 200Gbps held" in wide


def test_links_up_that_nobody_holds_anything_of_are_shown_to_who_asks_for_more() -> None:
    one = [domain("leaf", "l1")]
    assert "up" not in drawn(topology_tree(network(level("leaf", 1)), one, []))
    assert drawn(topology_tree(network(level("leaf", 1)), one, [], wide=True), width=120).endswith("up 800Gbps")


def test_a_domain_without_gpus_tells_of_its_cores() -> None:
    one = domain("leaf", "l1", gpu={"capacity": 0, "free": 0})
    assert "8/64 cores free" in drawn(topology_tree(network(level("leaf", 1)), [one], []))


def test_without_levels_it_says_what_to_do() -> None:
    assert "dovetail topology set FILE" in drawn(topology_tree(network(), [], []))
    assert "dovetail topology set FILE" in drawn(level_list(network()))


def test_levels_are_listed_widest_first_with_their_links() -> None:
    lines = drawn(level_list(network(level("spine", 1), level("leaf", 20, outside=3)))).splitlines()
    assert lines[0].split() == ["LEVEL", "DOMAINS", "UP", "LATENCY", "NODES", "OUTSIDE"]
    assert lines[1].split() == ["spine", "1", "800Gbps", "5us", "-"]
    assert lines[2].split() == ["leaf", "20", "800Gbps", "5us", "3"]


def between(source: str, **more: Any) -> DistanceBetween:
    found: Any = {"from": "a", "to": "b", "distance": 25.0, "by_hand": source == "by_hand", "source": source}
    return found | {"level": None, "path": None, "measured": None} | more  # type: ignore[no-any-return]


def test_a_distance_is_told_with_what_lies_between() -> None:
    path: Any = {"hops": 4, "latency_us": 6.0, "mbps": 200_000.0, "headroom_mbps": 50_000.0, "loss": 0.01}
    text = drawn(apart(between("by_hand", level="spine", path=path)))
    assert "25 (set by hand)" in text
    assert "200Gbps, 50Gbps left" in text
    assert "6 us" in text
    assert "loss" in text
    bare = drawn(apart(between("by_level")))
    assert "no level" in bare
    assert "latency" not in bare


def test_distances_are_a_table_or_a_hint() -> None:
    lines = drawn(distance_list([{"from": "a", "to": "b", "distance": 2.5}])).splitlines()
    assert [line.split() for line in lines] == [["FROM", "TO", "DISTANCE"], ["a", "b", "2.5"]]
    assert "dovetail distance set" in drawn(distance_list([]))


def test_nodes_that_are_not_drawn_are_counted_with_the_option_that_draws_them() -> None:
    text = drawn(topology_tree(NET, DOMAINS, [], left_out=1000))
    assert text.splitlines()[-1] == "1,000 nodes not drawn; --nodes draws them"


def test_nodes_that_measure_unlike_their_description_stand_below_the_tree() -> None:
    told = "n17 is described in leaf l3 but measures like l5: 0.1 ms to l5, 0.4 ms to l3"
    alarmed: Any = {**NET, "contradictions": [told]}
    assert drawn(topology_tree(alarmed, DOMAINS, []), 120).splitlines()[-1] == f"! {told}"
