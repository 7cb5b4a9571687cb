"""Reads CSV tables: one link in each line, or one host in each line with its domains.

    from,to,bandwidth,latency,loss,utilisation      host,spine,leaf
    n1,leaf1,200Gbps,1us,0,0                        n1,s1,l1

A table with `from` and `to` holds links; `from_kind` and `to_kind` may be `host`, `switch` or the level of a switch.
Without them, names with a single link are hosts; if there are none, all names are. In a table of hosts the first column
is the host and each other column a level; the fewer domains, the wider. A domain name that occurs in two wider domains
means two domains, named by both names.
"""

from collections import Counter
from collections.abc import Iterable

from pydantic import ValidationError

from dovetail.model.network.topology import Topology, TopologyLevel, TopologyLink
from dovetail.model.text.complaint import MAX_COMPLAINTS, Complaint, Invalid
from dovetail.model.text.csv_lines import csv_lines
from dovetail.model.text.strict import closest, shown
from dovetail.model.text.validation_errors import complaints_of
from dovetail.model.workloads.affinity import HOST

LINK_COLUMNS = ("from", "to", "bandwidth", "latency", "loss", "utilisation", "from_kind", "to_kind")
_KINDS = ("from_kind", "to_kind")
SWITCH = "switch"

Row = tuple[int, dict[str, str]]


def read_table(text: str, source: str) -> Topology:
    """Raises Invalid, or ValidationError if what the table says is inconsistent."""
    header, rows = _rows(text, source)
    found = _links(header, rows, source) if {"from", "to"} <= set(header) else _hosts(header, rows, source)
    return Topology.model_validate(found)


def _rows(text: str, source: str) -> tuple[list[str], list[Row]]:
    rows: list[Row] = []
    complaints: list[Complaint] = []
    lines = csv_lines(text, source, complaints)
    _, header = next(lines, (0, []))
    _check_header(header, source)
    for line, values in lines:
        if len(values) != len(header):
            words = f"has {len(values)} cells, and the header has {len(header)}"
            complaints.append(Complaint(source, line, "", words))
        else:
            rows.append((line, dict(zip(header, values, strict=True))))
    if not header or (not rows and not complaints):
        complaints.append(Complaint(source, None, "", "is empty; give a header such as from,to,bandwidth and lines"))
    if complaints:
        raise Invalid(complaints[:MAX_COMPLAINTS])
    return header, rows


def _check_header(names: list[str], source: str) -> None:
    for name, count in Counter(names).items():
        if not name or count > 1:
            words = f"{shown(name)} occurs {count} times in the header" if name else "a column has no name"
            raise Invalid([Complaint(source, 1, "", words)])


# --- links ---------------------------------------------------------------------------------------------------


def _links(header: list[str], rows: list[Row], source: str) -> dict[str, object]:
    complaints = [
        Complaint(source, 1, name, f"unknown column.{closest(name, LINK_COLUMNS)} Known: {', '.join(LINK_COLUMNS)}")
        for name in header
        if name not in LINK_COLUMNS
    ]
    links: list[TopologyLink] = []
    kinds: dict[str, str] = {}
    for line, row in rows:
        try:
            links.append(TopologyLink.model_validate(_fields(row)))
        except ValidationError as error:
            found = complaints_of(error, TopologyLink)
            complaints += [Complaint(source, line, one.field, one.message) for one in found]
            continue
        for column, name in zip(_KINDS, (row["from"], row["to"]), strict=True):
            kind = row.get(column, "")
            if kind and kinds.setdefault(name, kind) != kind:
                complaints.append(Complaint(source, line, column, f"{shown(name)} was {kinds[name]!r} before"))
    if complaints:
        raise Invalid(complaints[:MAX_COMPLAINTS])
    return _described(links, kinds)


def _fields(row: dict[str, str]) -> dict[str, object]:
    found: dict[str, object] = {name: value for name, value in row.items() if value and name not in _KINDS}
    for share in ("loss", "utilisation"):
        if share in found:
            found[share] = _number(str(found[share]))
    return found


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text  # the model will refuse it


def _described(links: list[TopologyLink], kinds: dict[str, str]) -> dict[str, object]:
    names = list(dict.fromkeys(name for link in links for name in (link.start, link.end)))
    if not kinds:
        near: dict[str, set[str]] = {name: set() for name in names}
        for link in links:
            near[link.start].add(link.end)
            near[link.end].add(link.start)
        hosts = {name for name in names if len(near[name]) == 1} or set(names)
        return {"links": links, "switches": dict.fromkeys(name for name in names if name not in hosts)}
    switches = {name: kinds[name] for name in names if kinds.get(name, HOST) != HOST}
    if all(kind == SWITCH for kind in switches.values()):
        return {"links": links, "switches": dict.fromkeys(switches)}
    counts = Counter(switches.values())
    levels = [TopologyLevel(name=level) for level in sorted(counts, key=lambda level: counts[level])]
    return {"links": links, "switches": switches, "levels": levels}


# --- hosts ---------------------------------------------------------------------------------------------------


def _hosts(header: list[str], rows: list[Row], source: str) -> dict[str, object]:
    host_column, *columns = header
    if not columns:
        words = "has one column; give hosts with their levels (host,spine,leaf) or links (from,to,bandwidth)"
        raise Invalid([Complaint(source, 1, "", words)])
    seen: dict[str, int] = {}
    for line, row in rows:
        host = row[host_column]
        if seen.setdefault(host, line) != line:
            words = f"{shown(host)} is already in line {seen[host]}"
            raise Invalid([Complaint(source, line, host_column, words)])
    ordered = sorted(columns, key=lambda column: len({row[column] for _, row in rows}))
    nodes: dict[str, dict[str, str]] = {row[host_column]: {} for _, row in rows}
    for depth, column in enumerate(ordered):
        wider = ordered[:depth]
        ambiguous = _in_several(rows, wider, column)
        for _, row in rows:
            if row[column]:
                above = [row[other] for other in wider if row[other]] if row[column] in ambiguous else []
                nodes[row[host_column]][column] = "/".join([*above, row[column]])
    return {"levels": [TopologyLevel(name=column) for column in ordered], "nodes": nodes}


def _in_several(rows: Iterable[Row], wider: list[str], column: str) -> set[str]:
    """Domain names that occur in more than one wider domain."""
    above: dict[str, tuple[str, ...]] = {}
    found: set[str] = set()
    for _, row in rows:
        place = tuple(row[other] for other in wider)
        if above.setdefault(row[column], place) != place:
            found.add(row[column])
    return found
