"""Recoveries on small random clusters: every plan holds, and moves as few tasks as the exact optimum."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.property.small_recoveries import faults, optimum, random_problem

from dovetail.placement.recovery import recover

SEEDS = st.integers(min_value=0, max_value=10**9)


@pytest.mark.parametrize("first", range(0, 320, 40))
def test_as_many_gangs_are_whole_with_as_few_moves_as_can_be(first: int) -> None:
    for seed in range(first, first + 40):
        problem = random_problem(seed)
        plan = recover(problem)
        assert not faults(problem, plan), seed
        whole, moves, sure = optimum(problem)
        assert sure
        assert [at for at, places in enumerate(plan.places) if places is not None] == whole, seed
        assert plan.cost(problem.gangs) == moves, seed


@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_every_plan_holds(seed: int) -> None:
    problem = random_problem(seed)
    assert not faults(problem, recover(problem))


@pytest.mark.parametrize("seed", range(12))
def test_plans_for_larger_clusters_hold_too(seed: int) -> None:
    problem = random_problem(seed, nodes=40, gangs=20, fail=3)
    plan = recover(problem)
    assert not plan.exact
    assert not faults(problem, plan)


def test_the_same_problem_gets_the_same_plan() -> None:
    for seed in range(20):
        assert recover(random_problem(seed)) == recover(random_problem(seed))
