"""Levels found in measured distances, for a network that nobody describes.

Nodes are joined into larger and larger clusters, the nearest first, each at the mean distance of its parts (average
linkage). Where one joining is much farther than the one before, the clusters below it are the domains of a level.
Guarantees: domains of a level share no node and lie inside those of the wider levels. Nodes that are near to no other
are in no domain. Left to others: whether the levels are accepted.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dovetail.cluster.arrays import F8, Rows
from dovetail.cluster.network.path import FARTHEST
from dovetail.model.network.topology import tier_name
from dovetail.network_measurement.network_map import NetworkMap

#: A gap between two joinings that is worth a level: so many times as far, and so many points at least.
GAP_RATIO, GAP_POINTS = 1.4, 3.0
MOST_LEVELS = 3
#: A level that leaves more nodes alone than that is none.
MOST_ALONE = 0.5
_NEAREST = 0.5  # points; two nodes on one switch may be 0 apart


@dataclass(frozen=True, slots=True)
class FoundDomain:
    """`inside`: the domain of the next wider level, or none. `distance`: the mean between two of its nodes."""

    name: str
    nodes: tuple[str, ...]
    inside: str | None
    distance: float


@dataclass(frozen=True, slots=True)
class FoundLevel:
    """`gap`: how many times farther nodes of different domains are than those of one."""

    name: str
    domains: tuple[FoundDomain, ...]
    gap: float


def discover_levels(measured: NetworkMap) -> list[FoundLevel]:
    """Widest first; none where all nodes are about equally far from each other."""
    if len(measured.names) < 3:
        return []
    from scipy.cluster.hierarchy import fcluster, linkage  # only where somebody asks
    from scipy.spatial.distance import squareform

    apart = np.nan_to_num(measured.distance.astype(np.float64), nan=FARTHEST)
    tree = linkage(squareform(apart, checks=False), method="average")
    found: list[FoundLevel] = []
    outside: Rows | None = None
    cuts = sorted(_cuts(tree[:, 2]), key=lambda cut: -cut[0])
    for height, gap in cuts:
        codes = fcluster(tree, height, criterion="distance").astype(np.intp)
        alone = np.bincount(codes)[codes] == 1
        if alone.mean() > MOST_ALONE:
            continue
        name = tier_name(len(cuts) - 1 - cuts.index((height, gap)))
        wider = found[-1] if found else None
        domains = _domains(name, measured.names, codes, apart, wider, outside)
        if len(domains) > 1:
            found.append(FoundLevel(name, tuple(domains), gap))
            outside = codes
    return _renamed(found)


def _cuts(heights: F8) -> list[tuple[float, float]]:
    """Where to cut, and how large the gap is: the largest gaps, in no order."""
    ordered = np.maximum(np.sort(heights), _NEAREST)
    ratio, points = ordered[1:] / ordered[:-1], ordered[1:] - ordered[:-1]
    worth = np.flatnonzero((ratio >= GAP_RATIO) & (points >= GAP_POINTS))
    largest = worth[np.argsort(-ratio[worth], kind="stable")][:MOST_LEVELS]
    return [(float(np.sqrt(ordered[one] * ordered[one + 1])), float(ratio[one])) for one in largest.tolist()]


def _domains(
    level: str, names: Sequence[str], codes: Rows, apart: F8, wider: FoundLevel | None, outside: Rows | None
) -> list[FoundDomain]:
    found: list[FoundDomain] = []
    around = {} if wider is None else {node: one.name for one in wider.domains for node in one.nodes}
    first = {code: int(np.flatnonzero(codes == code)[0]) for code in np.unique(codes).tolist()}
    for code in sorted(first, key=lambda one: first[one]):
        rows = np.flatnonzero(codes == code)
        if len(rows) < 2 or (outside is not None and len(rows) == (outside == outside[rows[0]]).sum() == len(names)):
            continue
        between = apart[np.ix_(rows, rows)][np.triu_indices(len(rows), 1)]
        members = tuple(names[row] for row in rows.tolist())
        found.append(
            FoundDomain(f"{level}-{len(found) + 1}", members, around.get(members[0]), round(float(between.mean()), 1))
        )
    return found


def _renamed(levels: list[FoundLevel]) -> list[FoundLevel]:
    """The narrowest is the leaf, however many cuts were no level."""
    found: list[FoundLevel] = []
    called: dict[str, str] = {}
    for place, level in enumerate(levels):
        name = tier_name(len(levels) - 1 - place)
        domains = []
        for number, one in enumerate(level.domains, 1):
            inside = None if one.inside is None else called[one.inside]
            domains.append(FoundDomain(f"{name}-{number}", one.nodes, inside, one.distance))
        called = {old.name: new.name for old, new in zip(level.domains, domains, strict=True)}
        found.append(FoundLevel(name, tuple(domains), level.gap))
    return found


def as_topology(levels: Sequence[FoundLevel]) -> dict[str, Any]:
    """As `dovetail topology set` reads it. It says nothing about speeds: distances stay the measured ones."""
    nodes: dict[str, dict[str, str]] = {}
    for level in levels:
        for domain in level.domains:
            for node in domain.nodes:
                nodes.setdefault(node, {})[level.name] = domain.name
    return {"levels": [{"name": level.name} for level in levels], "nodes": nodes}
