"""Whatever happens to nodes and work: work and idle time together are what the machines cost, and it makes no
difference when costs are added up."""

from collections import Counter, defaultdict
from fractions import Fraction
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from dovetail.accounting.charging import Charges, charge
from dovetail.accounting.days import start_of
from dovetail.model.cost_facts import CostFacts, Holding, NodePrice, WorkOwner

FIRST = start_of("2026-11-03") - 3600  # so that midnight is among them
LAST = FIRST + 7200
moments = st.integers(0, 7200 * 1000).map(lambda milliseconds: FIRST + milliseconds / 1000)
nodes = st.sampled_from(["n1", "n2"])


@st.composite
def prices(draw: st.DrawFn) -> list[NodePrice]:
    found = {}
    for _ in range(draw(st.integers(0, 8))):
        one = NodePrice(
            draw(nodes),
            draw(moments),
            "cloud",
            draw(st.sampled_from(["USD", "EUR"])),
            draw(st.sampled_from([0, 1, 7, 333_333_333, 2_400_000_000, 98_765_432_109])),
            draw(st.booleans()),
            *(draw(st.sampled_from([0, 1, 3, 7000])) for _ in range(3)),
        )
        found[one.node, one.at] = one
    return list(found.values())


@st.composite
def lifecycles(draw: st.DrawFn) -> CostFacts:
    """Workloads hold nodes, one after another or several at once, for longer than the time that is looked at."""
    holdings, owners = [], {}
    for id_ in range(1, draw(st.integers(0, 6)) + 1):
        amounts = {name: draw(st.integers(0, 5)) for name in ("cpu", "memory", "gpu")}
        owners[id_] = WorkOwner("team", f"w{id_}", "", "", amounts)
        for _ in range(draw(st.integers(1, 3))):
            since, until = draw(moments), draw(st.none() | moments)
            if until is None or since <= until:
                holdings.append(Holding(id_, draw(nodes), since, until))
    return CostFacts(draw(prices()), holdings, owners)


def by_hand(facts: CostFacts) -> tuple[dict[str, Fraction], dict[tuple[str, int], Fraction]]:
    """Exact billionths, moment by moment: what machines cost by currency, and what each workload pays."""
    ends = [LAST if one.until is None else one.until for one in facts.holdings]
    inside = [*(one.at for one in facts.prices), *(one.since for one in facts.holdings), *ends]
    machines: defaultdict[str, Fraction] = defaultdict(Fraction)
    work: defaultdict[tuple[str, int], Fraction] = defaultdict(Fraction)
    for begin, end in pairwise(sorted({FIRST, LAST, *inside})):
        hours = Fraction(round(end * 1e6) - round(begin * 1e6), 3600 * 10**6)
        for node in ("n1", "n2"):
            known = [one for one in facts.prices if one.node == node and one.at <= begin]
            here = [
                one
                for one, until in zip(facts.holdings, ends, strict=True)
                if one.node == node and one.since <= begin and end <= until
            ]
            price = max(known, key=lambda one: one.at, default=None)
            if price is None or not (price.running or here):
                continue
            cost = price.price_nanos * hours
            machines[price.currency] += cost
            shares = [(one.workload, _share(facts.owners[one.workload], price)) for one in here]
            whole = max(Fraction(1), sum((share for _, share in shares), Fraction(0)))
            for workload, share in shares:
                work[price.currency, workload] += cost * share / whole
    return machines, work


def _share(owner: WorkOwner, price: NodePrice) -> Fraction:
    asked = [owner.amounts[name] for name in ("cpu", "memory", "gpu")]
    parts = [Fraction(one, most) for one, most in zip(asked, price.capacity, strict=True) if most]
    return min(Fraction(1), max(parts, default=Fraction(0)))


@examples(200)
@given(lifecycles())
def test_work_and_idle_time_are_what_the_machines_cost(facts: CostFacts) -> None:
    charges = charge(facts, FIRST, LAST)
    work, used, total = Counter[tuple[str, int]](), Counter[str](), Counter[str]()
    for (_, currency, workload), nanos in charges.work.items():
        work[currency, workload] += nanos
    for (_, currency, _, _), nanos in charges.used.items():
        used[currency] += nanos
    for (_, currency, _, _), nanos in charges.total.items():
        total[currency] += nanos
    machines, exact = by_hand(facts)
    cuts = 4 + len(facts.prices) + 2 * len(facts.holdings)  # a billionth each, at most
    for currency in ("USD", "EUR"):
        assert sum(nanos for (of, _), nanos in work.items() if of == currency) == used[currency]
        assert abs(total[currency] - machines[currency]) <= 2 * cuts
        assert used[currency] <= total[currency] + cuts * len(facts.holdings)
    for key in {*work, *exact}:
        assert abs(work[key] - exact[key]) <= cuts * len(facts.holdings)


@examples(200)
@given(lifecycles(), st.lists(moments, max_size=6))
def test_sums_do_not_depend_on_when_they_are_made(facts: CostFacts, cuts: list[float]) -> None:
    """As a server does that is killed and started again: each piece is charged from the facts of its own time."""
    whole, pieces = charge(facts, FIRST, LAST), Charges()
    ends = [*sorted(cuts), LAST]
    for since, until in zip([FIRST, *ends], ends, strict=False):
        piece = charge(_between(facts, since, until), since, until)
        for name in ("work", "used", "total"):
            for key, nanos in getattr(piece, name).items():
                getattr(pieces, name)[key] += nanos
    for name in ("work", "used", "total"):
        assert {key: nanos for key, nanos in getattr(pieces, name).items() if nanos} == {
            key: nanos for key, nanos in getattr(whole, name).items() if nanos
        }


def _between(facts: CostFacts, since: float, until: float) -> CostFacts:
    """What the store tells of that time, and no more."""
    first: dict[str, NodePrice] = {}
    for one in sorted(facts.prices, key=lambda price: price.at):
        if one.at <= since:
            first[one.node] = one
    later = [one for one in facts.prices if since < one.at < until]
    held = [one for one in facts.holdings if one.since < until and (one.until is None or one.until > since)]
    return CostFacts([*first.values(), *later], held, facts.owners)
