"""Applications on small random clusters: nothing is ever over capacity or against a rule, what is found is as good as
the optimum, and never worse than one task after the other."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.property.small_applications import as_greedy, optimum, random_problem

from dovetail.placement.applications.moves import propose_moves
from dovetail.placement.applications.problem import is_valid
from dovetail.placement.applications.search import solve

SEEDS = st.integers(min_value=0, max_value=10**9)


@pytest.mark.parametrize("first", range(0, 200, 50))
def test_small_applications_cost_what_the_best_assignment_costs(first: int) -> None:
    ratios = []
    for seed in range(first, first + 50):
        problem = random_problem(seed)
        found, best = solve(problem), optimum(problem)
        assert found.is_complete == (best is not None), seed
        if best:
            ratios.append(found.cost / best)
    assert max(ratios) <= 1.05
    assert np.mean(ratios) <= 1.001


@given(SEEDS)
@examples(40)
def test_capacity_and_rules_hold_always(seed: int) -> None:
    problem = random_problem(seed, most_tasks=20, most_nodes=12)
    found = solve(problem, effort=30)
    assert is_valid(problem, found.node_of)
    assert found.cost == pytest.approx(problem.cost(found.node_of))


@given(SEEDS)
@examples(25)
def test_it_is_never_worse_than_one_task_after_the_other(seed: int) -> None:
    problem = random_problem(seed, most_tasks=10, most_nodes=6)
    greedy = as_greedy(problem)
    found = solve(problem, effort=30, known=greedy)
    missing = int((greedy < 0).sum())
    assert int((found.node_of < 0).sum()) <= missing
    if found.is_complete and not missing:
        assert found.cost <= problem.cost(greedy) + 1e-6


@given(SEEDS, SEEDS)
@examples(10)
def test_the_same_problem_and_seed_give_the_same_assignment(seed: int, search_seed: int) -> None:
    problem = random_problem(seed, most_tasks=12, most_nodes=8)
    one, other = (solve(problem, search_seed, effort=20) for _ in range(2))
    assert one.node_of.tolist() == other.node_of.tolist()


@given(SEEDS, st.sampled_from([0.0, 500.0, 20_000.0]))
@examples(25)
def test_moves_pay_for_themselves_and_can_be_carried_out_in_order(seed: int, price: float) -> None:
    problem = random_problem(seed, most_tasks=10, most_nodes=6)
    now = as_greedy(problem)
    at = now.copy()
    moves = propose_moves(problem, now, price, most=None)
    for move in moves:
        assert at[move.task] == move.source != move.target
        before = problem.cost(at)
        at[move.task] = move.target
        assert is_valid(problem, at)
        assert problem.cost(at) == pytest.approx(before - move.saves)
    if moves:
        assert problem.cost(at) + price * len(moves) < problem.cost(now)
    assert len({move.task for move in moves}) == len(moves)
