"""Who gives way to one task: each rule of the cost decides where those before it do not."""

import pytest
from tests.unit.placement.preemption_scene import BATCH, HIGH, LOW, MEDIUM, NOW, ask, below_high, nodes, run, victims
from tests.unit.placement.scene import cluster_of

from dovetail.cluster.state import Cluster
from dovetail.model.task import TaskId
from dovetail.placement.preemption.search import find_victims


def two_full_nodes(first: dict[str, float], second: dict[str, float]) -> tuple[Cluster, TaskId, TaskId]:
    """One task on each that fills it."""
    cluster = nodes(2)
    return cluster, run(cluster, 0, 10, cpu=4, **first), run(cluster, 1, 11, cpu=4, **second)


def test_nobody_goes_where_there_is_room() -> None:
    cluster = nodes(2)
    run(cluster, 0, 10, cpu=4)
    found = ask(cluster, cpu=4)
    assert victims(found) == []
    assert found is not None
    assert found.placements == (1,)
    assert found.cost.victims == 0


def test_the_least_urgent_goes_though_it_loses_more_and_is_not_alone() -> None:
    cluster = nodes(2)
    run(cluster, 0, 10, cpu=4, rank=LOW, ran_s=0)
    batch = [run(cluster, 1, 11, replica, cpu=2, rank=BATCH, ran_s=900) for replica in range(2)]
    found = ask(cluster, cpu=4)
    assert victims(found) == batch
    assert found is not None
    assert found.cost == (-BATCH, 0, 0, 0, 1800, 2)


def test_the_most_urgent_victim_counts_not_the_number_of_urgent_ones() -> None:
    cluster = nodes(2)
    run(cluster, 0, 10, cpu=1, rank=MEDIUM)
    run(cluster, 0, 11, cpu=3, rank=BATCH)
    lows = [run(cluster, 1, 12, replica, rank=LOW) for replica in range(4)]
    assert victims(ask(cluster, cpu=4)) == lows


def test_a_disruption_budget_is_kept_before_a_gang() -> None:
    cluster, _, ganged = two_full_nodes({}, {"unit": 11})
    assert victims(ask(cluster, cpu=4, budgets={10: 0})) == [ganged]


def test_a_budget_that_allows_one_is_no_reason_to_spare_one() -> None:
    cluster, first, _ = two_full_nodes({"ran_s": 5}, {"ran_s": 50})
    assert victims(ask(cluster, cpu=4, budgets={10: 1})) == [first]


def test_victims_of_one_group_use_up_its_budget_together() -> None:
    cluster = nodes(2)
    for replica in range(2):
        run(cluster, 0, 10, replica, cpu=2, ran_s=5)
    others = [run(cluster, 1, workload, cpu=2, ran_s=50) for workload in (11, 12)]
    assert victims(ask(cluster, cpu=4, budgets={10: 1, 11: 1, 12: 1})) == others


def test_a_gang_is_spared_before_a_least_run_time() -> None:
    cluster, _, young = two_full_nodes({"unit": 10}, {"min_run_s": 200})
    assert victims(ask(cluster, cpu=4)) == [young]


def test_a_task_that_had_its_least_run_time_goes_though_it_loses_more() -> None:
    cluster, old, _ = two_full_nodes({"ran_s": 900, "min_run_s": 900}, {"ran_s": 10, "min_run_s": 11})
    assert victims(ask(cluster, cpu=4)) == [old]


def test_work_counts_from_the_last_checkpoint() -> None:
    cluster, saved, _ = two_full_nodes({"ran_s": 905, "checkpoint_s": 100}, {"ran_s": 6})
    found = ask(cluster, cpu=4)
    assert victims(found) == [saved]
    assert found is not None
    assert found.cost.lost_s == 5


def test_the_fewer_victims_the_better_where_all_else_is_equal() -> None:
    cluster = nodes(2)
    for replica in range(2):
        run(cluster, 0, 10, replica, cpu=2, ran_s=50)
    one = run(cluster, 1, 11, cpu=4, ran_s=100)
    assert victims(ask(cluster, cpu=4)) == [one]


def test_equal_costs_fall_on_the_lowest_row_and_the_lowest_task() -> None:
    cluster = nodes(3)
    for row in (2, 1, 0):
        for replica in (3, 1, 2, 0):
            run(cluster, row, 10 + row, replica)
    assert victims(ask(cluster)) == [TaskId(10, 0)]
    assert victims(ask(cluster, cpu=2)) == [TaskId(10, 0), TaskId(10, 1)]


def test_only_rows_that_the_constraints_allow_are_looked_at() -> None:
    cluster, _, second = two_full_nodes({"ran_s": 1}, {"ran_s": 500})
    found = ask(cluster, cpu=4, rows=[1])
    assert victims(found) == [second]
    assert found is not None
    assert found.placements == (1,)


@pytest.mark.parametrize("spared", [{"rank": HIGH}, {"preemptible": False}])
def test_there_is_no_answer_where_those_who_may_go_are_not_enough(spared: dict[str, float]) -> None:
    cluster = nodes(1)
    run(cluster, 0, 10, cpu=1, **spared)
    run(cluster, 0, 11, cpu=3)
    assert ask(cluster, cpu=4) is None
    assert victims(ask(cluster, cpu=3)) == [TaskId(11, 0)]


def test_room_of_tasks_that_are_being_stopped_is_not_bought_twice() -> None:
    cluster = nodes(1)
    stopping = run(cluster, 0, 10, cpu=2)
    other = run(cluster, 0, 11, cpu=2, ran_s=5)
    assert victims(ask(cluster, cpu=2, exclude={stopping})) == []
    assert victims(ask(cluster, cpu=4, exclude={stopping})) == [other]


def test_a_task_that_frees_nothing_of_what_is_short_stays() -> None:
    cluster = nodes(1)
    run(cluster, 0, 10, cpu=0, ran_s=0)
    needed = run(cluster, 0, 11, cpu=4, ran_s=900)
    assert victims(ask(cluster, cpu=4)) == [needed]


def test_hundreds_of_small_victims_on_one_node_are_no_matter() -> None:
    cluster = cluster_of({"capacity": {"cpu": 4, "slots": 1000}})
    small = [run(cluster, 0, 10 + i, cpu=0.005) for i in range(800)]
    found = ask(cluster, cpu=4)
    assert len(victims(found)) == len(small)


def test_an_empty_cluster_has_no_answer_and_a_task_that_needs_nothing_no_victims() -> None:
    cluster = nodes(1)
    assert ask(cluster, cpu=5) is None
    run(cluster, 0, 10, cpu=4)
    nothing = cluster.resources.vector({})
    found = find_victims(cluster, cluster.status.ready[:1], nothing, 2, below_high, NOW, {}, {})
    assert found is not None
    assert found.placements == (0, 0)
