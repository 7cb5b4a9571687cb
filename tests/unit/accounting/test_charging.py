"""Costs by hand: what each workload pays of a node, and what nobody pays."""

from dovetail.accounting.charging import Charges, charge
from dovetail.accounting.days import start_of
from dovetail.model.cost_facts import NANO, CostFacts, Holding, NodePrice, WorkOwner
from dovetail.model.resources import Amounts

DAY = "2026-11-03"
MIDNIGHT = start_of(DAY)
GIB = 2**30


def at(hour: float) -> float:
    return MIDNIGHT + hour * 3600


def price(since: float, usd: float, *, node: str = "n1", currency: str = "USD", running: bool = True) -> NodePrice:
    """A node with 8 cores, 32 GiB and 4 GPUs."""
    return NodePrice(node, at(since), "cloud", currency, round(usd * NANO), running, 8000, 32 * GIB, 4000)


def work(**amounts: Amounts) -> dict[int, WorkOwner]:
    return {int(id_[1:]): WorkOwner("team", id_, "ada", "default", one) for id_, one in amounts.items()}


def paid(charges: Charges, workload: int, currency: str = "USD", day: str = DAY) -> float:
    return charges.work[day, currency, workload] / NANO


def idle(charges: Charges, node: str = "n1", currency: str = "USD", day: str = DAY) -> float:
    key = day, currency, node, "cloud"
    return (charges.total[key] - charges.used[key]) / NANO


HALF = {"cpu": 4000, "memory": 8 * GIB}  # half of the cores, a quarter of the memory
QUARTER = {"cpu": 1000, "memory": 8 * GIB}


def test_a_task_pays_its_largest_share_for_the_time_it_held_the_node() -> None:
    facts = CostFacts([price(0, 2.40)], [Holding(1, "n1", at(1), at(3))], work(w1=HALF))
    found = charge(facts, at(0), at(10))
    assert paid(found, 1) == 2.40  # 2 h × 2.40 × 1/2
    assert idle(found) == 21.60  # 24.00 in ten hours, less that


def test_gpus_count_like_cores() -> None:
    facts = CostFacts([price(0, 4.0)], [Holding(1, "n1", at(0), at(1))], work(w1={"cpu": 1000, "gpu": 3000}))
    assert paid(charge(facts, at(0), at(1)), 1) == 3.0


def test_a_price_that_changes_counts_from_then_on() -> None:
    facts = CostFacts([price(0, 2.0), price(2, 6.0)], [Holding(1, "n1", at(1), None)], work(w1=HALF))
    found = charge(facts, at(0), at(4))
    assert paid(found, 1) == 1.0 + 6.0
    assert idle(found) == 2.0 + 1.0 + 6.0
    assert found.rates["USD", 1] == 3 * NANO
    assert found.node_rates["USD"] == 6 * NANO


def test_a_node_that_left_costs_nothing_more() -> None:
    facts = CostFacts([price(0, 2.0), NodePrice.gone("n1", at(3))], [Holding(1, "n1", at(1), at(3))], work(w1=HALF))
    found = charge(facts, at(0), at(10))
    assert (paid(found, 1), idle(found)) == (2.0, 4.0)
    assert not found.rates
    assert not found.node_rates


def test_where_shares_add_up_to_more_than_the_node_each_pays_its_part() -> None:
    owners = work(w1={"cpu": 8000}, w2={"memory": 32 * GIB})
    facts = CostFacts([price(0, 2.0)], [Holding(1, "n1", at(0), at(2)), Holding(2, "n1", at(1), at(2))], owners)
    found = charge(facts, at(0), at(2))
    assert (paid(found, 1), paid(found, 2), idle(found)) == (3.0, 1.0, 0.0)


def test_a_node_that_is_launched_for_work_costs_only_while_work_holds_it() -> None:
    facts = CostFacts([price(0, 2.0, running=False)], [Holding(1, "n1", at(1), at(2))], work(w1=HALF))
    found = charge(facts, at(0), at(5))
    assert (paid(found, 1), idle(found)) == (1.0, 1.0)


def test_a_day_ends_at_midnight() -> None:
    facts = CostFacts([price(0, 1.0)], [Holding(1, "n1", at(22), at(27))], work(w1=HALF))
    found = charge(facts, at(20), at(28))
    assert (paid(found, 1), paid(found, 1, day="2026-11-04")) == (1.0, 1.5)
    assert (idle(found), idle(found, day="2026-11-04")) == (3.0, 2.5)


def test_currencies_are_kept_apart() -> None:
    prices = [price(0, 2.0), price(0, 4.0, node="n2", currency="EUR")]
    held = [Holding(1, "n1", at(0), at(1)), Holding(1, "n2", at(1), at(2))]
    found = charge(CostFacts(prices, held, work(w1=HALF)), at(0), at(2))
    assert (paid(found, 1), paid(found, 1, "EUR")) == (1.0, 2.0)
    assert (idle(found), idle(found, "n2", "EUR")) == (3.0, 6.0)


def test_a_task_without_requests_pays_nothing() -> None:
    facts = CostFacts([price(0, 2.0)], [Holding(1, "n1", at(0), at(1))], work(w1={"slots": 1}))
    found = charge(facts, at(0), at(1))
    assert (paid(found, 1), idle(found)) == (0.0, 2.0)
