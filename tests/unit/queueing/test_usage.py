"""Who holds how much, and what share of the cluster that is."""

import pytest

from dovetail.queueing.quota import Borrowing, Loan
from dovetail.queueing.settings import FairSettings, QueueSettings
from dovetail.queueing.tree import ROOT, QueueTree
from dovetail.queueing.usage import Usage

CAPACITY = {"cpu": 100_000.0, "gpu": 10_000.0}
TREE = QueueTree(
    {
        "research": QueueSettings.model_validate(
            {"queues": {"nlp": {"guaranteed": {"gpu": 4}}, "vision": {"weight": 2, "guaranteed": {"gpu": 2}}}}
        ),
        "ml": QueueSettings.model_validate({"user_limits": {"gpu": 8}}),
    }
)
RESEARCH, NLP, VISION, ML = (TREE.by_path[path] for path in ("research", "research/nlp", "research/vision", "ml"))
HOUR_S = 3600.0


def usage(**fair: object) -> Usage:
    return Usage(TREE, CAPACITY, FairSettings.model_validate(fair))


def test_a_charge_counts_for_the_queue_all_above_it_the_user_and_the_tenant() -> None:
    ledger = usage()
    ledger.charge(NLP, "ann", "red", {"cpu": 1000, "gpu": 500}, 4, now=0)
    for queue in (NLP, RESEARCH, ROOT):
        assert ledger.used(queue) == {"cpu": 4000, "gpu": 2000}
    assert ledger.used(VISION) == ledger.used(ML) == {}
    assert ledger.used_by(NLP, "ann") == {"cpu": 4000, "gpu": 2000}
    assert ledger.used_by(NLP, "bob") == {}
    assert ledger.share_of_tenant("red") == ledger.share_of_tenant("red", NLP) == pytest.approx(0.2)
    assert ledger.share_of_tenant("red", VISION) == 0


def test_what_is_given_back_leaves_nothing_behind() -> None:
    ledger = usage()
    for times in (3, -1, -2):
        ledger.charge(NLP, "ann", "red", {"cpu": 1000}, times, now=0)
    assert ledger.used(ROOT) == ledger.used_by(NLP, "ann") == {}
    assert ledger._tenants == ledger._users == {}


def test_the_dominant_share_is_the_largest_and_follows_the_capacity() -> None:
    ledger = usage()
    ledger.charge(ML, None, "red", {"cpu": 30_000, "gpu": 1000}, 1, now=0)
    assert ledger.share_of(ML) == pytest.approx(0.3)
    ledger.set_capacity({"cpu": 300_000.0, "gpu": 5000.0})
    assert ledger.share_of(ML) == pytest.approx(0.2)
    ledger.set_capacity({"gpu": 5000.0})
    assert ledger.share_of(ML) == pytest.approx(0.2), "what the cluster has none of any more counts for nobody"


def test_the_weighted_share_is_use_by_weight() -> None:
    ledger = usage(weights={"red": 4})
    ledger.charge(VISION, None, "red", {"gpu": 2000}, 1, now=0)
    assert ledger.weighted_share(VISION, now=0) == pytest.approx(0.1)
    assert ledger.weighted_share_of_tenant(VISION, "red", now=0) == pytest.approx(0.05)


def test_watchers_hear_of_every_charge() -> None:
    ledger, heard = usage(), list[tuple[int, str]]()
    ledger.watch(lambda queue, tenant: heard.append((queue, tenant)))
    ledger.charge(NLP, None, "red", {"gpu": 1}, 1, now=0)
    ledger.charge(NLP, None, "red", {"gpu": 1}, -1, now=0)
    assert heard == [(NLP, "red")] * 2


def test_past_use_counts_and_halves_with_each_half_life() -> None:
    ledger = usage(half_life="1h")
    ledger.charge(ML, None, "red", {"gpu": 10_000}, 1, now=0)
    assert ledger.weighted_share(ML, now=0) == pytest.approx(0.5), "present use counts at once, and for half"
    ledger.charge(ML, None, "red", {"gpu": 10_000}, -1, now=100 * HOUR_S)
    assert [ledger.weighted_share(ML, now=(100 + hours) * HOUR_S) for hours in range(4)] == pytest.approx(
        [0.5, 0.25, 0.125, 0.0625]
    )


def test_with_steady_use_the_weighted_share_with_a_past_is_the_plain_share() -> None:
    ledger = usage(half_life="1h")
    ledger.charge(ML, None, "red", {"gpu": 3000}, 1, now=0)
    assert ledger.weighted_share_of_tenant(ML, "red", now=50 * HOUR_S) == pytest.approx(0.3)


def test_the_past_does_not_depend_on_how_often_it_is_brought_up_to_date() -> None:
    often, seldom = usage(half_life="1h"), usage(half_life="1h")
    for ledger in (often, seldom):
        ledger.charge(ML, None, "red", {"gpu": 4000}, 1, now=0)
    for minute in range(1, 60):
        often.charge(ML, None, "red", {"cpu": 1}, 1, now=60.0 * minute)
        often.charge(ML, None, "red", {"cpu": 1}, -1, now=60.0 * minute)
    assert often.weighted_share(ML, now=HOUR_S) == pytest.approx(seldom.weighted_share(ML, now=HOUR_S))


def test_the_past_survives_a_restart() -> None:
    before, after = usage(half_life="1h"), usage(half_life="1h")
    before.charge(NLP, None, "red", {"gpu": 4000}, 1, now=0)
    before.charge(NLP, None, "red", {"gpu": 4000}, -1, now=HOUR_S)
    after.recall(before.history(now=1.5 * HOUR_S))
    for ledger in (before, after):
        assert ledger.weighted_share(RESEARCH, now=2 * HOUR_S) == pytest.approx(0.05)
        assert ledger.weighted_share_of_tenant(NLP, "red", now=2 * HOUR_S) == pytest.approx(0.05)
    assert usage().history(now=0) == []


def test_tenants_long_gone_are_forgotten() -> None:
    ledger = usage(half_life="1s")
    for number in range(20_000):
        ledger.charge(ML, None, f"tenant{number}", {"gpu": 1000}, 1, now=10.0 * number)
        ledger.charge(ML, None, f"tenant{number}", {"gpu": 1000}, -1, now=10.0 * number + 1)
    assert len(ledger._tenants) < 2000


def test_the_deviation_is_measured_against_the_weighted_part_of_what_all_hold() -> None:
    ledger = usage(weights={"red": 2})
    ledger.charge(ML, None, "red", {"gpu": 4000}, 1, now=0)
    ledger.charge(NLP, None, "blue", {"gpu": 2000}, 1, now=0)
    assert ledger.fair_share_deviation() == pytest.approx({"blue": 0, "red": 0})
    ledger.charge(NLP, None, "blue", {"gpu": 2000}, 1, now=0)
    assert ledger.fair_share_deviation() == pytest.approx({"blue": 0.5, "red": -0.25})
    assert ledger.fair_share_deviation(["blue", "green"]) == pytest.approx({"blue": 1, "green": -1})
    assert usage().fair_share_deviation() == {}


def test_whatever_is_above_the_guarantee_is_borrowed_of_resources_that_are_shared_out() -> None:
    ledger = usage()
    borrowing = Borrowing(TREE, ledger)
    ledger.charge(NLP, None, "red", {"gpu": 5000, "cpu": 9000}, 1, now=0)
    ledger.charge(ML, None, "blue", {"gpu": 3000}, 1, now=0)
    assert borrowing.borrowed(NLP) == {"gpu": 1000}
    assert borrowing.borrowed(RESEARCH) == {}, "its children are guaranteed six together"
    assert borrowing.borrowers("gpu") == [Loan("ml", "gpu", 3000), Loan("research/nlp", "gpu", 1000)]
    assert borrowing.borrowers("gpu", under=RESEARCH) == [Loan("research/nlp", "gpu", 1000)]
    assert borrowing.lenders("gpu") == [Loan("research/vision", "gpu", 2000)]
    assert borrowing.borrowers("cpu") == []


def test_the_share_with_the_past_lies_between_what_was_held_and_what_is() -> None:
    ledger = usage(half_life="1h")
    ledger.charge(ML, None, "red", {"gpu": 1000}, 4, now=0)
    ledger.charge(ML, None, "red", {"gpu": 1000}, -4, now=10 * HOUR_S)
    assert ledger.share_of(ML) == 0
    assert 0.19 < ledger.share_with_past(ML, 10 * HOUR_S) < 0.2, "half of what it held all the time"
    assert ledger.share_with_past(ML, 11 * HOUR_S) == pytest.approx(ledger.share_with_past(ML, 10 * HOUR_S) / 2)
    assert usage().share_with_past(ML, 0) == 0
