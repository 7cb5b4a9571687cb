"""Nodes of equal capacity are one class, whatever joins, leaves, changes or appears."""

import numpy as np

from dovetail.cluster.capacity_classes import NOTHING
from dovetail.cluster.resources import ResourceTable


def table_of(*nodes: dict[str, float]) -> ResourceTable:
    table = ResourceTable()
    for row, amounts in enumerate(nodes):
        table.set_capacity(row, amounts)
    return table


def test_nodes_of_equal_capacity_share_a_class() -> None:
    table = table_of({"cpu": 4000, "memory": 8}, {"cpu": 8000}, {"cpu": 4000, "memory": 8})
    first, second, third = table.classes.of_node[:3].tolist()
    assert first == third != second


def test_a_class_that_no_node_is_in_is_used_again() -> None:
    table = table_of({"cpu": 1000})
    for cores in range(2, 100):
        table.set_capacity(0, {"cpu": cores * 1000.0})
    assert table.classes.of_node[0] <= 2
    table.clear(0)
    assert table.classes.of_node[0] == NOTHING
    assert table.classes.needed_share([(table.index["cpu"], 500.0)])[NOTHING] == 0.0


def test_many_kinds_of_nodes_are_as_many_classes() -> None:
    table = ResourceTable()
    table.widen(64)
    for row in range(50):
        table.set_capacity(row, {"cpu": 1000.0 * (row + 1)})
    shares = table.classes.needed_share([(table.index["cpu"], 500.0)])
    expected = [500.0 * (1.0 / (1000.0 * (row + 1))) for row in range(50)]
    assert shares[table.classes.of_node[:50]].tolist() == expected


def test_a_resource_that_appears_later_keeps_the_classes() -> None:
    table = table_of({"cpu": 1000}, {"cpu": 1000})
    before = table.classes.of_node[:2].copy()
    fpga = table.row_of("example.com/fpga")
    table.set_capacity(1, {"cpu": 1000})
    assert np.array_equal(table.classes.of_node[:2], before)
    table.set_capacity(1, {"cpu": 1000, "example.com/fpga": 2})
    shares = table.classes.needed_share([(fpga, 1.0)])[table.classes.of_node[:2]]
    assert shares.tolist() == [0.0, 0.5]
    table.forget_after(fpga)
    assert table.classes.inverse.shape[0] == fpga


def test_the_least_free_falls_with_every_task_and_is_looked_up_anew_now_and_then() -> None:
    table = table_of({"cpu": 4000}, {"cpu": 8000})
    cpu, column = table.index["cpu"], table.vector({"cpu": 3000})
    table.take(0, column)
    assert table.least_free[cpu] == 1000
    table.give(0, column)
    assert table.least_free[cpu] == 1000, "a bound, not the minimum"
    table.look_at_all(np.array([True, True]))
    assert table.least_free[cpu] == 4000
    table.look_at_all(np.array([False, True]))
    assert table.least_free[cpu] == 8000, "vacant rows do not count"
