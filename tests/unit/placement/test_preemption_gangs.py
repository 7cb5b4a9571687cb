"""Gangs on either side: one that needs room all at once, and those that fall as one or can spare some."""

from tests.unit.placement.preemption_scene import BATCH, HIGH, LOW, ask, nodes, run, victims

from dovetail.model.task import TaskId


def test_a_gang_that_can_lose_nobody_falls_whole_wherever_its_members_are() -> None:
    cluster = nodes(3)
    members = [run(cluster, row, 10, row, cpu=4, unit=10) for row in range(3)]
    found = ask(cluster, cpu=4, rows=[1])
    assert victims(found) == members
    assert found is not None
    assert found.cost.gangs_broken == 1
    assert found.cost.victims == 3


def test_a_gang_that_can_spare_one_goes_on_without_it() -> None:
    cluster = nodes(3)
    members = [run(cluster, row, 10, row, cpu=4, unit=10) for row in range(3)]
    found = ask(cluster, cpu=4, rows=[1], slack={10: 1})
    assert victims(found) == [members[1]]
    assert found is not None
    assert found.cost.gangs_broken == 0


def test_a_gang_that_can_spare_one_falls_whole_where_two_are_needed() -> None:
    cluster = nodes(3)
    members = [run(cluster, row, 10, row, cpu=4, unit=10) for row in range(3)]
    found = ask(cluster, cpu=4, count=2, slack={10: 1})
    assert victims(found) == members


def test_a_gang_with_a_member_that_may_not_go_is_not_broken() -> None:
    cluster = nodes(2)
    run(cluster, 0, 10, 0, cpu=4, unit=10)
    run(cluster, 1, 10, 1, cpu=4, unit=10, rank=HIGH)
    assert ask(cluster, cpu=4, rows=[0]) is None
    assert victims(ask(cluster, cpu=4, rows=[0], slack={10: 1})) == [TaskId(10, 0)]


def test_a_gang_is_as_urgent_as_its_most_urgent_member() -> None:
    cluster = nodes(3)
    run(cluster, 0, 10, 0, cpu=4, unit=10, rank=BATCH)
    run(cluster, 1, 10, 1, cpu=4, unit=10, rank=2)
    alone = run(cluster, 2, 11, cpu=4, rank=LOW)
    assert victims(ask(cluster, cpu=4, rows=[0, 2])) == [alone]


def test_a_gang_is_broken_though_its_most_urgent_member_is_where_no_room_is_wanted() -> None:
    cluster = nodes(2)
    members = [run(cluster, 0, 10, i, cpu=2, unit=10) for i in range(2)]
    members.append(run(cluster, 1, 10, 2, unit=10, rank=LOW))
    found = ask(cluster, cpu=4, rows=[0], slack={10: 1})
    assert victims(found) == members
    assert found is not None
    assert found.cost.urgency == -LOW


def test_all_members_of_a_broken_gang_count_against_the_budget() -> None:
    cluster = nodes(2)
    for row in range(2):
        run(cluster, row, 10, row, cpu=4, unit=10)
    found = ask(cluster, cpu=4, budgets={10: 0})
    assert found is not None
    assert found.cost.violations == 2


def test_a_waiting_gang_takes_the_cheapest_nodes_one_each() -> None:
    cluster = nodes(4)
    tasks = [run(cluster, row, 10 + row, cpu=4, ran_s=ran_s) for row, ran_s in enumerate((50, 10, 40, 20))]
    found = ask(cluster, cpu=4, count=2)
    assert victims(found) == [tasks[1], tasks[3]]
    assert found is not None
    assert found.placements == (1, 3)


def test_a_waiting_gang_uses_free_nodes_first_and_shares_a_node_where_it_can() -> None:
    cluster = nodes(2)
    kept = run(cluster, 0, 10, cpu=2)
    gone = run(cluster, 1, 11, cpu=4, ran_s=10)
    found = ask(cluster, cpu=2, count=3)
    assert victims(found) == [gone]
    assert kept not in victims(found)
    assert found is not None
    assert found.placements == (0, 1, 1)


def test_one_gang_that_frees_many_nodes_is_broken_rather_than_many_gangs() -> None:
    cluster = nodes(8)
    large = [run(cluster, row, 50, row, cpu=4, unit=50, ran_s=500) for row in range(4)]
    for row in range(4, 8):
        run(cluster, row, row, 0, cpu=4, unit=row, ran_s=1)
    assert victims(ask(cluster, cpu=4, count=4)) == large


def test_a_waiting_gang_that_does_not_fit_whole_takes_nothing() -> None:
    cluster = nodes(3)
    run(cluster, 0, 10, cpu=4)
    run(cluster, 1, 11, cpu=4)
    run(cluster, 2, 12, cpu=4, rank=HIGH)
    assert ask(cluster, cpu=4, count=3) is None
    assert len(victims(ask(cluster, cpu=4, count=2))) == 2


def test_a_large_case_breaks_no_gang_where_enough_stand_alone() -> None:
    """Too many tasks for the exact search: 60 nodes, four tasks each."""
    cluster = nodes(60)
    for row in range(60):
        for replica in range(4):
            run(cluster, row, 100 + row, replica, ran_s=row + replica, unit=100 + row if row % 2 else -1)
    found = ask(cluster, cpu=4, count=20)
    assert found is not None
    assert found.cost.gangs_broken == 0
    assert found.placements == tuple(range(0, 40, 2))
