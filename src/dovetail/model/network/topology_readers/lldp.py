"""Reads LLDP neighbours: the output of `lldpctl -f json`, collected by reporting machine.

    {"hosts": {"n1": {"lldp": {"interface": …}}, …}, "switches": {"leaf1": {"lldp": …}, …}}

Names under `hosts` are hosts. Their neighbours are switches, and so are neighbours of switches that announce the bridge
or router capability; other neighbours are ignored. A link reported by both ends counts once; parallel links count each.
The speed of a port, if reported, becomes the bandwidth of its link.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dovetail.model.network.topology import Topology, TopologyLink
from dovetail.model.text.complaint import Complaint, Invalid, field_name
from dovetail.model.text.document import Document, Path, read_documents
from dovetail.model.text.strict import shown

HOSTS, SWITCHES = "hosts", "switches"
_SPEED = re.compile(r"(\d+)\s*(G|Gig)?(?:Base)", re.IGNORECASE)
_SWITCHING = frozenset({"bridge", "router"})


@dataclass(frozen=True, slots=True)
class _Neighbour:
    """A neighbour on one port. `switches`: does it announce to be a switch? None if it announces nothing."""

    name: str
    switches: bool | None
    mbps: int | None


def read_lldp(text: str | bytes, source: str) -> Topology:
    """Raises Invalid."""
    documents = read_documents(text, source)
    if len(documents) != 1 or not isinstance(documents[0].data, dict):
        words = "is not one mapping with hosts, and switches if they report too: {hosts: {n1: {lldp: …}}}"
        raise Invalid([Complaint(source, None, "", words)])
    document = documents[0]
    data: dict[str, Any] = document.data  # type: ignore[assignment]
    for key in data:
        if key not in (HOSTS, SWITCHES):
            raise _wrong(document, (key,), f"unknown field; this file has {HOSTS} and {SWITCHES}")
    reports = {
        kind: {name: list(_neighbours(document, (kind, name), report)) for name, report in _mapping(document, kind)}
        for kind in (HOSTS, SWITCHES)
    }
    if not reports[HOSTS]:
        raise _wrong(document, (HOSTS,), "no host has reported its neighbours")
    return _topology(document, reports[HOSTS], reports[SWITCHES])


def _topology(
    document: Document, hosts: dict[str, list[_Neighbour]], switches: dict[str, list[_Neighbour]]
) -> Topology:
    reports: dict[tuple[str, str], list[_Neighbour]] = {}  # by reporter and neighbour
    for name, neighbours in (*hosts.items(), *switches.items()):
        for one in neighbours:
            known = one.name in hosts or one.name in switches or name in hosts or one.switches is not False
            if known and one.name != name:
                reports.setdefault((name, one.name), []).append(one)
    links: list[TopologyLink] = []
    linked: Counter[str] = Counter()
    for (name, other), seen in reports.items():
        back = reports.get((other, name), [])
        if back and (other, name) < (name, other):
            continue  # reported by the other end too
        most = max(seen, back, key=len)
        links += [TopologyLink(start=name, end=other, bandwidth=one.mbps and f"{one.mbps}Mbps") for one in most]
        linked.update((name, other))
    if not links:
        raise _wrong(document, (HOSTS,), "nobody has a neighbour")
    return Topology(links=links, switches=dict.fromkeys(name for name in linked if name not in hosts))


# --- the shape that lldpctl writes -----------------------------------------------------------------------------


def _mapping(document: Document, kind: str) -> Iterator[tuple[str, Any]]:
    data: Any = document.data
    found = data.get(kind) or {}
    if not isinstance(found, dict):
        raise _wrong(document, (kind,), "is not a mapping of names to what lldpctl -f json wrote there")
    yield from found.items()


def _neighbours(document: Document, at: Path, report: Any) -> Iterator[_Neighbour]:
    """`interface` is a mapping, or a list of mappings with one port each; it is missing without neighbours."""
    if not isinstance(report, dict) or not isinstance(report.get("lldp"), dict):
        raise _wrong(document, at, "has no lldp: give what lldpctl -f json writes")
    interfaces = report["lldp"].get("interface") or []
    for piece in interfaces if isinstance(interfaces, list) else [interfaces]:
        if not isinstance(piece, dict):
            raise _wrong(document, (*at, "lldp", "interface"), "is neither a port nor a list of ports")
        for port, seen in piece.items():
            for one in seen if isinstance(seen, list) else [seen]:
                yield _neighbour(document, (*at, "lldp", "interface"), port, one)


def _neighbour(document: Document, at: Path, port: str, seen: Any) -> _Neighbour:
    chassis = seen.get("chassis") if isinstance(seen, dict) else None
    if not isinstance(chassis, dict) or not chassis:
        raise _wrong(document, at, f"port {shown(port)} has no chassis: it does not say who is there")
    identity = chassis.get("id")
    if isinstance(identity, dict) and "value" in identity:  # a neighbour without a name has only an id
        name, about = str(identity["value"]), chassis
    else:
        name, about = next(iter(chassis.items()))
    if not name or not isinstance(about, dict):
        raise _wrong(document, at, f"port {shown(port)} has a neighbour without a name or an id")
    return _Neighbour(name, _switches(about.get("capability")), _mbps(seen.get("port")))


def _switches(capability: Any) -> bool | None:
    entries = capability if isinstance(capability, list) else [capability] if isinstance(capability, dict) else []
    enabled = {str(one.get("type", "")).lower() for one in entries if isinstance(one, dict) and one.get("enabled")}
    return bool(enabled & _SWITCHING) if entries else None


def _mbps(port: Any) -> int | None:
    negotiated = port.get("auto-negotiation") if isinstance(port, dict) else None
    current = negotiated.get("current") if isinstance(negotiated, dict) else None
    match = _SPEED.search(current) if isinstance(current, str) else None
    return None if match is None else int(match[1]) * (1000 if match[2] else 1) or None


def _wrong(document: Document, path: Path, words: str) -> Invalid:
    return Invalid([Complaint(document.source, document.line_of(path), field_name(path), words)])
