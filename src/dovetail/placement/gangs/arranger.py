"""Arranges the tasks of a gang in the network: chooses the domain, and the nodes in it.

From the narrowest acceptable level to the widest, sums over what each node can hold find the domains that hold all
tasks. One of them is filled from the inside: into the fewest domains of the next level, those into the fewest of the
level below, down to nodes. So tasks with neighbouring ranks are neighbours in the network. If the tasks do not divide
into whole slices, the last slice is smaller and lies together like any other. Where the uplinks of a domain carry only
so much, the domain takes no more tasks than they allow (`uplinks`), unless it takes all of them.
Guarantees: pure; it finds an arrangement if and only if there is one, with nested slices and uplinks too.
Left to others: what one node holds (`copies`), what links have left, and everything that is not about the network.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dovetail.cluster.arrays import B1, F8
from dovetail.model.requests.asks import Layout
from dovetail.placement.gangs.tiers import Tiers

SPREAD = "spread"


@dataclass(frozen=True, slots=True)
class Arranged:
    """The row of each task in order of rank; the tier and the domain that hold them all."""

    rows: tuple[int, ...]
    tier: int
    domain: int


@dataclass(frozen=True, slots=True)
class Unfit:
    """No domain of the widest allowed tier holds all tasks: the one that holds most, and how many."""

    tier: int
    domain: int
    most: int


class Arranger:
    """One gang on one cluster. `copies` is float64[node]: how many of its tasks a node could take. `uplinks` is, by
    tier, float64[domain]: how many of them the uplinks of each domain allow there while others are outside."""

    def __init__(
        self, tiers: Tiers, copies: F8, count: int, layout: Layout, uplinks: Sequence[F8] | None = None
    ) -> None:
        self.tiers = tiers
        self._count = count
        self._uplinks = uplinks
        self._spread = layout.strategy == SPREAD
        self.widest = 0 if layout.required is None else tiers.at(layout.required)
        last = tiers.last
        if layout.preferred is not None:
            self.narrowest = max(tiers.at(layout.preferred), self.widest)
        else:
            self.narrowest = self.widest if self._spread else last  # a narrower domain would only crowd it
        self._sizes = [1] * len(tiers)  # by tier: down to here tasks come in multiples of so many
        for size, level in layout.slices:
            for index in range(tiers.at(level) + 1):
                self._sizes[index] = max(self._sizes[index], size)
        # By tier, float64[domain]. What each domain holds: in whole slices of the next tier, in whole slices of its
        # own, and in those beside the part of one that is left over (below 0 where that does not fit at all).
        self._raw: list[F8] = [copies] * len(tiers)
        self._whole: list[F8] = [copies] * len(tiers)
        self._beside: list[F8] = [copies] * len(tiers)
        # Of the last two, what it has for a gang that is not all inside: as much as its links up allow.
        self._whole_offered: list[F8] = [copies] * len(tiers)
        self._beside_offered: list[F8] = [copies] * len(tiers)
        self._holding: list[B1] = [np.zeros(0, dtype=np.bool_)] * len(tiers)
        self._raw[last] = self._whole[last] = self._beside[last] = tiers[last].sums(copies)
        if self._sizes[last] > 1:
            self._close(last, self._raw[last], self._raw[last], 1)
        self._offer(last)
        for index in range(last - 1, -1, -1):
            self._sum_up(index)
            self._offer(index)

    def _sum_up(self, index: int) -> None:
        below, count = self.tiers[index + 1], self.tiers[index].count
        whole, beside = self._whole_offered[index + 1], self._beside_offered[index + 1]
        raw = np.bincount(below.parents, whole, count).astype(np.float64)
        # The part that is left over goes where it costs least: into a gap, or into the place of a whole slice.
        gap = np.full(count, -np.inf)
        lost = np.where(beside >= 0, beside - whole, -np.inf)
        np.maximum.at(gap, below.parents, lost)
        self._close(index, raw, raw + gap, self._sizes[index + 1])

    def _close(self, index: int, raw: F8, beside: F8, inner: int) -> None:
        size = self._sizes[index]
        self._raw[index] = raw
        if size == inner:
            self._whole[index], self._beside[index] = raw, beside
            return
        self._whole[index] = np.floor(raw / size) * size
        left = beside - (self._count % size - self._count % inner)
        self._beside[index] = np.where(left >= 0, np.floor(left / size) * size, -np.inf)

    def _offer(self, index: int) -> None:
        size = self._sizes[index]
        self._holding[index] = self._beside[index] >= self._count - self._count % size
        self._whole_offered[index], self._beside_offered[index] = self._whole[index], self._beside[index]
        if self._uplinks is None:
            return
        if index < self.tiers.last:  # what is all in one domain inside sends nothing out of that
            below = self.tiers[index + 1]
            self._holding[index][below.parents[self._holding[index + 1]]] = True
        allowed, part = self._uplinks[index], self._count % size
        self._whole_offered[index] = np.minimum(self._whole[index], _multiple(allowed, size))
        beside = np.minimum(self._beside[index], _multiple(allowed - part, size))
        self._beside_offered[index] = np.where(beside >= 0, beside, -np.inf)

    def holding(self, tier: int) -> B1:
        """bool[domain]: which domains of a tier hold all tasks."""
        return self._holding[tier]

    def most(self, tier: int) -> tuple[int, int]:
        """The domain of a tier that holds most, and how many tasks that is; with nested slices, a lower bound."""
        held = self._held(tier)
        if self._uplinks is not None:
            # A smaller gang may find more room all in one domain inside than in several with links between them.
            inside = self._held(self.tiers.last)
            for index in range(self.tiers.last - 1, tier - 1, -1):
                outer = self._held(index)
                np.maximum.at(outer, self.tiers[index + 1].parents, inside)
                inside = outer
            held = inside
        best = int(held.argmax()) if len(held) else 0
        return best, int(held[best]) if len(held) else 0

    def _held(self, tier: int) -> F8:
        """float64[domain]: tasks of a gang that is spread over the inside of each domain."""
        held = self._raw[tier]
        index = tier
        while index < self.tiers.last and self._sizes[index + 1] == self._sizes[tier] > 1:
            index += 1  # where slices of this size are whole: there is the gap for a part of one
        if self._sizes[tier] > 1:
            spare = self._raw[index] - self._whole[index]
            for inner in range(index, tier, -1):
                if self._uplinks is not None:  # every domain on the way out has to carry it too
                    spare = np.clip(self._uplinks[inner] - self._whole_offered[inner], 0.0, spare)
                offered, spare = spare, np.zeros(self.tiers[inner - 1].count)
                np.maximum.at(spare, self.tiers[inner].parents, offered)
            held = self._whole[tier] + spare
        return held.copy()

    def tightest_uplink(self, tier: int, domain: int) -> tuple[int, int] | None:
        """Inside a domain, the tier and the domain whose uplinks exclude most tasks; None: no uplink excludes any."""
        found, most = None, 0.0
        if self._uplinks is not None:
            around = self.tiers[tier].codes
            for index in range(tier + 1, len(self.tiers)):
                kept_away = self._whole[index] - self._whole_offered[index]
                kept_away[around[self.tiers[index].first] != domain] = 0.0
                if len(kept_away) and kept_away.max() > most:
                    found, most = (index, int(kept_away.argmax())), float(kept_away.max())
        return found

    def tier_reached(self) -> int | None:
        """The narrowest tier allowed of which some domain holds all."""
        for tier in range(self.narrowest, self.widest - 1, -1):
            if self.holding(tier).any():
                return tier
        return None

    def unfit(self) -> Unfit:
        domain, held = self.most(self.widest)
        return Unfit(self.widest, domain, held)

    def arranged(self, tier: int, domain: int) -> Arranged:
        rows: list[int] = []
        self._fill(*self._inmost(tier, domain), self._count, rows)
        assert len(rows) == self._count, "a domain that holds all takes all"
        return Arranged(tuple(rows), tier, domain)

    # --- filling ---------------------------------------------------------------------------------------------

    def _inmost(self, tier: int, domain: int) -> tuple[int, int]:
        """Where links set limits: the domain inside that takes all tasks, the smallest that can, as long as there is
        one; when spreading, only if there is no other way."""
        while self._uplinks is not None and tier < self.tiers.last:
            if self._spread and self._beside[tier][domain] >= self._count - self._count % self._sizes[tier]:
                break
            children = self.tiers[tier + 1].inside(domain)
            able = children[self._holding[tier + 1][children]]
            if not len(able):
                break
            tier, domain = tier + 1, int(able[self._whole[tier + 1][able].argmin()])
        return tier, domain

    def _fill(self, tier: int, domain: int, count: int, rows: list[int]) -> None:
        if tier == self.tiers.last:
            rows += [int(self.tiers[tier].first[domain])] * count
            return
        children = self.tiers[tier + 1].inside(domain)
        size = self._sizes[tier + 1]
        rest = count % size
        whole = self._whole_offered[tier + 1][children]
        taken = (_evenly if self._spread else _tightly)(whole, count - rest, size)
        if rest:
            host = self._host(taken, self._beside_offered[tier + 1][children], whole)
            taken = [(child, share) for child, share in taken if child != host] + [
                (host, rest + sum(share for child, share in taken if child == host))  # ranks end with the part of one
            ]
        for child, share in taken:
            self._fill(tier + 1, int(children[child]), share, rows)

    def _host(self, shares: "Shares", beside: F8, held: F8) -> int:
        """Who takes the part of a slice: one that has some of the tasks already, or else the smallest that can; when
        spreading, the one that has fewest. There is one: if all that could have it are full, another has a whole slice
        to spare, and a part fits where a whole does."""
        taken = np.zeros(len(held))
        for child, share in shares:
            taken[child] = share
        able = np.flatnonzero((beside >= taken) & (beside >= 0))
        if self._spread:
            return int(able[taken[able].argmin()])
        return int(able[(taken[able] > 0).argmax()] if taken[able].any() else able[held[able].argmin()])


Shares = list[tuple[int, int]]


def _multiple(allowed: F8, size: int) -> F8:
    """The largest multiple of the size that is not above it."""
    found: F8 = np.floor(allowed / size) * size
    return found


def _tightly(held: F8, count: int, _: int) -> Shares:
    """Into as few as possible: the largest first, and the rest into the smallest that holds it."""
    if not count:
        return []
    order = np.argsort(-held, kind="stable")
    before = np.concatenate(([0.0], np.cumsum(held[order])))
    full = int(np.flatnonzero(held[order] >= count - before[:-1])[0])  # so many are filled up
    left = count - int(before[full])
    others = order[full:]
    enough = others[held[others] >= left]
    last = int(enough[held[enough].argmin()])
    return [*((int(at), int(held[at])) for at in order[:full]), (last, left)]


def _evenly(held: F8, count: int, size: int) -> Shares:
    """As evenly as possible, slice by slice to the one with the fewest."""
    taken = np.zeros(len(held))
    left = count
    while left:
        open_to_it = np.flatnonzero(held - taken >= size)
        fewest = taken[open_to_it].min()
        turn = open_to_it[taken[open_to_it] == fewest][: left // size]
        taken[turn] += size
        left -= size * len(turn)
    return [(int(at), int(taken[at])) for at in np.flatnonzero(taken)]
