"""The cheapest offers of one node that together free enough: branch and bound, after a greedy first answer.

Guarantees: the answer covers what is missing without a needless victim, and is the cheapest unless the search ran out
of steps. Of equal tasks the first are evicted. Deterministic: steps are counted, not timed.
"""

from collections import Counter
from collections.abc import Sequence

from dovetail.placement.preemption.victim_ledger import VictimLedger, VictimOffer

#: A node with more offers than this is left with the greedy answer; its depth would be that of the recursion.
MOST_OFFERS = 64
#: A gang that is broken has given more than any gang may.
_WHOLE_GANG = 1 << 40

Missing = tuple[int, ...]


class RowSearch:
    """`missing` is by needed resource, what the offers must free; `below` is a price that must be beaten."""

    def __init__(
        self, ledger: VictimLedger, offers: Sequence[VictimOffer], missing: Missing, below: int | None, steps: int
    ) -> None:
        self._ledger, self._missing = ledger, missing
        self.steps_left = steps
        self.best: list[VictimOffer] | None = None
        self.possible = True  # whether all offers together would be enough
        self._below = below
        self._chosen: list[VictimOffer] = []
        self._given: Counter[int] = Counter()
        self._used: Counter[int] = Counter()
        self._short = [k for k, amount in enumerate(missing) if amount > 0]
        useful = [offer for offer in offers if any(offer.sizes[k] for k in self._short)]
        self._offers = sorted(useful, key=lambda offer: (self._rate(offer), offer.slot, offer.breaks))

    @property
    def price(self) -> int:
        """Of the best; only where there is one."""
        assert self._below is not None
        return self._below

    def run(self) -> list[VictimOffer] | None:
        """The best set below the price, or None."""
        self.possible = all(sum(o.sizes[k] for o in self._offers) >= self._missing[k] for k in self._short)
        if not self.possible:
            return None
        self._greedy(self._offers)
        if self.best is None:
            self._greedy(sorted(self._offers, key=lambda offer: not offer.breaks))
        if len(self._offers) <= MOST_OFFERS:
            self._prepare()
            self._search(0, self._missing, 0)
        return self.best

    def _rate(self, offer: VictimOffer) -> float:
        """Price for a share of what is missing; a guide for the order, nothing more."""
        share = sum(min(offer.sizes[k], self._missing[k]) / self._missing[k] for k in self._short)
        return offer.weight / share

    # --- what may go together ---------------------------------------------------------------------------------

    def _allowed(self, offer: VictimOffer) -> bool:
        if offer.unit < 0:
            return True
        given = self._given[offer.unit]
        return not given if offer.breaks else given < self._ledger.may_give(offer.unit)

    def _added(self, offer: VictimOffer) -> int:
        """What the offer costs on top of those chosen."""
        if not offer.groups:
            return offer.weight
        after = self._used + Counter(offer.groups)
        return offer.base + self._ledger.overrun(after) - self._ledger.overrun(self._used)

    def _choose(self, offer: VictimOffer) -> None:
        self._chosen.append(offer)
        self._count(offer, 1)

    def _drop(self, offer: VictimOffer) -> None:
        self._chosen.remove(offer)
        self._count(offer, -1)

    def _count(self, offer: VictimOffer, sign: int) -> None:
        if offer.unit >= 0:
            self._given[offer.unit] += sign * (_WHOLE_GANG if offer.breaks else 1)
        for group, victims in offer.groups.items():
            self._used[group] += sign * victims

    def _record(self, price: int) -> None:
        if self._below is None or price < self._below:
            self._below, self.best = price, list(self._chosen)

    # --- greedy ----------------------------------------------------------------------------------------------

    def _greedy(self, offers: Sequence[VictimOffer]) -> None:
        """Take the best rates until enough is free, then spare what is not needed, the most expensive first."""
        left = list(self._missing)
        for offer in offers:
            if all(amount <= 0 for amount in left):
                break
            if self._allowed(offer) and any(offer.sizes[k] and left[k] > 0 for k in self._short):
                self._choose(offer)
                left = [amount - size for amount, size in zip(left, offer.sizes, strict=True)]
        if all(amount <= 0 for amount in left):
            for offer in sorted(self._chosen, key=lambda offer: -offer.weight):
                if all(amount + size <= 0 for amount, size in zip(left, offer.sizes, strict=True)):
                    self._drop(offer)
                    left = [amount + size for amount, size in zip(left, offer.sizes, strict=True)]
            budgets = self._ledger.overrun(self._used) if self._used else 0
            self._record(sum(offer.base for offer in self._chosen) + budgets)
        for offer in list(self._chosen):
            self._drop(offer)

    # --- branch and bound ------------------------------------------------------------------------------------

    def _prepare(self) -> None:
        """By place in the order and by short resource: the best rate, the lowest price, the sum of all that follow."""
        nothing = (0, 0, 0, 0)
        self._tails: list[list[tuple[int, int, int, int]]] = [[nothing] * len(self._short)]
        for offer in reversed(self._offers):
            tail = []
            for k, (price, size, least, total) in zip(self._short, self._tails[-1], strict=True):
                freed, weight = offer.sizes[k], offer.weight
                if freed:
                    if not size or weight * size < price * freed:
                        price, size = weight, freed
                    least = min(least, weight) if least else weight
                tail.append((price, size, least, total + freed))
            self._tails.append(tail)
        self._tails.reverse()
        offers = self._offers
        self._alike = [i > 0 and offer.like(offers[i - 1]) for i, offer in enumerate(offers)]

    def _bound(self, start: int, left: Missing) -> int | None:
        """No set of the offers from `start` on covers this for less; None: all of them together do not."""
        bound = 0
        for k, (price, size, least, total) in zip(self._short, self._tails[start], strict=True):
            need = left[k]
            if need <= 0:
                continue
            if need > total:
                return None
            bound = max(bound, least, -(-price * need // size))
        return bound

    def _search(self, start: int, left: Missing, price: int) -> None:
        for i in range(start, len(self._offers)):
            self.steps_left -= 1
            bound = self._bound(i, left)
            if self.steps_left < 0 or bound is None or (self._below is not None and price + bound >= self._below):
                return
            offer = self._offers[i]
            if (i > start and self._alike[i]) or not self._allowed(offer):
                continue
            if not any(left[k] > 0 and offer.sizes[k] for k in self._short):
                continue
            then = price + self._added(offer)
            if self._below is not None and then >= self._below:
                continue
            after = tuple([amount - size for amount, size in zip(left, offer.sizes, strict=True)])
            self._choose(offer)
            if all(amount <= 0 for amount in after):
                self._record(then)
            else:
                self._search(i + 1, after, then)
            self._drop(offer)
