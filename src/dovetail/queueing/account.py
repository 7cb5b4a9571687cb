"""One usage account: what is held now, and an exponentially decayed average of what was held before.

With every half-life the average halves its distance to the present usage, so constant usage gives an average equal to
it. Guarantees: updating in many steps or in one gives the same result, up to rounding. `usage` knows the owners.
"""

from collections.abc import Mapping

from dovetail.model.resources import Amounts


def dominant(amounts: Mapping[str, float], inverse: Mapping[str, float]) -> float:
    """The dominant share: the largest share over all resources. Resources without capacity do not count."""
    best = 0.0
    for name, amount in amounts.items():
        share = amount * inverse.get(name, 0.0)
        if share > best:
            best = share
    return best


class Account:
    """Amounts in smallest units. `average` is valid at `as_of` and has every resource of `used`; it is empty without a
    half-life."""

    __slots__ = ("as_of", "average", "used")

    def __init__(self) -> None:
        self.used: Amounts = {}
        self.average: dict[str, float] = {}
        self.as_of = 0.0

    def change(self, amounts: Mapping[str, int], times: int) -> None:
        """Add `times` the amounts; negative: release them."""
        used = self.used
        for name, amount in amounts.items():
            left = used.get(name, 0) + amount * times
            if left:
                used[name] = left
            else:
                used.pop(name, None)

    def decay_to(self, now: float, half_life_s: float) -> None:
        """Bring the average up to date. Call this before the usage changes."""
        if now <= self.as_of:
            return
        average, used = self.average, self.used
        kept = 0.5 ** ((now - self.as_of) / half_life_s)
        moved = 1.0 - kept
        for name in average:
            average[name] = average[name] * kept + (used[name] * moved if name in used else 0.0)
        self.as_of = now

    def change_with_history(self, amounts: Mapping[str, int], times: int, now: float, half_life_s: float) -> None:
        self.decay_to(now, half_life_s)
        self.change(amounts, times)
        for name in amounts:
            if name not in self.average:
                self.average[name] = 0.0

    def share_with_past(self, inverse: Mapping[str, float], now: float, half_life_s: float) -> float:
        """The dominant share of the mean of present and average usage. Present usage counts, or a tenant could take
        everything before its average moves. With constant usage this is the plain dominant share."""
        if not self.average:
            return 0.0
        kept = 0.5 ** ((now - self.as_of) / half_life_s) if now > self.as_of else 1.0
        present, used, best = 2.0 - kept, self.used, 0.0
        for name, amount in self.average.items():
            share = (amount * kept + used.get(name, 0) * present) * inverse.get(name, 0.0)
            if share > best:
                best = share
        return 0.5 * best
