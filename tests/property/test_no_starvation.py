"""With ageing everybody starts in the end, however much more urgent work keeps coming. Without it they need not."""

import pytest
from tests.property.market import Market, Tenant

from dovetail.engine.settings import EngineSettings
from dovetail.model.workloads.workload import Priority

AGEING_S = 60.0
RUN_S = 10.0
COMES_AT = 50.0
SMALL = {"cpu": 1}
HALF_A_NODE, WHOLE_NODE = {"cpu": 2}, {"cpu": 4}


def settings(order: str, ageing_s: float | None, **weights: float) -> EngineSettings:
    profile = {"order": order, "preemption": False, "scores": {"best_fit": 1}}
    fair = {"ageing": ageing_s, "weights": weights}
    return EngineSettings.model_validate({"default_profile": "p", "profiles": {"p": profile}, "fair": fair})


def waited_s(market: Market, tenant: str) -> list[float]:
    return market.waits_s[tenant]


def crowded(order: str, ageing_s: float | None, urgent: str, meek: Tenant) -> Market:
    """Two nodes of four processors, and always five urgent tasks that wait."""
    stream = Tenant("stream", [SMALL], backlog=5, fields={"priority": urgent})
    market = Market(settings(order, ageing_s), [stream, meek], nodes=2, capacity={"cpu": 4}, mean_s=RUN_S)
    market.run(COMES_AT + 5 * AGEING_S)
    return market


@pytest.mark.parametrize("shape", [SMALL, HALF_A_NODE, WHOLE_NODE], ids=["small", "half a node", "a whole node"])
@pytest.mark.parametrize(("urgent", "low"), [("critical", "batch"), ("high", "low")])
def test_by_priority_with_ageing_the_least_urgent_starts_when_its_wait_has_made_up_for_its_class(
    urgent: str, low: str, shape: dict[str, int]
) -> None:
    meek = Tenant("meek", [shape], backlog=1, fields={"priority": low}, comes_at=COMES_AT)
    classes = Priority(low).rank - Priority(urgent).rank
    # Then it stands first: those that waited before it, and what runs, are gone a few longest run times later.
    bound_s = classes * AGEING_S + 3 * 3 * RUN_S
    first_s = waited_s(crowded("priority", AGEING_S, urgent, meek), "meek")[0]
    assert first_s <= bound_s


def test_by_priority_without_ageing_the_least_urgent_may_wait_for_ever() -> None:
    meek = Tenant("meek", [SMALL], backlog=1, fields={"priority": "batch"}, comes_at=COMES_AT)
    assert waited_s(crowded("priority", None, "critical", meek), "meek") == []


def namespaces_with_reservations(ageing_s: float | None) -> Market:
    """A stream whose weight is so large that it always has least for it, and a tenant that holds half of the cluster
    for good and wants one task more."""
    stream = Tenant("stream", [SMALL], backlog=5, comes_at=1.0)
    holding = Tenant("holding", [WHOLE_NODE], most=1, run_s=1e6, fields={"namespace": "meek"})
    meek = Tenant("meek", [SMALL], most=1, comes_at=COMES_AT)
    market = Market(
        settings("fair", ageing_s, stream=1e6), [stream, holding, meek], nodes=2, capacity={"cpu": 4}, mean_s=RUN_S
    )
    market.run(COMES_AT + 2 * AGEING_S)
    return market


def test_between_tenants_with_ageing_everyone_starts_when_the_wait_has_made_up_for_what_it_holds() -> None:
    held = 4 / 8
    (waited,) = waited_s(namespaces_with_reservations(AGEING_S), "meek")
    assert waited <= held * AGEING_S + 3 * RUN_S


def test_between_tenants_without_ageing_who_holds_something_may_wait_for_ever() -> None:
    assert waited_s(namespaces_with_reservations(None), "meek") == []
