"""Rebalancing: the simple policy on views, and on a live control plane with simulated nodes."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from dovetail.model.task import TaskId
from dovetail.rebalancing.spreading_load import (
    BalancePolicy,
    BalanceView,
    BalancingMove,
    BringNearer,
    MovableTask,
    nearer,
    propose,
)


def task(number: int, row: int, share: float, nodes: int, **more: object) -> MovableTask:
    fields: dict[str, object] = {"constraints": 0, "away": None, "siblings": 3} | more
    loads = np.full(nodes, share)
    return MovableTask(TaskId(number, 0), f"t{number}", ("default", f"s{number}"), row, loads, **fields)  # type: ignore[arg-type]


def view_of(tasks: list[MovableTask], nodes: int) -> BalanceView:
    load = np.zeros(nodes)
    for one in tasks:
        load[one.row] += one.loads[one.row]
    return BalanceView([f"n{row}" for row in range(nodes)], load, np.ones(nodes, dtype=np.bool_), tasks)


def moves(view: BalanceView, policy: BalancePolicy | None = None) -> list[BalancingMove]:
    everywhere = np.ones(len(view.names), dtype=np.bool_)
    return propose(view, policy or BalancePolicy(), lambda _: everywhere.copy())


def test_nodes_that_are_close_in_load_are_left_alone() -> None:
    view = view_of([task(1, 0, 0.3, 2), task(2, 1, 0.15, 2)], 2)
    assert moves(view) == []


def test_a_task_goes_from_the_fullest_to_the_emptiest_node() -> None:
    view = view_of([task(1, 0, 0.3, 3), task(2, 0, 0.3, 3), task(3, 1, 0.2, 3)], 3)
    [move] = moves(view, BalancePolicy(moves=1))
    assert (move.source, move.target) == ("n0", "n2")
    assert move.benefit == 0.3


def test_a_task_with_few_constraints_goes_first() -> None:
    view = view_of([task(1, 0, 0.3, 2, constraints=2), task(2, 0, 0.3, 2, constraints=1)], 2)
    assert [one.name for one in moves(view, BalancePolicy(moves=1))] == ["t2"]


def test_a_task_stays_beside_those_it_talks_to_unless_the_benefit_is_larger() -> None:
    beside = np.array([0.0, 1.0])
    view = view_of([task(1, 0, 0.25, 2, away=beside), task(2, 0, 0.2, 2, away=beside)], 2)
    assert moves(view, BalancePolicy(distance_cost=0.3)) == []
    assert moves(view, BalancePolicy(distance_cost=0.1, moves=1))


def test_the_last_replica_of_a_service_is_never_moved() -> None:
    view = view_of([task(1, 0, 0.3, 2, siblings=1), task(2, 0, 0.3, 2, siblings=1)], 2)
    assert moves(view) == []


@examples(60)
@given(
    placed=st.lists(st.tuples(st.integers(0, 4), st.sampled_from([0.02, 0.05, 0.1, 0.2, 0.3])), max_size=25),
    moves_a_round=st.integers(1, 4),
)
def test_rebalancing_comes_to_rest_and_never_makes_the_fullest_node_fuller(
    placed: list[tuple[int, float]], moves_a_round: int
) -> None:
    policy = BalancePolicy(moves=moves_a_round, settle_s=0.0)
    tasks = {number: task(number, row, share, 5) for number, (row, share) in enumerate(placed)}
    fullest = view_of(list(tasks.values()), 5).load.max()
    for _ in range(60):
        view = view_of(list(tasks.values()), 5)
        assert view.load.max() <= fullest + 1e-9
        fullest = view.load.max()
        found = moves(view, policy)
        if not found:
            break
        for move in found:
            old = tasks[move.task.workload]
            tasks[move.task.workload] = task(move.task.workload, int(move.target[1:]), float(old.loads[0]), 5)
    else:
        raise AssertionError("it never came to rest")


def test_a_service_that_is_not_whole_is_left_alone() -> None:
    view = view_of([task(1, 0, 0.3, 2), task(2, 0, 0.3, 2)], 2)
    everywhere = np.ones(2, dtype=np.bool_)
    found = propose(view, BalancePolicy(), lambda _: everywhere.copy(), busy={("default", "s1")})
    assert [move.name for move in found] == ["t2"]
    nearer_to = [BringNearer(TaskId(1, 0), "n0", "n1", 5000.0)]
    assert nearer(view, BalancePolicy(threshold=1.0), nearer_to, 1000.0, (), {("default", "s1")}) == []


def test_a_service_is_brought_nearer_where_that_pays_and_loads_stay_even() -> None:
    tasks = [task(1, 0, 0.1, 3), task(2, 1, 0.15, 3), task(3, 1, 0.02, 3, siblings=1)]
    view = view_of(tasks, 3)
    pays = BringNearer(TaskId(1, 0), "n0", "n1", 5000.0)
    wanted = [BringNearer(TaskId(3, 0), "n1", "n0", 9000.0), BringNearer(TaskId(2, 0), "n1", "n2", 10.0), pays]
    assert nearer(view, BalancePolicy(threshold=0.2), wanted, 1000.0, ()) == []  # n1 would be too full
    [move] = nearer(view, BalancePolicy(threshold=0.3), wanted, 1000.0, ())
    assert (move.name, move.target, move.benefit) == ("t1", "n1", 5000.0)
    assert nearer(view, BalancePolicy(threshold=0.3), wanted, 1000.0, {TaskId(1, 0)}) == []
