"""The synthetic logs are what they claim to be, and `batch` is no mistake on those where nobody has to wait."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from benchmarks.batch_family import FamilyRow
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
