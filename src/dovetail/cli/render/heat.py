"""Heat strips: one cell a node, one strip a domain, by utilisation, fragmentation or health.

The height of a cell says how much, so a strip says the same without colours. A strip that is too long for the line goes
on in the next one. Racks, or whatever is narrower than the domain, are divided by a blank.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from dovetail.cli.render.heat_by import HeatBy
from dovetail.cli.render.parts.bars import height
from dovetail.cli.render.parts.state import state, state_style
from dovetail.cli.render.parts.text import Drawing, Stack, Text, cells
from dovetail.model.text.listing import count

if TYPE_CHECKING:
    from dovetail.responses.network import LevelRow, TopologyAnswer
    from dovetail.responses.nodes import NodeRow

#: If nobody says which level: the narrowest that has no more domains, with so many nodes in each on average.
_MOST_STRIPS, _LEAST_NODES = 40, 8
_SHORTEST = 10  # cells of a strip, however long names are
_OUT = "✗"  # takes no work
_EMPTY = "·"
_FIGURE = re.compile(r"(\d+)")


def heat_strips(topology: TopologyAnswer, nodes: Sequence[NodeRow], by: HeatBy, level: str | None = None) -> Drawing:
    """`level`: the one whose domains get a strip each."""
    if not nodes:
        return Text("no nodes; register one (dovetail nodes register -f FILE) or configure a backend")
    chosen = _level(topology["levels"], level, len(nodes))
    resource = "gpu" if any(_capacity(node, "gpu") for node in nodes) else "cpu"
    narrower = _narrower(topology["levels"], chosen)
    domains: dict[str, list[NodeRow]] = {}
    for node in sorted(nodes, key=lambda one: (_domain(one, chosen), _domain(one, narrower), _sortable(one["name"]))):
        domains.setdefault(_name(node, chosen), []).append(node)
    strips = [_Strip(name, members, narrower, by, resource) for name, members in domains.items()]
    return Stack(_title(by, resource, chosen), _Strips(strips), _legend(by, nodes))


def _level(levels: Sequence[LevelRow], asked: str | None, nodes: int) -> LevelRow | None:
    if asked is not None:
        return next((one for one in levels if asked in (one["name"], one["label"])), None)
    few = [one for one in levels if one["domains"] <= min(_MOST_STRIPS, nodes / _LEAST_NODES)]
    return few[-1] if few else None


def _narrower(levels: Sequence[LevelRow], chosen: LevelRow | None) -> LevelRow | None:
    names = [one["name"] for one in levels]
    after = 0 if chosen is None else names.index(chosen["name"]) + 1
    return levels[after] if after < len(levels) else None


def _domain(node: NodeRow, level: LevelRow | None) -> tuple[tuple[int, str], ...]:
    return _sortable("" if level is None else node["labels"].get(level["label"], ""))


def _name(node: NodeRow, level: LevelRow | None) -> str:
    if level is None:
        return "cluster"
    found = node["labels"].get(level["label"])
    return f"{level['name']} {found}" if found else f"in no {level['name']}"


def _sortable(name: str) -> tuple[tuple[int, str], ...]:
    """So that n2 comes before n10."""
    return tuple((int(part), "") if part.isdigit() else (-1, part) for part in _FIGURE.split(name))


# --- a strip -----------------------------------------------------------------------------------------------------


class _Strip:
    def __init__(
        self, name: str, members: Sequence[NodeRow], narrower: LevelRow | None, by: HeatBy, resource: str
    ) -> None:
        self.name = name
        self.groups = [
            [_CELLS[by](node, resource) for node in group]
            for _, group in groupby(members, key=lambda node: _domain(node, narrower))
        ]
        if all(len(group) == 1 for group in self.groups):  # blanks between single cells would divide nothing
            self.groups = [[cell for group in self.groups for cell in group]]
        self.note = _note(members, by, resource)


class _Strips:
    def __init__(self, strips: Sequence[_Strip]) -> None:
        self._strips = strips

    def lines(self, width: int) -> list[Text]:
        names = max(cells(strip.name) for strip in self._strips)
        notes = max(cells(strip.note) for strip in self._strips)
        names = min(names, max(_SHORTEST, width - notes - _SHORTEST - 4))
        room = max(_SHORTEST, width - names - notes - 4)
        longest = max(sum(len(group) + 1 for group in strip.groups) - 1 for strip in self._strips)
        found: list[Text] = []
        for strip in self._strips:
            rows = _rows(strip.groups, min(room, longest))
            for number, row in enumerate(rows):
                if number:
                    found.append(Text.assemble(" " * (names + 2), row))
                    continue
                name = Text(strip.name).cut(names)
                blanks = " " * (min(room, longest) - row.cells + 2)
                found.append(
                    Text.assemble(name, " " * (names - name.cells + 2), row, blanks, (strip.note.rjust(notes), "dim"))
                )
        return found


def _rows(groups: Sequence[Sequence[Text]], room: int) -> list[Text]:
    """The cells in lines; a group begins a new line rather than being divided, if it fits in one."""
    rows, line = [], Text()
    for group in groups:
        if line.cells and line.cells + 1 + len(group) > room and len(group) <= room:
            rows.append(line)
            line = Text()
        elif line.cells:
            line.append(" ")
        for cell in group:
            if line.cells >= room:
                rows.append(line)
                line = Text()
            line.append_text(cell)
    return [*rows, line]


# --- cells -------------------------------------------------------------------------------------------------------


def _capacity(node: NodeRow, resource: str) -> float:
    use = node["resources"].get(resource)
    return 0.0 if use is None else float(use["capacity"])


def _taken(node: NodeRow, resource: str) -> float:
    """What tasks and reservations have of it, as a share."""
    capacity = _capacity(node, resource)
    if not capacity:
        return 0.0
    use = node["resources"][resource]
    return min(1.0, float(use["allocated"] + use["reserved"]) / capacity)


def _stranded(node: NodeRow, resource: str) -> float:
    """The share that is free on a node in use: work that needs a whole node cannot have it."""
    taken = _taken(node, resource)
    return 1.0 - taken if taken > 0 else 0.0


def _measured(value: Callable[[NodeRow, str], float]) -> Callable[[NodeRow, str], Text]:
    def cell(node: NodeRow, resource: str) -> Text:
        if node["status"] != "online":
            return Text(_OUT, style="red")
        if not _capacity(node, resource):
            return Text(_EMPTY, style="dim")
        share = value(node, resource)
        return Text(height(share), style="blue") if share > 0 else Text(_EMPTY, style="dim")

    return cell


def _health(node: NodeRow, _resource: str) -> Text:
    return Text(state(node["status"]).plain[0], style=state_style(node["status"]))


_CELLS: dict[HeatBy, Callable[[NodeRow, str], Text]] = {
    HeatBy.UTILISATION: _measured(_taken),
    HeatBy.FRAGMENTATION: _measured(_stranded),
    HeatBy.HEALTH: _health,
}


def _note(members: Sequence[NodeRow], by: HeatBy, resource: str) -> str:
    if by is HeatBy.HEALTH:
        online = sum(node["status"] == "online" for node in members)
        return f"{online}/{len(members)} online"
    taking = [node for node in members if node["status"] == "online"]
    whole = sum(_capacity(node, resource) for node in taking)
    if not whole:
        return "-"
    value = _taken if by is HeatBy.UTILISATION else _stranded
    return f"{sum(value(node, resource) * _capacity(node, resource) for node in taking) / whole:4.0%}"


def _title(by: HeatBy, resource: str, level: LevelRow | None) -> Text:
    what = {"gpu": "GPUs", "cpu": "cores"}[resource]
    where = (
        "the cluster"
        if level is None
        else count(level["domains"], level["name"], "leaves" if level["name"] == "leaf" else "")
    )
    return Text(
        {
            HeatBy.UTILISATION: f"{what} in use in {where}, one cell a node",
            HeatBy.FRAGMENTATION: f"{what} that are free on nodes in use, in {where}, one cell a node",
            HeatBy.HEALTH: f"health of nodes in {where}, one cell a node",
        }[by],
        style="bold",
    )


def _legend(by: HeatBy, nodes: Sequence[NodeRow]) -> Text:
    if by is HeatBy.HEALTH:
        seen = sorted({node["status"] for node in nodes}, key=lambda word: (word != "online", word))
        return Text.assemble(*(part for word in seen for part in (state(word), "  ")))
    steps = f"{_EMPTY} none  {height(0.0)} up to 12%  {height(0.5)} 50–62%  {height(1.0)} 88% and more"
    return Text(f"{steps}  {_OUT} takes no work", style="dim")
