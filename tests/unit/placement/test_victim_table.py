"""The victim table: it follows the cluster row by row and equals one that is built anew."""

import random
from dataclasses import fields

import numpy as np
import pytest
from tests.unit.placement.preemption_scene import BATCH, MEDIUM, ask, nodes, run, victims

from dovetail.cluster import change_log
from dovetail.cluster.state import Cluster
from dovetail.model.task import TaskId
from dovetail.placement.preemption.victim_table import VictimArrays, VictimTable


def contents(table: VictimTable) -> dict[TaskId, tuple[object, ...]]:
    """What it says of each task, whatever the slots and the codes."""
    names = [field.name for field in fields(VictimArrays) if not field.name.endswith("_code")]
    found = {}
    for slot in np.flatnonzero(table.arrays.placed).tolist():
        values = tuple(getattr(table.arrays, name)[slot].item() for name in names)
        found[table.task(slot)] = (*values, *table.amounts[:, slot].tolist())
    return found


def gangs(table: VictimTable) -> dict[TaskId, int]:
    """Who is in a gang, as the list of gang members has it, and in which."""
    ids = list(table.unit_codes)
    assert table.ganged.tolist() == sorted(table.ganged.tolist())
    pairs = zip(table.ganged.tolist(), table.ganged_units.tolist(), strict=True)
    return {table.task(slot): ids[unit] for slot, unit in pairs}


def same_as_anew(table: VictimTable, cluster: Cluster) -> bool:
    table.refresh()
    anew = VictimTable(cluster)
    return (
        contents(table) == contents(anew)
        and gangs(table) == gangs(anew)
        and np.array_equal(table.no_more_urgent, anew.no_more_urgent)
    )


def test_tasks_that_come_and_go_are_followed() -> None:
    cluster = nodes(3)
    table = VictimTable(cluster)
    tasks = [run(cluster, i % 3, 10 + i, cpu=0.1, unit=i % 2) for i in range(20)]
    assert same_as_anew(table, cluster)
    for task in tasks[::3]:
        cluster.remove(task)
        assert same_as_anew(table, cluster)
    assert len(contents(table)) == 13


def test_a_cluster_without_nodes_has_an_empty_table() -> None:
    cluster = Cluster()
    assert contents(VictimTable(cluster)) == {}


def test_tasks_of_all_ranks_and_gangs_are_followed_row_by_row() -> None:
    cluster = nodes(40)
    table, chance, placed = VictimTable(cluster), random.Random(3), list[TaskId]()
    for step in range(60):
        for _ in range(chance.randint(1, 5)):
            row, unit = chance.randrange(40), chance.choice((-1, -1, 7, 8))
            cpu, rank = chance.choice((0.1, 0.2)), chance.randrange(5)
            placed.append(run(cluster, row, 10 + step, replica=len(placed), cpu=cpu, rank=rank, unit=unit))
        if step % 3:
            cluster.remove(placed.pop(chance.randrange(len(placed))))
        assert same_as_anew(table, cluster)


def test_what_a_rank_and_less_urgent_ones_hold_is_added_up_by_row() -> None:
    cluster = nodes(2)
    table = VictimTable(cluster)
    for workload, rank, cpu in ((10, BATCH, 1), (11, BATCH, 0.5), (12, MEDIUM, 2)):
        run(cluster, 1, workload, cpu=cpu, rank=rank)
    table.refresh()
    held = table.no_more_urgent[:, cluster.resources.index["cpu"], 1].tolist()
    assert held == [3500.0, 3500.0, 3500.0, 1500.0, 1500.0]
    assert not table.no_more_urgent[:, :, 0].any()


def test_only_rows_in_the_log_are_written_again(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = nodes(5)
    run(cluster, 0, 10)
    table = VictimTable(cluster)
    written: list[int] = []
    monkeypatch.setattr(table, "_write", written.extend)
    run(cluster, 3, 11)
    run(cluster, 3, 12)
    table.refresh()
    table.refresh()
    assert written == [3]


def test_a_trial_leaves_the_table_as_it_was() -> None:
    cluster = nodes(2)
    task = run(cluster, 0, 10)
    table = VictimTable(cluster)
    before = contents(table)
    with cluster.trial():
        cluster.remove(task)
        run(cluster, 1, 11)
        table.refresh()
        assert list(contents(table)) == [TaskId(11, 0)]
    table.refresh()
    assert contents(table) == before


def test_a_log_that_was_cut_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_log, "_LOG_LIMIT", 2)
    cluster = nodes(2)
    table = VictimTable(cluster)
    for i in range(5):
        run(cluster, i % 2, 10 + i, cpu=0.1)
    cluster.trim_log()
    assert same_as_anew(table, cluster)


def test_new_nodes_and_new_resources_are_taken_in() -> None:
    cluster = nodes(1)
    table = VictimTable(cluster)
    cluster.join(cluster.node("n0").model_copy(update={"name": "late"}))
    run(cluster, 1, 10)
    assert same_as_anew(table, cluster)
    cluster.place(TaskId(11, 0), 0, cluster.resources.vector({"example.com/card": 1.0}))
    assert same_as_anew(table, cluster)


def test_answers_follow_what_happened_between_two_questions() -> None:
    cluster = nodes(2)
    first, second = run(cluster, 0, 10, cpu=4, ran_s=5), run(cluster, 1, 11, cpu=4, ran_s=50)
    table = VictimTable(cluster)
    assert victims(ask(cluster, cpu=4, table=table)) == [first]
    cluster.remove(first)
    dear = run(cluster, 0, 12, cpu=4, ran_s=500)
    assert victims(ask(cluster, cpu=4, table=table)) == [second]
    assert dear in contents(table)
