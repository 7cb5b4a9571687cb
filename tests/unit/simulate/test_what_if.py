"""What-if: the differences that changes make, and what another profile would have chosen."""

from typing import Any

import pytest
from tests.unit.simulate.test_cases import full, running, snapshot, waiting

from dovetail.simulate.changes import ClusterChanges
from dovetail.simulate.preview import preview
from dovetail.simulate.what_if import what_if
from dovetail.snapshots.document import SnapshotDocument
from dovetail.snapshots.file import read_snapshot


def document(*workloads: dict[str, Any], **fields: Any) -> SnapshotDocument:
    return read_snapshot(snapshot(*workloads, **fields).read(), "state.json")


def asked(taken: SnapshotDocument, **changes: Any) -> dict[str, Any]:
    return what_if(taken, ClusterChanges.model_validate(changes))


def test_without_changes_nothing_differs() -> None:
    found = asked(document(*full(), waiting(5)))
    assert found["sentences"] == ["Without changes there is no difference within 6h."]
    assert all(not found["differences"][name]["count"] for name in ("started", "delayed", "moved", "unplaced"))


def test_a_removed_node_moves_its_tasks_and_delays_others() -> None:
    busy = [running(row + 1, f"n-{row}") for row in range(3)]
    found = asked(document(*busy, waiting(4), waiting(5)), remove_nodes=["n-0"])["differences"]
    assert found["moved"]["count"] == 1
    assert found["moved"]["items"][0] | {"at_s": 0} == {
        "namespace": "default", "name": "w-1", "id": 1, "replica": 0, "from": "n-0", "to": "n-3", "at_s": 0,
    }  # fmt: skip
    assert [one["name"] for one in found["delayed"]["items"]] == ["w-4", "w-5"]
    assert not found["unplaced"]["count"]


def test_work_that_fits_nowhere_any_more_is_named_with_the_reason() -> None:
    big = waiting(5, resources={"gpu": 4})
    found = asked(document(big), remove_nodes=["n-0", "n-1", "n-2", "n-3"], add_nodes=[{"capacity": {"cpu": 8}}])
    (one,) = found["differences"]["unplaced"]["items"]
    assert one["name"] == "w-5"
    assert "gpu" in one["why"].lower()
    assert "1 workload would have no node within 6h: default/w-5." in found["sentences"]


def test_more_nodes_start_work_sooner_and_the_sentence_says_by_how_much() -> None:
    found = asked(document(*full(), waiting(5)), add_nodes=[{"like": "n-0", "count": 2}])
    assert found["differences"]["started"]["items"][0]["before_s"] == 3500.0
    assert "1 workload would start sooner, w-5 by 58m20s." in found["sentences"]
    assert found["before"]["utilisation"]["cpu"] > found["after"]["utilisation"]["cpu"]


def test_new_work_that_preempts_says_whom() -> None:
    urgent = {"name": "urgent", "priority": "critical", "resources": {"cpu": 8}, "run": {"simulate": {"run_time": 60}}}
    low = [running(row + 1, f"n-{row}", priority="batch") for row in range(4)]
    found = asked(document(*low), workloads=[urgent])["differences"]
    assert found["preempted"]["count"] == 1
    assert found["preempted"]["items"][0]["why"] == "1 preemption of its tasks"
    assert found["started"]["items"][0]["name"] == "urgent"


def test_a_preview_counts_decisions_that_would_be_the_same() -> None:
    spread = [running(row + 1, f"n-{row}", resources={"cpu": 1}) for row in range(4)]
    taken = document(*spread)
    packed = preview(taken, ClusterChanges(profile="best_fit"))
    assert (packed["decisions"], packed["same"], packed["different"]) == (4, 1, 3)
    assert packed["after"]["nodes_in_use"] == 1
    assert "3 fewer nodes would be in use." in packed["sentences"]
    even = preview(taken, ClusterChanges(profile="least_loaded"))
    assert even["same"] == 4
    assert even["before"] == even["after"]
    assert preview(taken, ClusterChanges(profile="best_fit"), last=2)["decisions"] == 2


def test_a_leaf_that_fails_says_which_work_would_fail_with_it() -> None:
    found = asked(document(running(1, "n-0"), running(2, "n-1", retries=2)), fail=[{"name": "n-0", "at": "10m"}])
    (one,) = found["differences"]["failed"]["items"]
    assert one["name"] == "w-1"
    assert "1 workload would fail: default/w-1." in found["sentences"]


def test_use_is_compared_over_the_same_time() -> None:
    found = asked(document(*full(), waiting(5)), add_nodes=[{"like": "n-0"}])
    work_s = 4 * 3500 + 600
    assert found["differences"]["utilisation"]["cpu"] == {
        "before": pytest.approx(work_s / (4 * 4100), abs=0.001),
        "after": pytest.approx(work_s / (5 * 4100), abs=0.001),
    }


def test_new_work_with_roles_is_one_workload_for_each() -> None:
    roles = [{"name": "head", "replicas": 1}, {"name": "worker", "replicas": 2}]
    work = {"name": "ray", "resources": {"cpu": 1}, "roles": roles, "run": {"simulate": {"run_time": 60}}}
    found = asked(document(), workloads=[work])["differences"]
    assert {one["name"] for one in found["started"]["items"]} == {"ray-head", "ray-worker"}
