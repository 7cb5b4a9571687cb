"""Pruning forgets what is finished and old, all of it, and nothing else."""

from pathlib import Path

from tests.contract.store.records import (
    NOW,
    decision,
    finished,
    line,
    new_workload,
    submitted,
    task_record,
)

from dovetail.model.batch import Batch, Changes
from dovetail.store.contract import Store


def test_old_finished_workloads_go_with_their_tasks_and_decisions(store: Store) -> None:
    store.write(
        Batch(
            submitted=[new_workload(1)],
            changes=Changes(tasks=[task_record(1, 0)], decisions=[decision(1)]),
        )
    )
    store.write(finished(1, at=NOW))
    assert store.prune(finished_before=NOW + 1, history_before=0) == 4  # with the shape, which nobody else uses
    assert store.workload(1) is None
    assert store.tasks(1) == []
    assert store.decisions(1) == []


def test_a_note_that_was_written_after_the_end_goes_with_its_workload(store: Store) -> None:
    store.write(submitted(1))
    store.write(finished(1, at=NOW))
    store.write(Batch(changes=Changes(notes={1: "{}"})))
    assert store.prune(finished_before=NOW + 1, history_before=0) == 3  # with the shape
    assert store.workload(1) is None


def test_unfinished_and_recently_finished_workloads_stay(store: Store) -> None:
    store.write(submitted(1, 2))
    store.write(finished(2, at=NOW))
    assert store.prune(finished_before=NOW, history_before=0) == 0
    assert store.workload(1) is not None
    assert store.workload(2) is not None


def test_a_shape_stays_while_any_workload_has_it(store: Store) -> None:
    store.write(submitted(1, 2))
    store.write(submitted(3, shape_json="other"))
    store.write(finished(1, 3))
    assert store.prune(NOW + 1, 0) == 3
    (restored,) = store.restore().workloads
    assert restored.shape_json == new_workload(2).shape_json


def test_a_forgotten_shape_can_come_back(store: Store) -> None:
    store.write(submitted(1))
    store.write(finished(1))
    store.prune(NOW + 1, 0)
    store.write(submitted(2))
    (restored,) = store.restore().workloads
    assert restored.shape_json == new_workload(2).shape_json


def test_many_workloads_are_forgotten_in_one_call(store: Store) -> None:
    store.write(submitted(*range(1, 1_301)))
    store.write(finished(*range(1, 1_301)))
    assert store.prune(NOW + 1, 0) == 1_301
    assert sum(store.counts().values()) == 0


def test_old_history_goes_and_its_numbers_are_not_used_again(store: Store) -> None:
    store.write(Batch(history=[line("old", at=1.0), line("older", at=0.5)]))
    assert store.prune(0, history_before=2.0) == 2
    store.write(Batch(history=[line("new", at=3.0)]))
    (kept,) = store.history()
    assert (kept["message"], kept["seq"]) == ("new", 3)


def test_history_from_the_moment_given_stays(store: Store) -> None:
    store.write(Batch(history=[line("old", at=1.0), line("new", at=2.0)]))
    assert store.prune(0, history_before=2.0) == 1
    assert [row["message"] for row in store.history()] == ["new"]


def test_old_idempotency_keys_can_be_used_again(store: Store) -> None:
    store.write(Batch(idempotency=[("old", "1", 1.0), ("new", "2", 3.0)]))
    assert store.prune(0, history_before=2.0) == 1
    assert store.idempotent_response("old") is None
    assert store.idempotent_response("new") == "2"


def test_the_oldest_go_first_whatever_their_age(store: Store) -> None:
    store.write(submitted(*range(1, 602)))
    store.write(finished(*range(2, 602)))
    assert store.prune_oldest() == 500
    assert store.workload(1) is not None, "it has not ended"
    assert store.workload(501) is None
    assert store.workload(502) is not None
    while store.prune_oldest():
        pass
    assert sum(store.counts().values()) == 1


def test_space_of_what_was_forgotten_is_given_back(store: Store, tmp_path: Path) -> None:
    empty = store.size_bytes()
    store.write(Batch(history=[line(message="x" * 2000) for _ in range(3000)]))
    full, file = store.size_bytes(), tmp_path / "dovetail.db"
    assert full > empty + 3000 * 2000
    store.prune(0, history_before=NOW * 2)
    assert store.size_bytes() < empty + 100_000
    pieces = 1
    while store.give_back_space():
        pieces += 1
    assert pieces > 2, "in pieces, between which others write"
    store.close()  # the log becomes part of the file
    assert file.stat().st_size < full / 10


def test_the_newest_line_says_when_the_last_was_written(store: Store) -> None:
    assert store.newest_history_time() is None
    store.write(Batch(history=[line("a", 3.0), line("b", 5.0)]))
    assert store.newest_history_time() == 5.0
