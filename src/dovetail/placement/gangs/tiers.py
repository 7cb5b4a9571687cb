"""Nested domains: the levels that matter to a gang as arrays, widest first, ending with the single node.

Guarantees: each domain lies in one domain of the tier before it, whatever the labels say: where two nodes of one rack
carry different zones, that rack is two domains. The first tier is the whole cluster. A level that no layout asks for is
left out if, because some nodes lack its label, it would split a domain of a level that is asked for. Tiers are computed
once and kept until nodes join, leave or are redefined, or the topology changes.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dovetail.cluster.arrays import F8, Rows
from dovetail.cluster.labels import ABSENT, LabelColumn
from dovetail.cluster.network.domains import SINGLE, domain_codes, level_column
from dovetail.cluster.network.levels import present_levels
from dovetail.cluster.network.uplinks import limited_uplinks
from dovetail.cluster.state import Cluster
from dovetail.model.workloads.affinity import HOST

EVERYWHERE = ""
Codes = npt.NDArray[np.intp]
_KEPT = 64


@dataclass(frozen=True, slots=True)
class Tier:
    """`codes` is intp[node], from 0; `parents` intp[domain]: its domain in the tier before; `first` intp[domain]: its
    lowest row."""

    level: str
    codes: Codes
    parents: Codes
    first: Codes
    count: int
    _by_parent: Codes  # domains, those of one parent together
    _starts: Codes  # intp[parent + 1]: where those of each begin

    def sums(self, values: F8) -> F8:
        """float64[domain]: the sum over each domain of one value a node."""
        return np.bincount(self.codes, values, self.count).astype(np.float64)

    def inside(self, parent: int) -> Rows:
        """The domains that lie in one of the tier before."""
        return self._by_parent[self._starts[parent] : self._starts[parent + 1]]


class Tiers:
    """`at(level)`: the tier of a level, by any of its names; that of single nodes where no node carries its label."""

    def __init__(self, tiers: tuple[Tier, ...], index: Mapping[str, int]) -> None:
        self._tiers, self._index = tiers, index

    @property
    def last(self) -> int:
        return len(self._tiers) - 1

    def at(self, level: str) -> int:
        return self._index.get(level, self.last)

    def is_carried(self, level: str) -> bool:
        """Does any node carry a label of the level?"""
        return level in self._index

    def __getitem__(self, index: int) -> Tier:
        return self._tiers[index]

    def __len__(self) -> int:
        return len(self._tiers)

    def __iter__(self) -> Iterator[Tier]:
        return iter(self._tiers)


class TierTable:
    """The tiers of one cluster, for any requested levels."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._as_of = (-1, -1)
        self._kept: dict[tuple[str, ...], Tiers] = {}

    def of(self, asked: tuple[str, ...] = ()) -> Tiers:
        as_of = (self._cluster.generation, self._cluster.topology.version)
        if self._as_of != as_of or len(self._kept) > _KEPT:
            self._as_of = as_of
            self._kept.clear()
        found = self._kept.get(asked)
        if found is None:
            found = self._kept[asked] = tiers_of(self._cluster, asked)
        return found


def tiers_of(cluster: Cluster, asked: tuple[str, ...] = ()) -> Tiers:
    """The whole cluster, the levels that nodes carry or that are requested (widest first), and single nodes."""
    n = cluster.width
    names: dict[int, list[str]] = {}  # one label under two names is one level
    columns: dict[int, LabelColumn] = {}
    ordered = [name for one in present_levels(cluster) for name in (one.name, one.level.key)]
    for level in dict.fromkeys((*ordered, *asked)):
        column = level_column(cluster, level)
        if column is not None and column.codes[:n].any():
            names.setdefault(id(column), []).append(level)
            columns[id(column)] = column
    wanted = [columns[key] for key, called in names.items() if any(level in asked for level in called)]
    for key, column in list(columns.items()):
        if all(column is not one for one in wanted) and any(_splits(column, one, n) for one in wanted):
            del columns[key]
    tiers = [_tier(EVERYWHERE, None, np.zeros(n, dtype=np.intp))]
    index: dict[str, int] = {}
    for key in _widest_first(columns, {key for key in columns if names[key][0] in ordered}, n):
        called = names[key]
        index.update(dict.fromkeys(called, len(tiers)))
        name = next((level for level in asked if level in called), called[0])
        tiers.append(_tier(name, tiers[-1], domain_codes(cluster, name)))
    tiers.append(_tier(HOST, tiers[-1], np.arange(n)))
    index.update(dict.fromkeys(SINGLE, len(tiers) - 1))
    return Tiers(tuple(tiers), index)


def _widest_first(columns: Mapping[int, LabelColumn], ordered: set[int], n: int) -> list[int]:
    """Levels that are described, or have well-known names, in their order; others between them by the size of a
    domain."""
    sizes: dict[int, float] = {}
    narrowest = np.inf
    for key, column in columns.items():
        sizes[key] = _mean_size(column, n)
        if key in ordered:  # racks of one name in many zones look larger than zones, and are not
            sizes[key] = narrowest = min(sizes[key], narrowest)
    return sorted(columns, key=lambda key: -sizes[key])


def _tier(level: str, outer: Tier | None, codes: Codes) -> Tier:
    """The domains of a level, cut where those of the tier before end."""
    outside = np.zeros(len(codes), dtype=np.intp) if outer is None else outer.codes
    width = int(codes.max()) + 1 if len(codes) else 1
    _, first, nested = np.unique(outside * width + codes, return_index=True, return_inverse=True)
    parents = outside[first]
    starts = np.searchsorted(np.sort(parents), np.arange((1 if outer is None else outer.count) + 1))
    return Tier(level, nested, parents, first, len(first), np.argsort(parents, kind="stable"), starts)


def _mean_size(column: LabelColumn, n: int) -> float:
    """Mean number of nodes of a domain. Nodes without the label are left out: a few of them would make any level look
    narrow."""
    codes = column.codes[:n]
    carried = codes[codes > 0]
    return len(carried) / len(np.unique(carried))


def _splits(level: LabelColumn, asked: LabelColumn, n: int) -> bool:
    """Would this level split a domain of a requested level, because only one of two nodes there has its label?"""
    inner, outer = asked.codes[:n], level.codes[:n]
    lacking = inner[(outer == 0) & (inner > 0)]
    return bool((np.bincount(inner[inner > 0], minlength=1)[lacking] > 1).any()) if len(lacking) else False


class UplinkCapacity:
    """How many tasks of a new gang each domain can take if others of the gang are outside.

    `mbps` is what every task can send to the others at once. With k tasks inside a domain and others outside, its
    uplinks carry k times that; with all tasks inside, they carry nothing. `tasks` is, by tier, float64[domain]: how
    many tasks the uplinks of each domain have bandwidth for, infinite where that is unknown; `left_mbps` what they have
    left. One more task of a gang that runs already is left to `filters.bandwidth`.
    """

    def __init__(self, cluster: Cluster, tiers: Tiers, mbps: int) -> None:
        self.left_mbps: list[F8] = [np.full(tier.count, np.inf) for tier in tiers]
        self.is_whole = True  # every level at which links set a limit is among the tiers
        for uplinks in limited_uplinks(cluster):
            if uplinks.level != HOST and not tiers.is_carried(uplinks.level):
                self.is_whole = False
                continue
            at = tiers.at(uplinks.level)
            codes = uplinks.codes[tiers[at].first]
            left = np.maximum(uplinks.left_mbps[codes], 0.0)
            if uplinks.level != HOST:
                # A label that is carried in two wider domains is two domains here; they share what is known of one.
                sharing = np.bincount(codes)[codes]
                left = np.where(codes == ABSENT, np.inf, left / sharing)
            self.left_mbps[at] = np.minimum(self.left_mbps[at], left)
        self.tasks: list[F8] = [np.floor(left / mbps) for left in self.left_mbps]
        self.sets_limits = any(np.isfinite(tasks).any() for tasks in self.tasks)
