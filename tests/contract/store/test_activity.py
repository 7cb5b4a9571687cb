"""What a store says of the past: attempts, unusual tasks first, events with names, hours that were used."""

from dataclasses import replace
from typing import Any

import pytest
from tests.contract.store.records import NOW, line, new_workload, task_record, workload_record

from dovetail.model.batch import Batch, Changes
from dovetail.model.record import AttemptRecord, HistoryLine
from dovetail.model.task import TaskId, TaskState, WorkloadState
from dovetail.store.contract import EventFilter, Store, UsageFilter

SHAPE = '{"retries":0,"shape":{"amounts":{"cpu":2000,"gpu":1000}}}'


def attempt(workload: int, replica: int = 0, number: int = 1, **changed: Any) -> AttemptRecord:
    fields: dict[str, Any] = {
        "task": TaskId(workload, replica),
        "attempt": number,
        "node": "node-a",
        "backend": "simulated",
        "placed_at": NOW,
        "started_at": NOW + 1,
        "ended_at": NOW + 11,
        "reason": "failed",
        "message": "exited with status 3",
        "exit_code": 3,
    }
    return AttemptRecord(**fields | changed)


def write(store: Store, *, tasks: list[Any] | None = None, attempts: list[AttemptRecord] | None = None) -> None:
    store.write(Batch(changes=Changes(tasks=tasks or [], attempts=attempts or [])))


def test_attempts_are_told_apart_newest_first_each_with_its_node_and_times(store: Store) -> None:
    store.write(Batch(submitted=[new_workload(1, replicas=2)]))
    running = {"attempt": 2, "node": "node-b", "placed_at": NOW + 20, "started_at": NOW + 21}
    write(
        store,
        tasks=[task_record(1, 0, TaskState.RUNNING, **running), task_record(1, 1, TaskState.RUNNING)],
        attempts=[attempt(1)],
    )
    found = store.attempts(1, limit=10)
    assert found.total == 3
    newest, *_ = found.items
    assert (newest["node"], newest["started_at"], newest["ended_at"], newest["state"]) == (
        "node-b",
        NOW + 21,
        None,
        "running",
    )
    repeated = store.attempts(1, limit=10, repeated=True).items
    assert [(row["replica"], row["attempt"], row["state"], row["exit_code"]) for row in repeated] == [
        (0, 2, "running", None),
        (0, 1, "failed", 3),
    ]
    assert [row["attempt"] for row in store.attempts(1, limit=1, offset=1, replica=0).items] == [1]


def test_an_attempt_that_migrated_is_one_row_for_each_node_and_counts_once(store: Store) -> None:
    store.write(Batch(submitted=[new_workload(1, shape_json=SHAPE)]))
    ran = {"started_at": NOW + 1, "finished_at": NOW + 31}
    write(
        store,
        tasks=[task_record(1, 0, TaskState.SUCCEEDED, node="node-b", **ran)],
        attempts=[attempt(1, reason="moved", exit_code=None)],
    )
    rows = store.attempts(1, limit=10).items
    assert [(row["node"], row["started_at"], row["ended_at"]) for row in rows] == [
        ("node-b", NOW + 11, NOW + 31),
        ("node-a", NOW + 1, NOW + 11),
    ]
    [used] = store.usage(UsageFilter(), 10, None, NOW + 100).items
    assert (used["attempts"], used["task_s"]) == (1, 30.0)


def test_a_pending_task_has_only_its_earlier_attempts(store: Store) -> None:
    store.write(Batch(submitted=[new_workload(1)]))
    waits = task_record(1, 0, TaskState.PENDING, node=None, backend=None, placed_at=None)
    write(store, tasks=[waits], attempts=[attempt(1)])
    assert [row["attempt"] for row in store.attempts(1, limit=10).items] == [1]
    assert store.run_spans([1, 2]) == {1: [(NOW + 1, NOW + 11)]}


def test_failed_and_unusual_tasks_come_first_and_every_task_comes_once(store: Store) -> None:
    store.write(Batch(submitted=[new_workload(1, replicas=9)]))
    states: dict[int, tuple[TaskState, dict[str, Any]]] = {
        0: (TaskState.SUCCEEDED, {"finished_at": NOW + 5}),
        1: (TaskState.RUNNING, {"started_at": NOW}),
        2: (TaskState.FAILED, {"finished_at": NOW + 1}),
        3: (TaskState.RUNNING, {"started_at": NOW, "attempt": 2}),
        4: (TaskState.FAILED, {"finished_at": NOW + 9}),
        6: (TaskState.STOPPING, {"started_at": NOW}),
        8: (TaskState.PENDING, {"message": "exited with status 3; retry 1 of 2"}),
    }
    write(store, tasks=[task_record(1, replica, state, **more) for replica, (state, more) in states.items()])
    found = store.unusual_tasks(1, limit=100)
    assert [row["replica"] for row in found.items] == [4, 2, 6, 8, 3, 5, 7, 1, 0]
    paged = [row["replica"] for start in range(0, 9, 2) for row in store.unusual_tasks(1, 2, start).items]
    assert (paged, found.total) == ([row["replica"] for row in found.items], 9)
    failed = store.unusual_tasks(1, limit=1, state="failed")
    assert ([row["replica"] for row in failed.items], failed.total) == ([4], 2)
    assert [row["replica"] for row in store.unusual_tasks(1, 10, state="pending").items] == [8, 5, 7]


@pytest.mark.parametrize("state", [TaskState.CANCELLED, TaskState.FAILED])
def test_tasks_without_rows_that_ended_with_their_workload_are_like_the_last_with_one(
    store: Store, state: TaskState
) -> None:
    store.write(Batch(submitted=[new_workload(1, replicas=5)]))
    ended = {"attempt": 0, "node": None, "backend": None, "placed_at": None, "finished_at": NOW, "message": "enough"}
    known = [task_record(1, 0, TaskState.STOPPING), task_record(1, 1, state, **ended)]
    count = {"failed" if state is TaskState.FAILED else "cancelled": 4}
    record = workload_record(1, WorkloadState.RUNNING, pending=0, active=1, **count)
    store.write(Batch(changes=Changes(workloads=[record], tasks=known)))
    found = {row["replica"]: row for row in store.tasks(1)}
    assert [found[replica] for replica in (2, 3, 4)] == [found[1] | {"replica": replica} for replica in (2, 3, 4)]
    unusual = store.unusual_tasks(1, 10, state=str(state))
    assert ({row["replica"] for row in unusual.items}, unusual.total) == ({1, 2, 3, 4}, 4)
    assert store.unusual_tasks(1, 10, state="pending").total == 0
    (restored,) = store.restore().workloads
    assert restored.tasks == [*known, *[replace(known[1], task=TaskId(1, replica)) for replica in (2, 3, 4)]]


def test_events_name_their_workload_and_are_paged_both_ways(store: Store) -> None:
    store.write(Batch(submitted=[new_workload(1)]))
    about = [
        line("one", NOW, workload=1, replica=0),
        line("two", NOW + 1, node="n"),
        line("three", NOW + 2, workload=1),
    ]
    store.write(Batch(history=[*about, line("four", NOW + 3, workload=9)]))

    def words(where: EventFilter, **how: Any) -> list[str]:
        return [row["message"] for row in store.events(where, **{"limit": 10} | how).items]

    first = store.events(EventFilter(), limit=1)
    assert (first.items[0]["namespace"], first.items[0]["name"]) == ("research", "train-1")
    assert first.cursor is not None
    assert words(EventFilter(), after=int(first.cursor)) == ["two", "three", "four"]
    newest = store.events(EventFilter(), limit=2, newest_first=True)
    assert [row["message"] for row in newest.items] == ["four", "three"]
    assert newest.items[0]["name"] is None
    assert newest.cursor is not None
    assert words(EventFilter(), before=int(newest.cursor), newest_first=True) == ["two", "one"]
    assert words(EventFilter(since=NOW + 2)) == ["three", "four"]
    assert words(EventFilter(namespace="research")) == ["one", "three"]
    assert words(EventFilter(workloads=[1], replica=3)) == ["three"]
    assert words(EventFilter(kinds=["nothing"])) == []


@pytest.mark.parametrize("pruned", [0, 1, 37, 99, 100])
def test_events_since_a_time_are_found_also_after_old_ones_were_pruned(store: Store, pruned: int) -> None:
    assert store.events(EventFilter(since=NOW), limit=10).items == []
    store.write(Batch(history=[HistoryLine(NOW + place // 3, "placed", str(place)) for place in range(100)]))
    store.prune(0.0, NOW + pruned // 3)
    left = range(3 * (pruned // 3), 100)
    for since in (-1, 0, 1, 12, 20, 33, 34):
        found = store.events(EventFilter(since=NOW + since), limit=1000).items
        assert [row["message"] for row in found] == [str(place) for place in left if place // 3 >= since]


def test_rare_kinds_are_found_among_others(store: Store) -> None:
    kinds = ["placed", "note", "running", "failed", "node"]
    store.write(Batch(history=[HistoryLine(NOW + place, kinds[place % 5], str(place)) for place in range(50)]))

    def words(*wanted: str) -> list[str]:
        found = store.events(EventFilter(kinds=wanted, since=NOW + 30), limit=1000, newest_first=True)
        return [row["message"] for row in found.items]

    assert words("note") == ["46", "41", "36", "31"]
    assert words("note", "failed") == ["48", "46", "43", "41", "38", "36", "33", "31"]
    assert words("note", "placed") == ["46", "45", "41", "40", "36", "35", "31", "30"]


def test_usage_is_added_up_by_workload_and_in_total(store: Store) -> None:
    store.write(Batch(submitted=[new_workload(id_, shape_json=SHAPE, replicas=2) for id_ in (1, 2, 3)]))
    ran = {"started_at": NOW, "finished_at": NOW + 10, "exit_code": 1}
    ended = workload_record(1, WorkloadState.FAILED, finished_at=NOW + 10)
    store.write(
        Batch(
            changes=Changes(
                workloads=[ended],
                tasks=[
                    task_record(1, 0, TaskState.FAILED, **ran),
                    task_record(1, 1, TaskState.SUCCEEDED, **ran | {"exit_code": 0}),
                    task_record(2, 0, TaskState.RUNNING, attempt=2, started_at=NOW + 40),
                ],
                attempts=[attempt(2)],
            )
        )
    )
    now = NOW + 100
    rows = store.usage(UsageFilter(), 2, None, now)
    assert [(row["id"], row["attempts"], row["task_s"], row["exit_code"]) for row in rows.items] == [
        (3, 0, 0.0, None),
        (2, 2, 70.0, None),
    ]
    assert rows.items[0]["amounts"] == {"cpu": 2000, "gpu": 1000}
    [last] = store.usage(UsageFilter(), 2, rows.cursor, now).items
    assert (last["task_s"], last["exit_code"]) == (20.0, 1)
    totals = store.usage_totals(UsageFilter(), now)
    assert (totals.workloads, totals.attempts, totals.task_s) == (3, 4, [({"cpu": 2000, "gpu": 1000}, 90.0)])
    recent = UsageFilter(since=NOW + 90, truncate=True)
    assert [(row["id"], row["task_s"]) for row in store.usage(recent, 9, None, now).items] == [(3, 0.0), (2, 10.0)]
    found = {queue: store.usage_totals(UsageFilter(queue=queue), now).workloads for queue in ("research", "re", "nlp")}
    assert found == {"research": 3, "re": 0, "nlp": 0}
    assert store.usage_totals(UsageFilter(queue="research/nlp"), now).workloads == 3
    with pytest.raises(ValueError, match="cursor"):
        store.usage(UsageFilter(), 1, "x", now)


def test_attempts_are_forgotten_with_their_workload(store: Store) -> None:
    store.write(Batch(submitted=[new_workload(1)]))
    ended = workload_record(1, WorkloadState.SUCCEEDED, finished_at=NOW)
    store.write(Batch(changes=Changes(workloads=[ended], attempts=[attempt(1)])))
    store.prune(NOW + 1, NOW - 1)
    assert store.attempts(1, limit=10).items == []


def test_when_a_backend_first_accepted_a_task_is_read_from_the_history(store: Store) -> None:
    store.write(Batch(submitted=[new_workload(1), new_workload(2)]))
    kinds = ["placed", "bound", "running", "pending", "bound"]
    store.write(Batch(history=[HistoryLine(NOW + place, kind, "", 1, 0) for place, kind in enumerate(kinds)]))
    store.write(Batch(history=[HistoryLine(NOW + 5, "placed", "", 2, 0), HistoryLine(NOW + 7, "running", "", 2, 0)]))
    assert store.first_accepted(1) == NOW + 1
    assert store.first_accepted(2) == NOW + 7, "it was accepted and started in one step"
    assert store.first_accepted(3) is None
