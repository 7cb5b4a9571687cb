"""One account of use: what is held now, and the decayed average of what was held before.

The average halves its distance to present use with every half-life, so it is an amount like any other: whoever held
the same all the time has an average equal to what it holds. Guarantees: bringing it up to date in many steps or in one
gives the same, up to rounding. Left to others: whose account it is (`usage`).
"""

from collections.abc import Mapping

from dovetail.model.resources import Amounts


def dominant(amounts: Mapping[str, float], inverse: Mapping[str, float]) -> float:
    """The largest of the shares of each resource; a resource nobody has any more does not count."""
    best = 0.0
    for name, amount in amounts.items():
        share = amount * inverse.get(name, 0.0)
        if share > best:
            best = share
    return best


class Account:
    """Amounts in smallest units; `average` is as of `as_of`, has every resource of `used`, and is empty where nothing
    is remembered."""

    __slots__ = ("as_of", "average", "used")

    def __init__(self) -> None:
        self.used: Amounts = {}
        self.average: dict[str, float] = {}
        self.as_of = 0.0

    def change(self, amounts: Mapping[str, int], times: int) -> None:
        """Take `times` the amounts, or give them back where it is negative."""
        used = self.used
        for name, amount in amounts.items():
            left = used.get(name, 0) + amount * times
            if left:
                used[name] = left
            else:
                used.pop(name, None)

    def decay_to(self, now: float, half_life_s: float) -> None:
        """Bring the average up to date; to be called before what is held changes."""
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

    def share(self, inverse: Mapping[str, float]) -> float:
        """The dominant share of what is held now."""
        return dominant(self.used, inverse)

    def share_with_past(self, inverse: Mapping[str, float], now: float, half_life_s: float) -> float:
        """The dominant share of the mean of present and average use. Present use must count, or a tenant could take
        everything before its average has moved; in a steady state this is the plain dominant share."""
        if not self.average:
            return 0.0
        kept = 0.5 ** ((now - self.as_of) / half_life_s) if now > self.as_of else 1.0
        present, used, best = 2.0 - kept, self.used, 0.0
        for name, amount in self.average.items():
            share = (amount * kept + used.get(name, 0) * present) * inverse.get(name, 0.0)
            if share > best:
                best = share
        return 0.5 * best
