"""The network: levels as a table, domains and nodes as a tree with bars of use, distances."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dovetail.cli.render.measured_network import measurement, source
from dovetail.cli.render.parts.bars import gauge
from dovetail.cli.render.parts.state import state
from dovetail.cli.render.parts.table import TableColumn, pairs, table
from dovetail.cli.render.parts.text import Drawing, Stack, Text, Tree
from dovetail.model.text.amounts import format_bandwidth
from dovetail.model.text.listing import count

if TYPE_CHECKING:
    from dovetail.responses.network import DistanceBetween, DomainRow, LevelRow, NodeDistance, TopologyAnswer
    from dovetail.responses.nodes import NodeRow

BAR = 10
_Place = tuple[tuple[str, str], ...]  # levels and domains, widest first
_NOTHING = (
    "no node is in a domain of any level; label nodes (zone, spine, leaf, rack) or use dovetail topology set FILE"
)


def level_list(topology: TopologyAnswer, wide: bool = False) -> Drawing:
    if not topology["levels"]:
        return Text(_NOTHING)
    columns: list[TableColumn[LevelRow]] = [
        TableColumn("LEVEL", lambda one: one["name"]),
        TableColumn("LABEL", lambda one: one["label"], wide=True),
        TableColumn("DOMAINS", lambda one: one["domains"], right=True),
        TableColumn("UP", lambda one: one["bandwidth"], right=True),
        TableColumn("LATENCY", lambda one: one["latency"], right=True),
        TableColumn("NODES OUTSIDE", lambda one: one["outside"] or None, right=True),
    ]
    return table(columns, topology["levels"], wide)


def topology_tree(
    topology: TopologyAnswer,
    domains: Sequence[DomainRow],
    nodes: Sequence[NodeRow],
    wide: bool = False,
    left_out: int = 0,
) -> Drawing:
    """Domains inside wider domains; each node in the narrowest domain that contains it. `left_out`: nodes that are not
    drawn because they are many."""
    if not domains and not nodes:
        return Text(_NOTHING)
    order = [one["name"] for one in topology["levels"] if any(domain["level"] == one["name"] for domain in domains)]
    label_of = {one["name"]: one["label"] for one in topology["levels"]}
    root = Tree(Text(_counted(topology, order)))
    drawn: dict[_Place, Tree] = {(): root}
    for domain in sorted(domains, key=lambda one: (order.index(one["level"]), one["name"])):
        above = tuple((level, domain["around"][level]) for level in order if level in domain["around"])
        parent = _nearest(drawn, above)
        drawn[(*above, (domain["level"], domain["name"]))] = parent.add(_domain(domain, wide))
    for node in nodes:
        labels = node["labels"]
        place = tuple((level, labels[label_of[level]]) for level in order if label_of[level] in labels)
        _nearest(drawn, place).add(_node(node))
    hint = [Text(f"{count(left_out, 'node')} not drawn; --nodes draws them", style="dim")] if left_out else []
    alerts = [Text(f"! {one}", style="yellow") for one in topology.get("contradictions", ())]
    return Stack(root, *hint, *alerts)


def _nearest(drawn: dict[_Place, Tree], place: _Place) -> Tree:
    while place not in drawn:
        place = place[:-1]
    return drawn[place]


def _counted(topology: TopologyAnswer, order: Sequence[str]) -> str:
    levels = [
        count(one["domains"], one["name"], "leaves" if one["name"] == "leaf" else "")
        for one in topology["levels"]
        if one["name"] in order
    ]
    told = "described" if topology["described"] else "by the labels of nodes"
    return f"network, {told}: {', '.join(levels) or 'no domains'}"


def _domain(domain: DomainRow, wide: bool) -> Text:
    found = Text.assemble((f"{domain['level']} ", "dim"), (domain["name"], "bold"), "  ")
    if domain["largest_gang"] is not None:
        found.append(f"fits {count(domain['largest_gang'], 'task')}  ")
    gpu = domain["gpu"]
    if gpu["capacity"]:
        if domain["largest_gang"] is None:  # where that is asked, a bar would leave too little space
            found.append_text(gauge(gpu["capacity"] - gpu["free"], gpu["capacity"], BAR)).append("  ")
        found.append(f"{gpu['free']:g}/{gpu['capacity']:g} GPUs free")
        if domain["whole_gpus"] != gpu["free"]:
            found.append(f", {domain['whole_gpus']} whole")
    elif domain["capacity"].get("cpu"):
        found.append(f"{domain['free'].get('cpu', '0')}/{domain['capacity']['cpu']} cores free")
    found.append(f"  {count(domain['nodes'], 'node')}")
    if wide and domain["whole_nodes"]:
        found.append(f", {domain['whole_nodes']} empty")
    if domain["healthy"] < domain["nodes"]:
        away = domain["nodes"] - domain["healthy"]
        found.append(f"  ✗ {away} {'takes' if away == 1 else 'take'} no work", style="red")
    if wide or domain["held_mbps"]:
        found.append(f"  up {_left(domain['free_mbps'], domain['up_mbps'])}")
        if wide and domain["held_mbps"]:
            found.append(f" free, {_speed(domain['held_mbps'])} held")
    return found


def _node(node: NodeRow) -> Text:
    found = Text.assemble(node["name"], "  ")
    for resource, word in (("gpu", "GPUs"), ("cpu", "cores")):
        use = node["resources"].get(resource)
        if use is not None and use["capacity"]:
            taken = use["allocated"] + use["reserved"]
            found.append_text(gauge(taken, use["capacity"], BAR))
            found.append(f"  {max(use['capacity'] - taken, 0):g}/{use['capacity']:g} {word} free")
            break
    if node["status"] != "online":
        found.append("  ").append_text(state(node["status"]))
    return found


# --- distances -----------------------------------------------------------------------------------------------


def distance_list(rows: Sequence[NodeDistance]) -> Drawing:
    if not rows:
        return Text("no distance was set by hand; dovetail distance set NODE NODE DISTANCE")
    columns: list[TableColumn[NodeDistance]] = [
        TableColumn("FROM", lambda row: row["from"]),
        TableColumn("TO", lambda row: row["to"]),
        TableColumn("DISTANCE", lambda row: f"{row['distance']:g}", right=True),
    ]
    return table(columns, rows)


def apart(found: DistanceBetween) -> Drawing:
    path = found["path"]
    lines: list[tuple[str, object]] = [
        ("distance", f"{found['distance']:g} ({source(found)})"),
        ("share", found["level"] or "no level"),
    ]
    measured = found.get("measured")  # older servers do not say it
    if path is not None and (measured is None or found["source"] == "described"):
        left = "" if path["headroom_mbps"] >= path["mbps"] else f", {_speed(path['headroom_mbps'])} left"
        lines += [
            ("links", path["hops"]),
            ("latency", f"{path['latency_us']:g} us"),
            ("bandwidth", f"{_speed(path['mbps'])}{left}"),
            ("loss", f"{path['loss']:.3g}" if path["loss"] else None),
        ]
    lines += measurement(measured)
    return pairs(lines)


def _left(free_mbps: float, mbps: float) -> str:
    """`200/800Gbps`; all of it, where all is free."""
    free, whole = _speed(free_mbps), _speed(mbps)
    if free_mbps >= mbps:
        return whole
    unit = next((unit for unit in ("Tbps", "Gbps", "Mbps") if free.endswith(unit) and whole.endswith(unit)), "")
    return f"{free.removesuffix(unit) if free_mbps else 0}/{whole}"


def _speed(mbps: float) -> str:
    return format_bandwidth(round(mbps))
