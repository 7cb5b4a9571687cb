"""Fairness through the real engine: what tenants hold over time on a saturated cluster, with mixed shapes.

Order fair, backfilling as it comes; work ends after random times, long before what was declared.
"""

import pytest
from tests.property.market import Market, Shape, Tenant

from dovetail.engine.settings import EngineSettings

CPU_HEAVY: list[Shape] = [{"cpu": 1, "memory": "1GiB"}, {"cpu": 2, "memory": "2GiB"}]
MEMORY_HEAVY: list[Shape] = [{"cpu": "500m", "memory": "4GiB"}, {"cpu": 1, "memory": "8GiB"}]
MIXED = [*CPU_HEAVY, *MEMORY_HEAVY]
SATURATED_FROM, UNTIL = 250.0, 700.0
NODES = 8


def settings(**weights: float) -> EngineSettings:
    profile = {"order": "fair", "scores": {"best_fit": 1}, "preemption": False}
    return EngineSettings.model_validate(
        {"default_profile": "fair", "profiles": {"fair": profile}, "fair": {"weights": weights}}
    )


@pytest.mark.parametrize("declared", [True, False], ids=["run times declared", "no run times"])
def test_two_tenants_of_two_to_one_hold_two_to_one_within_two_per_cent(declared: bool) -> None:
    tenants = [Tenant("a", MIXED, 12), Tenant("b", MIXED, 12)]
    market = Market(settings(a=2, b=1), tenants, nodes=NODES, declared=declared)
    market.run(UNTIL, SATURATED_FROM)
    shares = market.shares()
    assert shares["a"] + shares["b"] > 0.95, "the cluster is full"
    assert shares["a"] / shares["b"] == pytest.approx(2.0, rel=0.02)


def test_dominant_shares_count_where_each_tenant_is_short_of_another_resource() -> None:
    tenants = [Tenant("a", [{"cpu": 1, "memory": "1GiB"}], 12), Tenant("b", [{"cpu": 1, "memory": "8GiB"}], 12)]
    market = Market(settings(a=2, b=1), tenants, nodes=NODES)
    market.run(UNTIL, SATURATED_FROM)
    shares = market.shares()
    assert shares["a"] / shares["b"] == pytest.approx(2.0, rel=0.02)
    assert shares["a"] + shares["b"] > 1.0, "they are short of different things, so together they hold more than one"


def test_a_tenant_that_comes_late_reaches_its_share_and_nobody_starves() -> None:
    tenants = [Tenant("a", MIXED, 12), Tenant("b", MIXED, 12), Tenant("late", MIXED, 12, comes_at=300.0)]
    market = Market(settings(a=2, b=1, late=1), tenants, nodes=NODES)
    market.run(300.0)
    assert market.shares()["late"] == 0.0
    market.start_measuring_anew()
    market.run(900.0, 500.0)
    shares = market.shares()
    assert shares["late"] == pytest.approx(shares["b"], rel=0.04)
    assert shares["a"] == pytest.approx(2 * shares["b"], rel=0.04)
    longest_s = {name: max(waits) for name, waits in market.waits_s.items()}
    turnover_s = 12 * market.mean_s  # one task after the other on a single place of its own
    assert all(wait_s < turnover_s for wait_s in longest_s.values()), longest_s
