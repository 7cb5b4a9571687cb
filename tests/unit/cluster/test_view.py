"""Views: all rows, some rows, or some rows as they would be, with the same answers to the same questions."""

import numpy as np

from dovetail.cluster.state import Cluster
from dovetail.cluster.views.view import View
from dovetail.model.node import Node
from dovetail.model.requests.asks import Match
from dovetail.model.task import TaskId
from dovetail.model.workloads.selection import Operator

RESOURCE_COLUMNS = (
    *("capacity", "schedulable", "reserved", "allocated", "free", "free_share", "inverse_capacity"),
    "free_observed",
)


def cluster() -> Cluster:
    found = Cluster({"cpu": 2.0})
    for i, zone in enumerate(("a", "b", "a", "b")):
        capacity = {"cpu": i + 1, "memory": "4GiB", "slots": 10}
        found.join(Node.model_validate({"name": f"n{i}", "capacity": capacity, "labels": {"zone": zone}}))
    found.place(TaskId(1, 0), 2, found.resources.vector({"cpu": 500, "slots": 1}), ("default", "web"))
    found.observe("n2", {"cpu": 200})
    found.place(TaskId(1, 1), 2, found.resources.vector({"cpu": 700, "slots": 1}), ("default", "web"))
    found.reserve("n1", {"cpu": 300})
    return found


def test_a_subset_answers_as_the_whole_does_for_its_rows() -> None:
    whole = View(cluster())
    rows = np.array([2, 0, 2])
    part = whole.subset(rows)
    for name in RESOURCE_COLUMNS:
        everywhere, here = getattr(whole, name)("cpu"), getattr(part, name)("cpu")
        assert np.array_equal(everywhere[rows], here), name
    assert np.array_equal(whole.load[rows], part.load)
    assert [part.name(i) for i in range(part.size)] == ["n2", "n0", "n2"]
    assert np.array_equal(part.subset(np.array([1])).rows, [0])
    counts = part.service_counts("default", "web")
    assert counts is not None
    assert counts.tolist() == [2, 0, 2]


def test_looking_ahead_shows_the_very_state_that_placing_leads_to() -> None:
    state = cluster()
    column = state.resources.vector({"cpu": 333, "memory": 7, "slots": 1})
    rows = np.array([2, 2, 2])
    ahead = View(state).after(rows, column, np.array([0.0, 1.0, 2.0]))
    seen = [{name: getattr(ahead, name)("cpu")[i] for name in RESOURCE_COLUMNS} for i in range(3)]
    loads = ahead.load.tolist()
    for copies in range(3):
        now = View(state)
        assert {name: getattr(now, name)("cpu")[2] for name in RESOURCE_COLUMNS} == seen[copies]
        assert now.load[2] == loads[copies]
        state.place(TaskId(2, copies), 2, column)


def test_free_by_observation_counts_the_measurement_and_what_came_after_it() -> None:
    free = View(cluster()).free_observed("cpu")
    assert free is not None
    assert free.tolist() == [2000, 4000 - 300, 6000 - 200 - 700, 8000]


def test_a_resource_no_node_ever_had_is_none_not_zero() -> None:
    assert View(cluster()).free("nobody.example/has") is None
    assert View(cluster()).free_observed("nobody.example/has") is None


def test_a_term_holds_where_all_its_comparisons_do() -> None:
    view = View(cluster())
    zone_a = Match("zone", Operator.IN, ("a",))
    assert np.asarray(view.satisfies((zone_a,))).tolist() == [True, False, True, False]
    assert view.satisfies((zone_a, Match("unknown", Operator.EXISTS, ()))) is False
    both = view.satisfies((Match("unknown", Operator.DOES_NOT_EXIST, ()), zone_a))
    assert np.asarray(both).tolist() == [True, False, True, False]
    assert view.satisfies(()) is True


def test_labels_are_read_back_by_position() -> None:
    part = View(cluster()).subset(np.array([1, 0]))
    assert [part.label("zone", i) for i in range(2)] == ["b", "a"]
    assert part.label("unknown", 0) is None


def test_nearness_is_known_only_of_workloads_that_are_placed() -> None:
    state = cluster()
    assert View(state).proximity("default", ["train"]) is None
    state.placements.directory["default", "train"] = (1, 2)
    found = View(state).proximity("default", ["train", "unheard-of"])
    assert found is not None
    assert found[0].tolist() == [1.0, 0.0, 2.0, 0.0]  # n0 is in the same zone
    assert found[1] == 2
