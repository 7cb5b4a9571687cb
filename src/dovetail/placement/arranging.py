"""Where the tasks of a gang go together: the domain, and the nodes in it.

From the narrowest level that will do to the widest that may be, the domains that hold all tasks are found by sums over
what each node holds; one of them is filled from the inside: into the fewest domains of the next level, into the fewest
of the one below, down to nodes. So tasks that are neighbours in rank are neighbours in the network. Where the tasks do
not come out in whole slices, the last slice is a part of one, and lies together like any other.
Guarantees: pure; it finds an arrangement if and only if there is one, with slices in slices too. Left to others: what
one node holds (`copies`), and everything that is not about the network.
"""

from dataclasses import dataclass

import numpy as np

from dovetail.cluster.arrays import B1, F8
from dovetail.model.asks import Layout
from dovetail.placement.tiers import Tiers

SPREAD = "spread"


@dataclass(frozen=True, slots=True)
class Arranged:
    """The row of each task in order of rank; the tier and the domain that hold them all."""

    rows: tuple[int, ...]
    tier: int
    domain: int


@dataclass(frozen=True, slots=True)
class Unfit:
    """No domain of the widest tier allowed holds all tasks; the one that holds most, and how many."""

    tier: int
    domain: int
    most: int


class Arranger:
    """One gang on one cluster. `copies` is float64[node]: how many of its tasks a node could take."""

    def __init__(self, tiers: Tiers, copies: F8, count: int, layout: Layout) -> None:
        self.tiers = tiers
        self._count = count
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
        self._raw[last] = self._whole[last] = self._beside[last] = tiers[last].sums(copies)
        if self._sizes[last] > 1:
            self._close(last, self._raw[last], self._raw[last], 1)
        for index in range(last - 1, -1, -1):
            self._sum_up(index)

    def _sum_up(self, index: int) -> None:
        below, count = self.tiers[index + 1], self.tiers[index].count
        raw = np.bincount(below.parents, self._whole[index + 1], count).astype(np.float64)
        # The part that is left over goes where it costs least: into a gap, or into the place of a whole slice.
        gap = np.full(count, -np.inf)
        lost = np.where(self._beside[index + 1] >= 0, self._beside[index + 1] - self._whole[index + 1], -np.inf)
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

    def holding(self, tier: int) -> B1:
        """bool[domain]: which domains of a tier hold all tasks."""
        found: B1 = self._beside[tier] >= self._count - self._count % self._sizes[tier]
        return found

    def most(self, tier: int) -> tuple[int, int]:
        """The domain of a tier that holds most, and how many tasks that is; with slices in slices, at least so many."""
        held = self._raw[tier]
        index = tier
        while index < self.tiers.last and self._sizes[index + 1] == self._sizes[tier] > 1:
            index += 1  # where slices of this size are whole: there is the gap for a part of one
        if self._sizes[tier] > 1:
            spare = self._raw[index] - self._whole[index]
            for outer in range(index - 1, tier - 1, -1):
                inner, spare = spare, np.zeros(self.tiers[outer].count)
                np.maximum.at(spare, self.tiers[outer + 1].parents, inner)
            held = self._whole[tier] + spare
        best = int(held.argmax()) if len(held) else 0
        return best, int(held[best]) if len(held) else 0

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
        self._fill(tier, domain, self._count, rows)
        assert len(rows) == self._count, "a domain that holds all takes all"
        return Arranged(tuple(rows), tier, domain)

    # --- filling ---------------------------------------------------------------------------------------------

    def _fill(self, tier: int, domain: int, count: int, rows: list[int]) -> None:
        if tier == self.tiers.last:
            rows += [int(self.tiers[tier].first[domain])] * count
            return
        children = self.tiers[tier + 1].inside(domain)
        size = self._sizes[tier + 1]
        rest = count % size
        whole = self._whole[tier + 1][children]
        taken = (_evenly if self._spread else _tightly)(whole, count - rest, size)
        if rest:
            host = self._host(taken, self._beside[tier + 1][children], whole)
            taken = [(child, share) for child, share in taken if child != host] + [
                (host, rest + sum(share for child, share in taken if child == host))  # ranks end with the part of one
            ]
        for child, share in taken:
            self._fill(tier + 1, int(children[child]), share, rows)

    def _host(self, shares: "Shares", beside: F8, held: F8) -> int:
        """Who takes the part of a slice: one that has some of the tasks already, or else the smallest that can; when
        spreading, whoever has fewest. There is one: if all that could have it are full, another has a whole slice to
        spare, and a part fits where a whole does."""
        taken = np.zeros(len(held))
        for child, share in shares:
            taken[child] = share
        able = np.flatnonzero((beside >= taken) & (beside >= 0))
        if self._spread:
            return int(able[taken[able].argmin()])
        return int(able[(taken[able] > 0).argmax()] if taken[able].any() else able[held[able].argmin()])


Shares = list[tuple[int, int]]


def _tightly(held: F8, count: int, _: int) -> Shares:
    """Into as few as will do: the largest first, and what is then left into the smallest that holds it."""
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
    """As many in each as will do, slice by slice to whoever has fewest."""
    taken = np.zeros(len(held))
    left = count
    while left:
        open_to_it = np.flatnonzero(held - taken >= size)
        fewest = taken[open_to_it].min()
        turn = open_to_it[taken[open_to_it] == fewest][: left // size]
        taken[turn] += size
        left -= size * len(turn)
    return [(int(at), int(taken[at])) for at in np.flatnonzero(taken)]
