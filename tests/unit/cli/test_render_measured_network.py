"""What was measured, in 80 columns."""

from typing import Any

from tests.unit.cli.answers import drawn, widest

from dovetail.cli.render.measured_network import discovered, measured_list
from dovetail.cli.render.topology import apart
from dovetail.responses.network import DiscoveredTopology, DistanceBetween, MeasuredDistance


def row(**more: Any) -> MeasuredDistance:
    found: Any = {"from": "rack1-node17", "to": "rack2-node05", "distance": 23.4, "source": "measured", "error": 0.0}
    found |= {"rtt_us": 412.0, "rtt_min_us": 380.0, "rtt_median_us": 410.0, "rtt_p99_us": 1450.0, "loss": 0.012}
    return found | {"mbps": 9412.0, "at_least": False, "age_s": 12.0} | more  # type: ignore[no-any-return]


ESTIMATE = row(
    source="estimated", error=8.2, rtt_min_us=None, rtt_median_us=None, rtt_p99_us=None, loss=None, mbps=None
)


def between(source: str, measured: MeasuredDistance) -> DistanceBetween:
    found: Any = {"from": "a", "to": "b", "distance": 23.4, "by_hand": False, "source": source}
    return found | {"level": None, "path": None, "measured": measured}  # type: ignore[no-any-return]


def test_a_pair_shows_its_distance_its_figures_and_where_they_are_from() -> None:
    text = drawn(measured_list({"items": [row(), ESTIMATE, row(at_least=True)], "total": 5}))
    lines = [line.split() for line in text.splitlines()]
    assert lines[0] == ["FROM", "TO", "DISTANCE", "RTT", "LOSS", "BANDWIDTH", "SOURCE"]
    assert lines[1] == ["rack1-node17", "rack2-node05", "23.4", "412us", "1.2%", "9400Mbps", "measured", "12s", "ago"]
    assert lines[2] == ["rack1-node17", "rack2-node05", "23.4", "412us", "-", "-", "estimated", "±8.2"]
    assert lines[3][5] == ">9400Mbps"
    assert "and 2 more pairs; --limit 5 lists them" in text
    assert widest(text) <= 80
    assert "1.45ms" in drawn(measured_list({"items": [row()], "total": 1}, wide=True), 120)


def test_a_distance_says_how_old_it_is_or_how_wrong_it_may_be() -> None:
    assert "23.4 (measured 12s ago)" in drawn(apart(between("measured", row())))
    assert "412us (min 380us, p99 1.45ms)" in drawn(apart(between("measured", row())))
    assert "23.4 (estimated ±8.2)" in drawn(apart(between("estimated", ESTIMATE)))
    assert "23.4 (described)" in drawn(apart(between("described", row())))
    silent = row(rtt_us=None, rtt_min_us=None, loss=1.0, distance=100.0)
    assert "no packet comes through" in drawn(apart(between("measured", silent)))


def test_found_levels_are_a_tree_and_say_how_to_accept_them() -> None:
    leaves: Any = [
        {"name": "leaf-1", "nodes": ["a1", "a2"], "inside": "spine-1", "distance": 1.5},
        {"name": "leaf-2", "nodes": [f"b{place}" for place in range(20)], "inside": "spine-1", "distance": 2.0},
    ]
    spine: Any = {"name": "spine-1", "nodes": ["a1", "a2"], "inside": None, "distance": 20.0}
    levels: Any = [{"name": "spine", "gap": 3, "domains": [spine]}, {"name": "leaf", "gap": 9, "domains": leaves}]
    found: DiscoveredTopology = {"nodes": 22, "levels": levels, "definition": {}}
    lines = drawn(discovered(found, accepted=False)).splitlines()
    assert lines[:3] == [
        "found in what 22 nodes measured",
        "└── spine spine-1  2 nodes, 20 apart",
        "    ├── leaf leaf-1  2 nodes, 1.5 apart: a1, a2",
    ]
    assert "b7 and 12 more" in " ".join(" ".join(lines).split())
    assert lines[-1] == "dovetail topology discover --accept takes it over"
    assert "no levels found" in drawn(discovered({"nodes": 3, "levels": [], "definition": {}}, accepted=False))
    assert "nothing is measured yet" in drawn(discovered({"nodes": 0, "levels": [], "definition": {}}, accepted=False))
