"""Every contradiction in the state is found, and the table that holds it is named."""

from collections.abc import Callable

import pytest
from tests.invariants import Violation, check_invariants

from dovetail.cluster.state import Cluster
from dovetail.model.node import Node
from dovetail.model.task import TaskId

TASK = TaskId(1, 0)


def cluster() -> Cluster:
    found = Cluster()
    for name in ("a", "b"):
        found.join(Node.model_validate({"name": name, "capacity": {"cpu": 1, "memory": "1GiB"}}))
    found.place(TASK, 0, found.resources.vector({"cpu": 600, "slots": 1}), ("default", "web"))
    return found


def _take_too_much(broken: Cluster) -> None:
    broken.place(TaskId(1, 1), 0, broken.resources.vector({"cpu": 600}))


def _allocate_behind_its_back(broken: Cluster) -> None:
    broken.resources.allocated[0, 0] += 1


def _free_drifts(broken: Cluster) -> None:
    broken.resources.free[0, 1] -= 1


def _load_drifts(broken: Cluster) -> None:
    broken.resources.load[0] = 0.5


def _lose_from_the_row(broken: Cluster) -> None:
    broken.placements.by_row[0].clear()


def _list_twice(broken: Cluster) -> None:
    broken.placements.by_row[1][TASK] = None


def _forget_a_service(broken: Cluster) -> None:
    broken.placements.by_service.clear()


def _vanish(broken: Cluster) -> None:
    broken.status.present[0] = False


def _rename(broken: Cluster) -> None:
    broken.names[1] = "c"


def _stale_ready(broken: Cluster) -> None:
    broken.status.ready[1] = False


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (_take_too_much, "over capacity"),
        (_allocate_behind_its_back, "allocated differs"),
        (_free_drifts, "free differs"),
        (_load_drifts, "load differs"),
        (_lose_from_the_row, "missing from its node's list"),
        (_list_twice, "task lists and the tasks' nodes disagree"),
        (_forget_a_service, "service counts differ"),
        (_vanish, "on a node that left"),
        (_rename, "names and rows disagree"),
        (_stale_ready, "ready flag is stale"),
    ],
)
def test_a_contradiction_is_found_and_named(harm: Callable[[Cluster], None], words: str) -> None:
    broken = cluster()
    check_invariants(broken)
    harm(broken)
    with pytest.raises(Violation, match=words):
        check_invariants(broken)


def test_a_cluster_that_places_by_observed_use_may_allocate_more_than_it_has() -> None:
    crowded = cluster()
    _take_too_much(crowded)
    check_invariants(crowded, within_capacity=False)
