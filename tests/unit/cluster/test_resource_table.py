"""The resource table: sums are exact, free follows every change, and resources may appear at any time."""

import numpy as np

from dovetail.cluster.resources import ResourceTable, loads


def table_with(node_capacity: dict[str, float], overcommit: dict[str, float] | None = None) -> ResourceTable:
    table = ResourceTable(overcommit)
    table.set_capacity(0, node_capacity)
    return table


def of(table: ResourceTable, name: str, resource: str) -> float:
    return float(getattr(table, name)[table.index[resource], 0])


def test_overcommit_multiplies_capacity_and_rounds_down() -> None:
    table = table_with({"cpu": 1001, "memory": 1000}, {"cpu": 1.5})
    assert of(table, "schedulable", "cpu") == 1501
    assert of(table, "free", "memory") == 1000
    assert of(table, "inverse", "cpu") == 1 / 1001, "shares are of real capacity, not of the overcommitted one"


def test_what_was_taken_and_given_back_leaves_the_node_exactly_as_free_as_before() -> None:
    table = table_with({"cpu": 3000, "memory": 10**15 + 1})
    column = table.vector({"cpu": 333, "memory": 10**14 + 7})
    for _ in range(3):
        table.take(0, column)
    assert of(table, "free", "memory") == 10**15 + 1 - 3 * (10**14 + 7)
    for _ in range(3):
        table.give(0, column)
    assert of(table, "free", "memory") == 10**15 + 1
    assert of(table, "allocated", "cpu") == 0


def test_a_resource_nobody_had_gets_a_row_and_older_columns_still_fit() -> None:
    table = table_with({"cpu": 1000})
    old = table.vector({"cpu": 100})
    new = table.vector({"example.com/fpga": 2})
    assert len(new) == len(old) + 1
    table.take(0, old)
    table.take(0, new)
    assert table.amounts(table.allocated[:, 0]) == {"cpu": 100, "example.com/fpga": 2}
    assert of(table, "free", "example.com/fpga") == -2, "nobody has it, so taking it overdraws"


def test_reservations_are_held_back_from_free_and_let_go_again() -> None:
    table = table_with({"cpu": 1000})
    column = table.vector({"cpu": 400})
    table.hold(0, column, 1)
    assert of(table, "free", "cpu") == 600
    table.hold(0, column, -1)
    assert of(table, "free", "cpu") == 1000


def test_a_measurement_takes_over_what_was_allocated_before_it() -> None:
    table = table_with({"cpu": 4000})
    column = table.vector({"cpu": 1000})
    table.take(0, column)
    assert of(table, "unseen", "cpu") == 1000
    table.observe(0, {"cpu": 250})
    assert (of(table, "observed", "cpu"), of(table, "unseen", "cpu")) == (250, 0)
    table.take(0, column)
    table.give(0, column)
    table.give(0, column)
    assert of(table, "unseen", "cpu") == 0, "never negative: the first task was part of the measurement"


def test_load_is_the_mean_share_of_cpu_memory_and_slots() -> None:
    table = table_with({"cpu": 4000, "memory": 1000, "disk": 10, "slots": 10})
    table.take(0, table.vector({"cpu": 1000, "memory": 500, "disk": 10, "slots": 1}))
    assert table.load[0] == (0.25 + 0.5 + 0.1) / 3
    assert table.load[0] == loads(table.allocated[:, :1], table.inverse[:, :1])[0]


def test_a_node_without_any_of_a_resource_has_no_share_of_it_in_use() -> None:
    table = table_with({"slots": 5})
    table.take(0, table.vector({"slots": 1}))
    assert table.load[0] == 0.2 / 3


def test_growth_keeps_what_was_there() -> None:
    table = table_with({"cpu": 1000})
    table.widen(64)
    assert of(table, "capacity", "cpu") == 1000
    assert table.capacity.shape[1] == table.load.shape[0] == 64
    assert np.count_nonzero(table.capacity) == 1


def test_the_amounts_of_a_column_from_before_a_resource_was_known_are_the_same_afterwards() -> None:
    table = ResourceTable()
    column = table.vector({"cpu": 500.0})
    table.row_of("example.com/fpga")
    assert table.amounts(column) == {"cpu": 500}
