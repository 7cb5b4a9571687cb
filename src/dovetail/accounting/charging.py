"""Divides what nodes cost among the work that held them.

At every moment a task pays the price of its node times its share: the largest of its shares of CPU, memory and GPUs.
Where the shares of all tasks on a node add up to more than the node, each pays its part of the sum. What nobody pays is
idle. So work and idle time together are what the machines cost, to the last billionth.

Guarantees: amounts are whole numbers. The sums do not depend on where time is cut into pieces: charging an hour gives
the same as charging its minutes one after another. That is because each amount is the difference of two rounded totals
since 1970, never a rounded difference. Idle time takes the rest, so it may be a billionth or so below nothing.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise

from dovetail.accounting.days import DAY_S, day_of
from dovetail.model.cost_facts import SHARED_RESOURCES, CostFacts, Holding, NodePrice
from dovetail.model.resources import Amounts

MICRO = 10**6
HOUR_US = 3600 * MICRO
DAY_US = DAY_S * MICRO
WHOLE_NODE = 10**12  # shares of a node are whole numbers of this part

WorkKey = tuple[str, str, int]  # day, currency, workload
NodeKey = tuple[str, str, str, str]  # day, currency, node, backend


@dataclass(slots=True)
class Charges:
    """Amounts in billionths of the currency. `rates` are per hour, as they are at the end of the time."""

    work: defaultdict[WorkKey, int] = field(default_factory=lambda: defaultdict(int))
    used: defaultdict[NodeKey, int] = field(default_factory=lambda: defaultdict(int))
    total: defaultdict[NodeKey, int] = field(default_factory=lambda: defaultdict(int))
    rates: defaultdict[tuple[str, int], int] = field(default_factory=lambda: defaultdict(int))  # currency, workload
    node_rates: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))  # currency


def share_of(amounts: Amounts, capacity: Sequence[int]) -> int:
    """The dominant share of a task, in parts of `WHOLE_NODE`. What the node does not have does not count."""
    parts = (
        amounts.get(name, 0) * WHOLE_NODE // most
        for name, most in zip(SHARED_RESOURCES, capacity, strict=True)
        if most > 0
    )
    return min(WHOLE_NODE, max(parts, default=0))


def charge(facts: CostFacts, since: float, until: float) -> Charges:
    """What was charged between two moments."""
    charges, first, last = Charges(), _us(since), _us(until)
    shares: _Shares = {}
    prices: defaultdict[str, list[NodePrice]] = defaultdict(list)
    for price in sorted(facts.prices, key=lambda one: one.at):
        prices[price.node].append(price)
    holdings: defaultdict[str, list[Holding]] = defaultdict(list)
    for holding in facts.holdings:
        holdings[holding.node].append(holding)
    for node, of_node in prices.items():
        ends = [*(_us(one.at) for one in of_node[1:]), last]
        for price, end in zip(of_node, ends, strict=True):
            begin = max(first, _us(price.at))
            if price.price_nanos and begin < min(end, last):
                _Era(price, charges, facts, shares).charge(holdings[node], begin, min(end, last), is_last=end >= last)
    return charges


#: By capacity and by the identity of amounts, which workloads of one shape share.
_Shares = dict[tuple[int, int, int], dict[int, int]]


class _Era:
    """A node while its price and its capacity stay the same."""

    def __init__(self, price: NodePrice, charges: Charges, facts: CostFacts, shares: _Shares) -> None:
        self._price, self._charges, self._facts = price, charges, facts
        self._shares = shares.setdefault(price.capacity, {})
        self._active: dict[int, tuple[int, int]] = {}  # by place in the list: workload, share
        self._since: dict[int, int] = {}  # what was charged up to then
        self._sum = 0

    def charge(self, holdings: Sequence[Holding], begin: int, end: int, *, is_last: bool) -> None:
        starts: defaultdict[int, list[int]] = defaultdict(list)
        stops: defaultdict[int, list[int]] = defaultdict(list)
        for place, holding in enumerate(holdings):
            since = max(begin, _us(holding.since))
            until = end if holding.until is None else min(end, _us(holding.until))
            if since < until:
                starts[since].append(place)
                stops[until].append(place)
        for at, after in pairwise(_cuts(begin, end, [*starts, *stops])):
            before = self._divisor
            for place in stops.get(at, ()):
                self._pay(place, at, before)
                self._sum -= self._active.pop(place)[1]
            came = [(place, holdings[place].workload) for place in starts.get(at, ())]
            joining = [(place, work, self._share(work)) for place, work in came]
            divisor = max(WHOLE_NODE, self._sum + sum(share for _, _, share in joining))
            if divisor != before or at % DAY_US == 0:
                for place in self._active:
                    self._pay(place, at, before)
            for place, work, share in joining:
                self._active[place], self._since[place] = (work, share), at
                self._sum += share
            self._pay_node(at, after)
        for place in self._active:
            self._pay(place, end, self._divisor)
        if is_last:
            ends = ((place, holdings[place].until) for place in stops[end])
            self._note_rates({place for place, until in ends if until is None or _us(until) > end})

    @property
    def _divisor(self) -> int:
        return max(WHOLE_NODE, self._sum)

    def _share(self, workload: int) -> int:
        amounts = self._facts.owners[workload].amounts
        known = self._shares.get(id(amounts))
        if known is None:
            known = self._shares[id(amounts)] = share_of(amounts, self._price.capacity)
        return known

    def _pay(self, place: int, at: int, divisor: int) -> None:
        """Up to now, for as long as nothing has changed."""
        (work, share), since = self._active[place], self._since[place]
        self._since[place] = at
        amount = _between(self._price.price_nanos * share, HOUR_US * divisor, since, at)
        if amount:
            day = _day(since)
            self._charges.work[day, self._price.currency, work] += amount
            self._charges.used[day, self._price.currency, self._price.node, self._price.backend] += amount

    def _pay_node(self, since: int, until: int) -> None:
        """A node that does not run is paid for while work holds it: it is started then."""
        if self._price.running or self._active:
            key = _day(since), self._price.currency, self._price.node, self._price.backend
            self._charges.total[key] += _between(self._price.price_nanos, HOUR_US, since, until)

    def _note_rates(self, go_on: set[int]) -> None:
        price = self._price
        shares = {place: one for place, one in self._active.items() if place in go_on}
        divisor = max(WHOLE_NODE, sum(share for _, share in shares.values()))
        for work, share in shares.values():
            self._charges.rates[price.currency, work] += price.price_nanos * share // divisor
        if price.running or shares:
            self._charges.node_rates[price.currency] += price.price_nanos


def _between(numerator: int, denominator: int, since: int, until: int) -> int:
    return numerator * until // denominator - numerator * since // denominator


def _cuts(begin: int, end: int, inside: Iterable[int]) -> list[int]:
    """All moments at which something changes, and midnights."""
    midnights = range((begin // DAY_US + 1) * DAY_US, end, DAY_US)
    return sorted({begin, end, *midnights, *inside})


def _us(at: float) -> int:
    return round(at * MICRO)


def _day(at_us: int) -> str:
    return _day_called(at_us // DAY_US)


@lru_cache(maxsize=1000)
def _day_called(days: int) -> str:
    return day_of(days * DAY_S)
