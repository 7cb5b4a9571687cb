"""The questions: one workload, lists with filters and pages, tasks, decisions, history, counts."""

from dataclasses import replace
from typing import Any

import numpy as np
import orjson
import pytest
from tests.contract.store.records import (
    NOW,
    decision,
    explanation,
    finished,
    line,
    new_workload,
    submitted,
    task_record,
    workload_record,
)

from dovetail.model.batch import Batch, Changes
from dovetail.model.reason import FunnelStep, NodePoints
from dovetail.model.task import TaskState, WorkloadState
from dovetail.store.contract import Store, WorkloadFilter


def test_a_workload_is_read_with_every_column_and_its_definition_parsed(store: Store) -> None:
    store.write(submitted(5))
    given = new_workload(5)
    assert store.workload(5) == {
        "id": 5,
        "namespace": "research",
        "name": "train-5",
        "kind": "job",
        "priority": "high",
        "user": "ann",
        "service": "models",
        "replicas": 1,
        "spec": {"name": "train-5", "run": {"env": {"TOKEN": "s3cret"}}},
        "shape_json": given.shape_json,
        "submitted_at": given.submitted_at,
        "state": "pending",
        "reason": "",
        "message": "",
        "pending": 1,
        "active": 0,
        "succeeded": 0,
        "failed": 0,
        "cancelled": 0,
        "started_at": None,
        "finished_at": None,
        "queue": "research/nlp",
    }
    assert store.spec_json(5) == given.spec_json


def test_what_is_not_there_is_none_or_empty(store: Store) -> None:
    assert store.workload(1) is None
    assert store.find_workload("research", "train-1") is None
    assert store.spec_json(1) is None
    assert store.idempotent_response("key") is None
    assert store.tasks(1) == []
    assert store.decisions(1) == []
    assert store.node_tasks("node-a") == []
    assert store.workloads(WorkloadFilter(), 10, None).items == []


def test_a_name_finds_the_newest_workload_of_its_namespace(store: Store) -> None:
    store.write(submitted(1, 2, name="train"))
    store.write(submitted(3, name="train", namespace="other"))
    found = store.find_workload("research", "train")
    assert found is not None
    assert found["id"] == 2
    assert found["spec"]["name"] == "train-2"


def test_a_name_is_found_in_every_namespace(store: Store) -> None:
    store.write(submitted(1, 2, name="train"))
    store.write(submitted(3, 4, name="train", namespace="other"))
    store.write(submitted(5, namespace="third"))
    assert [row["id"] for row in store.find_everywhere("train")] == [4, 2]
    assert store.find_everywhere("nobody") == []
    assert store.namespaces() == ["other", "research", "third"]


def test_recent_names_come_once_and_newest_first(store: Store) -> None:
    store.write(submitted(1, 2, name="train"))
    store.write(submitted(3, name="eval", namespace="other"))
    assert store.recent_names(10) == [
        {"namespace": "other", "name": "eval"},
        {"namespace": "research", "name": "train"},
    ]
    assert len(store.recent_names(1)) == 1


def test_members_of_a_group_are_found_by_its_exact_name(store: Store) -> None:
    for id_, group in ((1, "g_1"), (2, "gx1"), (3, "G_1"), (4, "g_1")):
        store.write(submitted(id_, spec_json=orjson.dumps({"name": "w", "gang": {"min": 1, "group": group}}).decode()))
    store.write(submitted(5, spec_json='{"name":"g_1"}'))
    assert [row["id"] for row in store.in_group("g_1", 100)] == [1, 4]
    assert [row["id"] for row in store.in_group("g_1", 2)] == [4]


def test_workloads_that_may_be_a_role_are_unfinished_and_end_in_its_name(store: Store) -> None:
    store.write(submitted(1, 2, name="train-worker"))
    store.write(submitted(3, name="train-homework"))
    store.write(finished(1))
    assert [row["id"] for row in store.with_role("worker")] == [2]


@pytest.mark.parametrize(
    ("where", "ids"),
    [
        (WorkloadFilter(), [4, 3, 2, 1]),
        (WorkloadFilter(namespace="other"), [4]),
        (WorkloadFilter(state="succeeded"), [1]),
        (WorkloadFilter(state="running"), [2]),
        (WorkloadFilter(user="bob"), [3]),
        (WorkloadFilter(service="web"), [3]),
        (WorkloadFilter(priority="batch"), [2]),
        (WorkloadFilter(unfinished=True), [4, 3, 2]),
        (WorkloadFilter(name="rain-3"), [3]),
        (WorkloadFilter(name="TRAIN-3"), [3]),
        (WorkloadFilter(name="%"), []),
        (WorkloadFilter(name="_"), []),
        (WorkloadFilter(namespace="research", user="ann", unfinished=True), [2]),
        (WorkloadFilter(namespace="research", state="failed"), []),
        (WorkloadFilter(states=("succeeded", "running")), [2, 1]),
        (WorkloadFilter(states=("succeeded",), unfinished=True), []),
        (WorkloadFilter(queue="deep"), []),
    ],
)
def test_filters_narrow_a_list(store: Store, where: WorkloadFilter, ids: list[int]) -> None:
    running = workload_record(2, WorkloadState.RUNNING)
    store.write(
        Batch(
            submitted=[
                new_workload(1),
                new_workload(2, priority="batch"),
                new_workload(3, user="bob", service="web"),
                new_workload(4, namespace="other", user=None, service=None),
            ],
            changes=Changes(workloads=[running]),
        )
    )
    store.write(finished(1))
    assert [row["id"] for row in store.workloads(where, 10, None).items] == ids


def test_pages_join_up_without_gaps_or_repeats_while_rows_are_added(store: Store) -> None:
    store.write(submitted(*range(1, 8)))
    seen: list[int] = []
    cursor: str | None = None
    for later in (8, 9, 10, 11):
        page = store.workloads(WorkloadFilter(), 2, cursor)
        seen += [row["id"] for row in page.items]
        cursor = page.cursor
        store.write(submitted(later))
    assert seen == [7, 6, 5, 4, 3, 2, 1]
    assert cursor is None


def test_a_list_that_ends_with_its_page_has_no_cursor(store: Store) -> None:
    store.write(submitted(1, 2))
    assert store.workloads(WorkloadFilter(), 2, None).cursor is None
    assert store.workloads(WorkloadFilter(), 1, None).cursor == "2"


@pytest.mark.parametrize("cursor", ["", "x", "-1", "1; DROP TABLE tasks", "٣", "9" * 40])
def test_a_cursor_that_no_page_gave_is_refused(store: Store, cursor: str) -> None:
    with pytest.raises(ValueError, match="not a cursor"):
        store.workloads(WorkloadFilter(), 2, cursor)


def test_tasks_are_read_by_replica_with_the_unwritten_ones_filled_in(store: Store) -> None:
    running = task_record(1, 1, TaskState.RUNNING, exit_code=None, started_at=NOW + 1, message="runs")
    store.write(Batch(submitted=[new_workload(1, replicas=3)], changes=Changes(tasks=[running])))
    pending: dict[str, Any] = {
        "workload": 1,
        "replica": 0,
        "state": "pending",
        "attempt": 0,
        "node": None,
        "backend": None,
        "reason": "",
        "message": "",
        "exit_code": None,
        "placed_at": None,
        "started_at": None,
        "finished_at": None,
        "failures": 0,
        "bind_failures": 0,
        "devices": [],
    }
    first, second, third = store.tasks(1)
    assert first == pending
    assert third == pending | {"replica": 2}
    assert second == pending | {
        "replica": 1,
        "state": "running",
        "attempt": 1,
        "node": "node-a",
        "backend": "simulated",
        "message": "runs",
        "placed_at": NOW,
        "started_at": NOW + 1,
    }


def test_tasks_come_in_slices(store: Store) -> None:
    store.write(
        Batch(submitted=[new_workload(1, replicas=10_000)], changes=Changes(tasks=[task_record(1, 5_001)])),
    )
    rows = store.tasks(1, limit=3, offset=5_000)
    assert [(row["replica"], row["state"]) for row in rows] == [(5000, "pending"), (5001, "placed"), (5002, "pending")]
    assert len(store.tasks(1, limit=10, offset=9_995)) == 5
    assert store.tasks(1, limit=10, offset=20_000) == []


def test_a_node_lists_the_tasks_that_hold_it(store: Store) -> None:
    tasks = [
        *(task_record(1, replica, state) for replica, state in enumerate(TaskState)),
        task_record(2, 0, TaskState.RUNNING, node="node-b"),
    ]
    store.write(Batch(submitted=[new_workload(1, replicas=8), new_workload(2)], changes=Changes(tasks=tasks)))
    rows = store.node_tasks("node-a")
    assert [row["state"] for row in rows] == ["placed", "bound", "running", "stopping"]
    assert {(row["workload"], row["namespace"], row["name"]) for row in rows} == {(1, "research", "train-1")}


def test_decisions_come_newest_first_with_their_explanation_whole(store: Store) -> None:
    store.write(
        Batch(
            submitted=[new_workload(1, replicas=3), new_workload(2)],
            changes=Changes(decisions=[decision(1, replica, at=NOW + replica) for replica in range(3)] + [decision(2)]),
        )
    )
    newest, older = store.decisions(1, limit=2)
    assert (newest["replica"], older["replica"]) == (2, 1)
    assert newest == {
        "workload": 1,
        "replica": 2,
        "attempt": 1,
        "at": NOW + 2,
        "node": "node-a",
        "outcome": "placed",
        "explanation": explanation().to_dict(),
    }


def test_numbers_from_arrays_are_stored_as_plain_numbers(store: Store) -> None:
    candidate = NodePoints("node-a", np.float64(87.5), (np.float64(0.75),), np.float64(0.25))
    step = FunnelStep("resources", 37, "insufficient_resources")
    told = replace(explanation(), best=(candidate,), funnel=(step,))
    store.write(submitted(1))
    store.write(Batch(changes=Changes(decisions=[replace(decision(1), explanation=told)])))
    assert store.decisions(1)[0]["explanation"] == explanation().to_dict()


def test_history_is_read_oldest_first_and_from_where_one_stopped(store: Store) -> None:
    store.write(Batch(history=[line("one", workload=1, replica=0, node="node-a"), line("two", node="node-a")]))
    store.write(Batch(history=[line("three", workload=1), line("four")]))
    lines = store.history()
    assert [row["message"] for row in lines] == ["one", "two", "three", "four"]
    assert [row["seq"] for row in lines] == sorted({row["seq"] for row in lines})
    assert [row["message"] for row in store.history(workload_id=1)] == ["one", "three"]
    assert [row["message"] for row in store.history(node="node-a")] == ["one", "two"]
    assert [row["message"] for row in store.history(workload_id=1, node="node-a")] == ["one"]
    assert [row["message"] for row in store.history(workload_id=[1, 2])] == ["one", "three"]
    assert [row["message"] for row in store.history(workload_id=1, replica=1)] == ["three"]
    assert [row["message"] for row in store.history(after=lines[1]["seq"], limit=1)] == ["three"]
    assert {name: lines[0][name] for name in ("at", "kind", "workload", "replica", "node")} == {
        "at": NOW,
        "kind": "task.placed",
        "workload": 1,
        "replica": 0,
        "node": "node-a",
    }


def test_the_first_response_under_an_idempotency_key_stands(store: Store) -> None:
    store.write(Batch(idempotency=[("key", '{"id":1}', NOW)]))
    store.write(Batch(idempotency=[("key", '{"id":2}', NOW + 1)]))
    assert store.idempotent_response("key") == '{"id":1}'


def test_workloads_are_counted_by_state(store: Store) -> None:
    store.write(submitted(1, 2, 3))
    store.write(finished(2))
    assert store.counts() == {
        "pending": 2,
        "starting": 0,
        "running": 0,
        "succeeded": 1,
        "failed": 0,
        "cancelled": 0,
    }
