"""Reads Slurm's topology.conf: `topology/tree` (SwitchName) and `topology/block` (BlockName).

Switches with nodes are leaves; those above are spines, then core, then tier-4 and so on. Blocks are one level; each
larger size in `BlockSizes` is another level of that many consecutive blocks, as in Slurm. Keywords are
case-insensitive, a backslash continues a line, and `#` starts a comment.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from dovetail.model.network.topology import Topology, TopologyLevel, tier_name
from dovetail.model.text.complaint import Complaint, Invalid
from dovetail.model.text.hostlist import expanded
from dovetail.model.text.strict import closest, shown

_WORD = re.compile(r"([A-Za-z]+)=(\S+)")
_SWITCH = {"switchname": "SwitchName", "switches": "Switches", "nodes": "Nodes", "linkspeed": "LinkSpeed"}
_BLOCK = {"blockname": "BlockName", "nodes": "Nodes", "blocksizes": "BlockSizes"}
_KEYWORDS = {**_SWITCH, **_BLOCK}
BLOCK = "block"


@dataclass(slots=True)
class _Line:
    number: int
    words: dict[str, str]


@dataclass(slots=True)
class _Switch:
    line: int
    below: list[str]
    hosts: list[str]


class _Wrong(Exception):
    def __init__(self, line: int, field: str, words: str) -> None:
        super().__init__(words)
        self.complaint = (line, field, words)


def read_slurm(text: str, source: str) -> Topology:
    """Raises Invalid with the first error."""
    try:
        lines = list(_lines(text))
        if not lines:
            raise _Wrong(1, "", "holds no SwitchName= and no BlockName=")
        blocks = any("blockname" in line.words or "blocksizes" in line.words for line in lines)
        return _of_blocks(lines) if blocks else _of_switches(lines)
    except _Wrong as wrong:
        raise Invalid([Complaint(source, *wrong.complaint)]) from None


def _lines(text: str) -> Iterator[_Line]:
    gathered, begun = "", 0
    for number, raw in enumerate([*text.splitlines(), ""], 1):
        begun = begun or number
        line = raw.split("#", 1)[0].rstrip()
        if line.endswith("\\"):
            gathered += line[:-1] + " "
            continue
        gathered += line
        if gathered.strip():
            yield _Line(begun, _words(gathered, begun))
        gathered, begun = "", 0


def _words(line: str, number: int) -> dict[str, str]:
    found: dict[str, str] = {}
    for word in line.split():
        match = _WORD.fullmatch(word)
        if match is None:
            raise _Wrong(number, "", f"{shown(word)} is not Keyword=value, as in SwitchName=s1 Nodes=node[01-16]")
        key = match[1].lower()
        if key not in _KEYWORDS:
            known = _KEYWORDS.values()
            words = f"unknown keyword.{closest(match[1], known)} Known: {', '.join(known)}"
            raise _Wrong(number, match[1], words)
        if key in found:
            raise _Wrong(number, _KEYWORDS[key], "is given twice in one line")
        found[key] = match[2]
    return found


def _hosts(line: _Line, key: str) -> list[str]:
    try:
        return expanded(line.words[key]) if key in line.words else []
    except ValueError as error:
        raise _Wrong(line.number, _KEYWORDS[key], str(error)) from None


# --- trees ---------------------------------------------------------------------------------------------------


def _of_switches(lines: list[_Line]) -> Topology:
    switches: dict[str, _Switch] = {}
    for line in lines:
        name = line.words.get("switchname")
        if name is None:
            raise _Wrong(line.number, "", "has no SwitchName=")
        if name in switches:
            raise _Wrong(line.number, "SwitchName", f"{shown(name)} is already in line {switches[name].line}")
        below, hosts = _hosts(line, "switches"), _hosts(line, "nodes")
        if bool(below) == bool(hosts):
            raise _Wrong(line.number, name, "needs either Switches= or Nodes=, and not both")
        switches[name] = _Switch(line.number, below, hosts)
    heights = _heights(switches)
    _one_switch_each(switches)
    levels = [TopologyLevel(name=tier_name(tier)) for tier in range(max(heights.values()), -1, -1)]
    domains: dict[str, dict[str, list[str]]] = {level.name: {} for level in levels}
    for name, switch in switches.items():
        domains[tier_name(heights[name])][name] = _all_hosts(switches, switch)
    return Topology(levels=levels, domains=domains)


def _heights(switches: dict[str, _Switch]) -> dict[str, int]:
    """By switch, its height above the nodes: 0 for a leaf."""
    found: dict[str, int] = {name: 0 for name, switch in switches.items() if switch.hosts}
    left = {name: switch for name, switch in switches.items() if not switch.hosts}
    for switch in left.values():
        for other in switch.below:
            if other not in switches:
                words = f"there is no SwitchName={other}.{closest(other, switches)}"
                raise _Wrong(switch.line, "Switches", words)
    while left:
        ready = [name for name, switch in left.items() if all(other in found for other in switch.below)]
        if not ready:
            name, switch = next(iter(left.items()))
            raise _Wrong(switch.line, "Switches", f"{shown(name)} is below itself; a tree has no circles")
        for name in ready:
            found[name] = 1 + max(found[other] for other in left.pop(name).below)
    return found


def _one_switch_each(switches: dict[str, _Switch]) -> None:
    above: dict[str, str] = {}
    for name, switch in switches.items():
        for member in switch.below or switch.hosts:
            if above.setdefault(member, name) != name:
                words = f"{shown(member)} is on {above[member]} already; in a tree it is on one switch"
                raise _Wrong(switch.line, name, words)


def _all_hosts(switches: dict[str, _Switch], switch: _Switch) -> list[str]:
    found: list[str] = []
    pending = [switch]
    while pending:
        one = pending.pop()
        found += one.hosts
        pending += [switches[name] for name in reversed(one.below)]
    return found


# --- blocks --------------------------------------------------------------------------------------------------


def _of_blocks(lines: list[_Line]) -> Topology:
    blocks: dict[str, list[str]] = {}
    sizes: list[int] = []
    seen: dict[str, str] = {}
    for line in lines:
        if "blocksizes" in line.words:
            sizes = _sizes(line)
        name = line.words.get("blockname")
        if name is None:
            if "blocksizes" not in line.words:
                raise _Wrong(line.number, "", "has no BlockName=")
            continue
        if name in blocks:
            raise _Wrong(line.number, "BlockName", f"{shown(name)} is given twice")
        blocks[name] = _hosts(line, "nodes")
        if not blocks[name]:
            raise _Wrong(line.number, name, "has no Nodes=")
        for host in blocks[name]:
            if seen.setdefault(host, name) != name:
                raise _Wrong(line.number, name, f"{shown(host)} is in block {seen[host]} already")
    names = list(blocks)
    levels, domains = [TopologyLevel(name=BLOCK)], {BLOCK: blocks}
    for size in sizes[1:]:
        together = size // sizes[0]
        level = f"blocks-{together}"
        levels.insert(0, TopologyLevel(name=level))
        domains[level] = {
            names[begin]: [host for name in names[begin : begin + together] for host in blocks[name]]
            for begin in range(0, len(names), together)
        }
    return Topology(levels=levels, domains=domains)


def _sizes(line: _Line) -> list[int]:
    text = line.words["blocksizes"]
    if not all(part.isascii() and part.isdigit() and int(part) for part in text.split(",")):
        raise _Wrong(line.number, "BlockSizes", f"{shown(text)} is not a list of numbers such as 16,64")
    sizes = sorted({int(part) for part in text.split(",")})
    for size in sizes[1:]:
        if size % sizes[0]:
            raise _Wrong(line.number, "BlockSizes", f"{size} is not a multiple of the smallest, {sizes[0]}")
    return sizes
