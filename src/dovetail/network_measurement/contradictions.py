"""Nodes that are described in one domain and measure like another: a cable in the wrong switch, a label never changed.

A node contradicts its description if it is much nearer to the nodes of another domain than to those of its own, and as
near to them as they are to each other. Only domains with at least two other nodes can be compared, and the node must
have measured some of its own domain itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dovetail.cluster.arrays import F8, Rows
from dovetail.network_measurement.network_map import NetworkMap

#: Much nearer: below this share of the round-trip time, and by so much at least.
MUCH_NEARER, NEARER_BY_US = 0.6, 10.0
#: As near as they are to each other: up to so many times that.
LIKE_THEM = 1.6
FEWEST_OTHERS = 2


@dataclass(frozen=True, slots=True)
class DescriptionContradiction:
    """Median round-trip times to the nodes of both domains, in microseconds."""

    node: str
    level: str
    described: str
    measured: str
    described_rtt_us: float
    measured_rtt_us: float

    def __str__(self) -> str:
        far, near = (f"{us / 1000:.3g} ms" for us in (self.described_rtt_us, self.measured_rtt_us))
        return (
            f"{self.node} is described in {self.level} {self.described} but measures like {self.measured}: "
            f"{near} to {self.measured}, {far} to {self.described}"
        )


def find_contradictions(measured: NetworkMap, level: str, domains: Mapping[str, str]) -> list[DescriptionContradiction]:
    """`domains`: by node, its domain of this level. By name of the node."""
    rows: dict[str, list[int]] = {}
    for row, name in enumerate(measured.names):
        if name in domains:
            rows.setdefault(domains[name], []).append(row)
    members = {domain: np.array(ones, dtype=np.intp) for domain, ones in rows.items()}
    rtt = measured.rtt_us.astype(np.float64)
    usual = {domain: _inside(rtt, ones) for domain, ones in members.items() if len(ones) >= FEWEST_OTHERS}
    found = [
        one
        for domain, ones in members.items()
        if len(ones) > FEWEST_OTHERS
        for row in ones.tolist()
        if (one := _compare(measured, rtt, row, level, domain, members, usual)) is not None
    ]
    return sorted(found, key=lambda one: one.node)


def _compare(
    measured: NetworkMap,
    rtt: F8,
    row: int,
    level: str,
    domain: str,
    members: Mapping[str, Rows],
    usual: Mapping[str, float],
) -> DescriptionContradiction | None:
    others = members[domain][members[domain] != row]
    if measured.measured[row, others].sum() < FEWEST_OTHERS:
        return None
    own = _median(rtt[row, others])
    others_of = [one for one in usual if one != domain]
    if not others_of:
        return None
    nearest = min(others_of, key=lambda one: _median(rtt[row, members[one]]))
    there = _median(rtt[row, members[nearest]])
    if there < MUCH_NEARER * own and own - there > NEARER_BY_US and there <= LIKE_THEM * usual[nearest]:
        return DescriptionContradiction(measured.names[row], level, domain, nearest, own, there)
    return None


def _inside(rtt: F8, rows: Rows) -> float:
    return _median(rtt[np.ix_(rows, rows)][np.triu_indices(len(rows), 1)])


def _median(values: F8) -> float:
    """Infinite where nothing is known, and where there is no way."""
    known = values[~np.isnan(values)]
    return float(np.median(known)) if len(known) else float("inf")
