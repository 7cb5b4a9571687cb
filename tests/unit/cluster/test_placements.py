"""Who is where: counts a service and the rows of a live workload."""

import numpy as np

from dovetail.cluster.placements import Placement, PlacementTable
from dovetail.model.task import TaskId

WEB = ("default", "web")


def table() -> PlacementTable:
    found = PlacementTable()
    found.by_row = [{}, {}]
    return found


def test_service_counts_go_up_and_down_and_away() -> None:
    placements = table()
    for replica, row in enumerate((0, 0, 1)):
        placements.add(TaskId(1, replica), Placement(row, np.zeros(5), WEB))
    assert placements.by_service == {WEB: {0: 2, 1: 1}}
    placements.remove(TaskId(1, 0))
    placements.remove(TaskId(1, 2))
    assert placements.by_service == {WEB: {0: 1}}
    placements.remove(TaskId(1, 1))
    assert placements.by_service == {}
    assert placements.by_row == [{}, {}]


def test_rows_of_a_workload_are_those_of_its_placed_tasks_one_entry_each() -> None:
    placements = table()
    placements.directory["default", "train"] = (1, 4)
    for replica, row in ((0, 1), (2, 1), (3, 0)):
        placements.add(TaskId(1, replica), Placement(row, np.zeros(5), None))
    placements.add(TaskId(2, 0), Placement(0, np.zeros(5), None))
    assert placements.rows_of_workload("default", "train") == [1, 1, 0]
    assert placements.rows_of_workload("other", "train") == []
