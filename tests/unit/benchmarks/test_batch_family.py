"""The synthetic logs are what they claim to be, and `batch` is no mistake on those where nobody has to wait."""

from collections.abc import Sequence
from itertools import pairwise, product

import numpy as np
import pytest
from benchmarks.batch_family import FamilyRow, against_itself, excess, moved
from benchmarks.synthetic_logs import LOADS, LogRecipe, daily_cycle, family, jobs_of

from dovetail.simulate.batch import BatchReplay
from dovetail.simulate.policies import POLICIES
from dovetail.simulate.swf import BatchJob


def waits(policy: str, jobs: Sequence[BatchJob], processors: int) -> list[float]:
    settings = POLICIES[policy].settings("easy")
    starts = BatchReplay(jobs, processors, settings, by_moment=POLICIES[policy].by_moment).run()
    return [start - job.submit_s for job, start in zip(jobs, starts, strict=True)]


def test_the_family_has_every_kind_of_log_and_each_has_its_own_seed() -> None:
    recipes = family(100, 0)
    assert len(recipes) >= 40
    assert len({recipe.name for recipe in recipes}) == len({recipe.seed for recipe in recipes}) == len(recipes)
    assert {recipe.load for recipe in recipes} == set(LOADS)


@pytest.mark.parametrize("recipe", family(300, 7)[::7], ids=lambda recipe: recipe.name)
def test_a_log_has_the_load_widths_and_estimates_of_its_recipe(recipe: LogRecipe) -> None:
    jobs = jobs_of(recipe)
    assert jobs == jobs_of(recipe)
    assert len(jobs) == 300
    assert all(job.run_s <= job.requested_s for job in jobs)
    assert all(one.submit_s <= other.submit_s for one, other in pairwise(jobs))
    assert all(1 <= job.processors <= recipe.processors for job in jobs)
    if recipe.widths != "uniform":
        assert all(job.processors & (job.processors - 1) == 0 for job in jobs)
    if recipe.estimates == "exact":
        assert all(job.run_s == job.requested_s for job in jobs)
    work = sum(job.run_s * job.processors for job in jobs)
    assert jobs[-1].submit_s == pytest.approx(work / recipe.processors / recipe.load, rel=0.2)


def test_more_jobs_arrive_by_day_than_by_night() -> None:
    cycle = daily_cycle()
    assert cycle.mean() == pytest.approx(1.0)
    assert cycle[24:32].min() > 1.5 > 0.7 > cycle[6:12].max()


def test_the_excess_counts_in_what_is_allowed() -> None:
    assert FamilyRow("", 0, 0.92, 0.9, 2.0, 2.0).excess == pytest.approx(1.0)
    assert FamilyRow("", 0, 110.0, 200.0, 100.0, 150.0).excess == pytest.approx(5.0)


def test_moved_jobs_are_the_same_jobs_a_little_later() -> None:
    jobs = jobs_of(family(50, 0)[0])
    found = moved(jobs, 10.0, 1)
    assert found == moved(jobs, 10.0, 1) != moved(jobs, 10.0, 2)
    assert all(one.submit_s <= other.submit_s for one, other in pairwise(found))
    later_s = {job.number: job.submit_s for job in found}
    assert all(0.0 <= later_s[job.number] - job.submit_s <= 10.0 for job in jobs)


def test_batch_does_not_lose_to_itself_where_no_arrival_is_moved() -> None:
    said: list[str] = []
    found = against_itself(family(20, 0)[:2], 0.0, said.append)
    assert found == "worse than the best of 3 moved runs on 0 of 2 logs, 1.00 times at worst"
    assert len(said) == 2


HOUR_S = 3600.0
FREE_AT = 120.0
FILL = [BatchJob(1, 0.0, 60.0, 60.0, 128, "u0"), BatchJob(2, 5.0, 60.0, 60.0, 128, "u0")]
WIDE = BatchJob(3, 10.0, 16 * HOUR_S, 16 * HOUR_S, 128, "u1")
NARROW = BatchJob(4, 20.0, HOUR_S, HOUR_S, 64, "u2")
BURST_AT = FREE_AT + WIDE.run_s + 30.0
BURST = [BatchJob(5 + number, BURST_AT, 10.0, 10.0, 1, "u3") for number in range(40)]
QUIET = [*FILL, WIDE, NARROW]


def slowdown(jobs: Sequence[BatchJob], waited: Sequence[float]) -> float:
    run_s = np.array([job.run_s for job in jobs])
    return float(np.maximum(1.0, (np.array(waited) + run_s) / np.maximum(run_s, 10.0)).mean())


def test_no_order_is_as_good_as_the_best_of_three_on_both_of_two_logs() -> None:
    """Until the burst both logs are the same, so an order does the same on both. The wide job takes the whole machine:
    either the wide or the narrow one goes first, and the other waits for its end."""
    logs = QUIET, [*QUIET, *BURST]
    best = [min(slowdown(log, waits(name, log, 128)) for name in ("fcfs", "sjf", "f1")) for log in logs]
    for wide_first, idle_s in product((True, False), np.arange(0.0, 17 * HOUR_S, 600.0)):
        wide_at = FREE_AT + idle_s + (0.0 if wide_first else NARROW.run_s)
        narrow_at = wide_at + WIDE.run_s if wide_first else FREE_AT
        in_the_way = wide_at < BURST_AT < wide_at + WIDE.run_s
        burst_wait_s = wide_at + WIDE.run_s - BURST_AT if in_the_way else 0.0
        quiet = [0.0, 55.0, wide_at - WIDE.submit_s, narrow_at - NARROW.submit_s]
        found = slowdown(QUIET, quiet), slowdown(logs[1], [*quiet, *[burst_wait_s] * len(BURST)])
        assert max(map(excess, found, best)) > 1.0


def hourly(seed: int, shortest_s: float, together: int) -> list[BatchJob]:
    """Every hour as many jobs as fill the machine, 46 % of the time, within half a minute."""
    chance = np.random.default_rng(seed)
    found: list[BatchJob] = []
    for hour in range(150):
        for second in sorted(chance.integers(0, 30, together)):
            run_s = float(round(np.exp(chance.uniform(np.log(shortest_s), np.log(3500.0)))))
            found.append(BatchJob(len(found), hour * 3600.0 + float(second), run_s, run_s, 8 // together, "u1"))
    return found


@pytest.mark.parametrize(("seed", "shortest_s", "together"), [(1, 60.0, 2), (2, 1.0, 2), (3, 1600.0, 4)])
def test_on_a_machine_where_nobody_has_to_wait_hardly_anybody_waits(
    seed: int, shortest_s: float, together: int
) -> None:
    jobs = hourly(seed, shortest_s, together)
    assert not any(waits("fcfs", jobs, 8))
    waited = np.array(waits("dovetail", jobs, 8))
    run_s = np.array([job.run_s for job in jobs])
    slowdown = np.maximum(1.0, (waited + run_s) / np.maximum(run_s, 10.0))
    assert np.count_nonzero(waited) <= len(jobs) // 50
    assert slowdown.mean() <= 1.02
