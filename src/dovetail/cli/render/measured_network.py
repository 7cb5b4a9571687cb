"""What agents measured: pairs with their figures, where a distance comes from, and the levels found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dovetail.cli.render.parts.table import TableColumn, and_more, table
from dovetail.cli.render.parts.text import Drawing, Stack, Text, Tree
from dovetail.cli.render.parts.times import span
from dovetail.model.text.amounts import format_bandwidth
from dovetail.model.text.listing import count, first_of

if TYPE_CHECKING:
    from dovetail.responses.network import DiscoveredTopology, DistanceBetween, MeasuredDistance, MeasuredPairList

_NOTHING = (
    "nothing is measured yet: agents measure the network between them, if there are two and UDP gets through "
    "(dovetail agent; its settings `probes`)"
)
_SOURCES = {"by_hand": "set by hand", "described": "described", "by_level": "by the levels that they share"}


def measured_list(found: MeasuredPairList, wide: bool = False) -> Drawing:
    if not found["items"]:
        return Text(_NOTHING)
    columns: list[TableColumn[MeasuredDistance]] = [
        TableColumn("FROM", lambda row: row["from"]),
        TableColumn("TO", lambda row: row["to"]),
        TableColumn("DISTANCE", lambda row: f"{row['distance']:.1f}", right=True),
        TableColumn("RTT", lambda row: _time(row["rtt_us"]), right=True),
        TableColumn("MIN", lambda row: _time(row["rtt_min_us"]), right=True, wide=True),
        TableColumn("P99", lambda row: _time(row["rtt_p99_us"]), right=True, wide=True),
        TableColumn("LOSS", lambda row: _loss(row["loss"]), right=True),
        TableColumn("BANDWIDTH", _bandwidth, right=True),
        TableColumn("SOURCE", measured_source),
    ]
    left = found["total"] - len(found["items"])
    return Stack(table(columns, found["items"], wide), *and_more(left, "pair", f"--limit {found['total']}"))


def source(found: DistanceBetween) -> str:
    """`measured 12s ago`, `estimated ±8`, `set by hand`."""
    measured, said = found.get("measured"), found.get("source") or ("by_hand" if found["by_hand"] else "described")
    return _SOURCES.get(said, said) if said in _SOURCES or measured is None else measured_source(measured)


def measured_source(row: MeasuredDistance) -> str:
    if row["source"] == "estimated":
        return f"estimated ±{max(row['error'], 0.1):.2g}"
    return f"measured {span(row['age_s'])} ago"


def measurement(row: MeasuredDistance | None) -> list[tuple[str, object]]:
    """Lines about one pair."""
    if row is None:
        return []
    if row["source"] == "estimated":
        return [("estimate", f"{row['distance']:g} ±{row['error']:g}, RTT {_time(row['rtt_us'])}")]
    loss, bandwidth = _loss(row["loss"]), _bandwidth(row)
    parts = [f"min {_time(row['rtt_min_us'])}, p99 {_time(row['rtt_p99_us'])}"] if row["rtt_min_us"] else []
    rtt = "no packet comes through" if row["rtt_us"] is None else f"{_time(row['rtt_us'])} ({', '.join(parts)})"
    return [
        ("measured", f"{row['distance']:g}, {span(row['age_s'])} ago"),
        ("  RTT", rtt),
        ("  loss", loss),
        ("  bandwidth", bandwidth),
    ]


def discovered(found: DiscoveredTopology, *, accepted: bool) -> Drawing:
    if not found["nodes"]:
        return Text(_NOTHING)
    levels = found["levels"]
    if not levels:
        return Text(f"{count(found['nodes'], 'measured node')} are about equally far from each other: no levels found")
    root = Tree(Text(f"found in what {count(found['nodes'], 'node')} measured"))
    drawn: dict[str | None, Tree] = {None: root}
    for level in levels:
        for domain in level["domains"]:
            words = Text.assemble((f"{level['name']} ", "dim"), (domain["name"], "bold"))
            words.append(f"  {count(len(domain['nodes']), 'node')}, {domain['distance']:g} apart")
            if level is levels[-1]:
                words.append(f": {first_of(domain['nodes'], 8)}")
            drawn[domain["name"]] = drawn.get(domain["inside"], root).add(words)
    hint = "accepted: dovetail topology shows it" if accepted else "dovetail topology discover --accept takes it over"
    return Stack(root, Text(hint, style="dim"))


def _time(rtt_us: float | None) -> str | None:
    if rtt_us is None:
        return None
    return f"{rtt_us:.3g}us" if rtt_us < 999.5 else f"{rtt_us / 1000:.3g}ms"


def _loss(loss: float | None) -> str | None:
    return None if not loss else f"{100 * loss:.2g}%"


def _bandwidth(row: MeasuredDistance) -> str | None:
    if row["mbps"] is None:
        return None
    mbps = float(f"{row['mbps']:.2g}") if row["mbps"] >= 1 else 1.0
    return f"{'>' if row['at_least'] else ''}{format_bandwidth(round(mbps))}"
