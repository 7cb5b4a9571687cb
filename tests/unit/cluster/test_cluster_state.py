"""The cluster as the only door for changes: rows, definitions, status, trials, and the log of what changed."""

from collections.abc import Callable

import numpy as np
import pytest
from tests.invariants import check_invariants

from dovetail.cluster import change_log
from dovetail.cluster.arrays import FIRST_CAPACITY
from dovetail.cluster.change_log import GROUPS, LABELS, PLACEMENTS, RESOURCES, STATUS
from dovetail.cluster.state import Cluster
from dovetail.model.node import Node
from dovetail.model.record import Outcomes
from dovetail.model.task import TaskId
from dovetail.model.workloads.workload import WorkloadKind

FULL = Node.model_validate(
    {
        "name": "full",
        "backend": "k8s",
        "capacity": {"cpu": "1500m", "memory": "2GiB", "disk": "7GB", "gpu": 2, "slots": 9, "example.com/fpga": 3},
        "labels": {"zone": "a", "empty": ""},
        "taints": [{"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}],
        "kinds": ["vm"],
    }
)


def cluster_of(*names: str) -> Cluster:
    cluster = Cluster()
    for name in names:
        cluster.join(Node.model_validate({"name": name, "capacity": {"cpu": 4, "memory": "4GiB"}}))
    return cluster


def place(cluster: Cluster, replica: int, node: str, cpu: float = 1000, service: str | None = None) -> TaskId:
    task = TaskId(1, replica)
    column = cluster.resources.vector({"cpu": cpu, "slots": 1})
    cluster.place(task, cluster.rows[node], column, ("default", service) if service else None)
    return task


def test_a_definition_can_be_read_back_from_the_tables() -> None:
    cluster = cluster_of("other")
    cluster.join(FULL)
    assert cluster.node("full") == FULL


def test_rows_follow_the_order_of_joining_and_are_reused_after_a_node_left() -> None:
    cluster = cluster_of("a", "b", "c")
    assert cluster.rows == {"a": 0, "b": 1, "c": 2}
    cluster.leave("b")
    assert cluster.width == 3
    cluster.join(FULL)
    assert cluster.rows["full"] == 1
    check_invariants(cluster)


def test_the_lowest_vacant_row_is_given_first() -> None:
    cluster = cluster_of("a", "b", "c", "d")
    for name in ("c", "a", "b"):
        cluster.leave(name)
    for name in ("e", "f", "g", "h"):
        cluster.join(Node(name=name))
    assert cluster.rows == {"d": 3, "e": 0, "f": 1, "g": 2, "h": 4}
    check_invariants(cluster)


def test_a_node_put_back_into_its_row_leaves_the_rows_before_it_vacant_for_others() -> None:
    cluster = Cluster()
    last = FIRST_CAPACITY + 3
    for name, row in (("a", 1), ("b", last)):
        assert cluster.join(Node(name=name), at=row) == row
        assert cluster.record(name).row == row
    assert cluster.width == last + 1
    assert np.flatnonzero(cluster.status.present).tolist() == [1, last]
    cluster.set_backend_available("registered", False)
    check_invariants(cluster)
    assert [cluster.join(Node(name=name)) for name in ("c", "d")] == [0, 2]
    check_invariants(cluster)


def test_a_node_cannot_be_put_back_into_a_row_that_was_given() -> None:
    cluster = cluster_of("a", "b")
    with pytest.raises(AssertionError, match="node c cannot go back to row 1"):
        cluster.join(Node(name="c"), at=1)


def test_a_reused_row_keeps_nothing_of_the_node_that_left() -> None:
    cluster = Cluster()
    cluster.join(FULL)
    cluster.reserve("full", {"cpu": 500})
    cluster.observe("full", {"cpu": 100})
    cluster.set_cordoned("full", True, "maintenance")
    cluster.set_outcomes("full", Outcomes(3, 2, 4.5, 3.0))
    cluster.leave("full")
    cluster.join(Node(name="bare"))
    assert cluster.outcomes("bare") == Outcomes(0, 0)
    assert cluster.node("bare") == Node(name="bare")
    assert not cluster.status.cordoned[0]
    assert not cluster.resources.reserved[:, 0].any()
    assert not cluster.resources.observed[:, 0].any()
    assert cluster.record("bare").reason == ""


def test_a_node_that_holds_tasks_cannot_be_forgotten() -> None:
    cluster = cluster_of("a")
    place(cluster, 0, "a")
    with pytest.raises(AssertionError, match="still holds tasks"):
        cluster.leave("a")


def test_a_new_definition_keeps_tasks_reservations_and_a_cordon_and_brings_the_node_online() -> None:
    cluster = cluster_of("a")
    place(cluster, 0, "a")
    cluster.reserve("a", {"cpu": 500})
    cluster.set_cordoned("a", True)
    cluster.set_online("a", False)
    cluster.join(Node.model_validate({"name": "a", "capacity": {"cpu": 2, "memory": "1GiB"}}))
    assert cluster.resources.free[cluster.resources.index["cpu"], 0] == 500
    assert cluster.status.online[0]
    assert cluster.status.cordoned[0]
    assert not cluster.status.ready[0]
    check_invariants(cluster)


def test_a_node_is_ready_when_online_uncordoned_and_its_backend_answers() -> None:
    cluster = cluster_of("a")
    changes: list[Callable[[bool], None]] = [
        lambda on: cluster.set_online("a", on),
        lambda on: cluster.set_cordoned("a", not on),
        lambda on: cluster.set_backend_available("registered", on),
    ]
    for change in changes:
        assert cluster.status.ready[0]
        change(False)
        assert not cluster.status.ready[0]
        change(True)
    assert cluster.status.ready[0]


def test_a_backend_that_is_down_before_its_first_node_joins_stays_down() -> None:
    cluster = Cluster()
    cluster.set_backend_available("k8s", False)
    cluster.join(FULL)
    assert not cluster.status.ready[0]
    cluster.set_backend_available("k8s", True)
    assert cluster.status.ready[0]


def test_uncordoning_ends_a_drain_and_clears_the_reason() -> None:
    cluster = cluster_of("a")
    cluster.set_cordoned("a", True, "maintenance")
    cluster.status.drained.add("a")
    assert cluster.record("a").reason == "maintenance"
    cluster.set_cordoned("a", False)
    assert cluster.record("a").reason == ""
    assert not cluster.record("a").drained


def test_the_tables_grow_with_the_cluster() -> None:
    cluster = cluster_of(*(f"n{i}" for i in range(100)))
    place(cluster, 0, "n99")
    cluster.count_outcome("n99", ok=False)
    assert cluster.outcomes("n99") == Outcomes(0, 1)
    check_invariants(cluster)
    assert cluster.node("n99").capacity.cpu == 4
    assert int(cluster.status.ready[:100].sum()) == 100


def test_every_change_is_logged_in_its_column_groups() -> None:
    cluster = cluster_of("a", "b")

    def logged() -> set[str]:
        changed = {group for group in GROUPS if cluster.log[group]}
        for rows in cluster.log.values():
            assert set(rows) <= {1}
            rows.clear()
        return changed

    for rows in cluster.log.values():
        rows.clear()
    task = place(cluster, 0, "b")
    assert logged() == {RESOURCES, PLACEMENTS}
    cluster.remove(task)
    assert logged() == {RESOURCES, PLACEMENTS}
    cluster.reserve("b", {"cpu": 1})
    assert logged() == {RESOURCES}
    cluster.observe("b", {"cpu": 1})
    assert logged() == {RESOURCES}
    cluster.set_cordoned("b", True)
    assert logged() == {STATUS}
    cluster.join(Node(name="b", labels={"zone": "a"}))
    assert logged() == set(GROUPS)
    assert LABELS in GROUPS


def test_a_log_that_grew_too_long_is_cut_and_caches_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_log, "_LOG_LIMIT", 3)
    cluster = cluster_of("a", "b")
    cluster.trim_log()
    assert cluster.epoch == 0
    place(cluster, 0, "a")
    place(cluster, 1, "b")
    cluster.trim_log()
    assert cluster.epoch == 1
    assert not any(cluster.log.values())


def test_a_trial_undoes_what_was_placed_removed_and_reserved() -> None:
    cluster = cluster_of("a", "b")
    first = place(cluster, 0, "a", service="web")
    cluster.observe("a", {"cpu": 300})
    place(cluster, 1, "a")
    allocated, unseen = cluster.resources.allocated.copy(), cluster.resources.unseen.copy()
    with cluster.trial():
        cluster.remove(first)
        place(cluster, 2, "b", service="web")
        cluster.reserve("b", {"cpu": 100})
        with cluster.trial():
            place(cluster, 3, "b")
        assert TaskId(1, 3) not in cluster.placements.by_task
        assert TaskId(1, 2) in cluster.placements.by_task
    assert set(cluster.placements.by_task) == {TaskId(1, 0), TaskId(1, 1)}
    assert cluster.placements.by_service == {("default", "web"): {0: 1}}
    assert np.array_equal(cluster.resources.allocated, allocated)
    assert np.array_equal(cluster.resources.unseen, unseen)
    assert not cluster.resources.reserved.any()
    check_invariants(cluster)


def test_a_node_runs_the_kinds_it_says_and_no_others() -> None:
    cluster = Cluster()
    for kind in WorkloadKind:
        cluster.join(Node(name=str(kind), kinds=[kind]))
    for kind in WorkloadKind:
        assert [cluster.names[row] for row in np.flatnonzero(cluster.runs(kind))] == [str(kind)]
    for kind in WorkloadKind:
        cluster.join(Node(name=str(kind), kinds=[WorkloadKind.JOB]))
    assert cluster.runs(WorkloadKind.JOB) is True
    assert not np.any(cluster.runs(WorkloadKind.VM)), "a new definition is seen at once"
