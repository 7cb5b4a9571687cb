"""A write is there as a whole or not at all, and what fails says so."""

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.contract.store.records import (
    NOW,
    bind,
    decision,
    line,
    new_workload,
    node_record,
    reservation_record,
    submitted,
    task_record,
    workload_record,
)

from dovetail.model.batch import Batch, Changes
from dovetail.model.record import Outcomes
from dovetail.store.contract import Store, StoreError, WorkloadFilter


def _everything(*ids: int) -> Batch:
    return Batch(
        submitted=[new_workload(id_) for id_ in ids],
        changes=Changes(
            workloads=[workload_record(id_) for id_ in ids],
            tasks=[task_record(id_, 0) for id_ in ids],
            nodes=[node_record("node-a")],
            reservations=[reservation_record(1)],
            notes=dict.fromkeys(ids, '{"rank":1}'),
            memory={"usage": "[]"},
            cursors={"round_robin": 3},
            outcomes={"node-a": Outcomes(2, 1)},
            decisions=[decision(id_) for id_ in ids],
        ),
        outbox=[bind(id_) for id_ in ids],
        history=[line("placed", workload=id_) for id_ in ids],
        idempotency=[("key", "{}", NOW)],
    )


def _taken_id(batch: Batch) -> None:
    batch.submitted.append(new_workload(1))


def _state_of_unknown_workload(batch: Batch) -> None:
    batch.changes.workloads.append(workload_record(99))


def _task_of_unknown_workload(batch: Batch) -> None:
    batch.changes.tasks.append(task_record(99, 0))


def _decision_about_unknown_workload(batch: Batch) -> None:
    batch.changes.decisions.append(decision(99))


def _note_of_unknown_workload(batch: Batch) -> None:
    batch.changes.notes[99] = "{}"


def _number_no_database_can_hold(batch: Batch) -> None:
    batch.history.append(line("too large", workload=2**70))


def _unwritable_value(batch: Batch) -> None:
    broken: Any = object()
    batch.idempotency.append(("other", broken, NOW))


@pytest.mark.parametrize(
    "spoil",
    [
        _taken_id,
        _state_of_unknown_workload,
        _task_of_unknown_workload,
        _decision_about_unknown_workload,
        _note_of_unknown_workload,
        _number_no_database_can_hold,
        _unwritable_value,
    ],
)
def test_a_batch_that_fails_halfway_leaves_no_trace(store: Store, spoil: Callable[[Batch], None]) -> None:
    store.write(submitted(1))
    before = store.restore()
    batch = _everything(2, 3)
    spoil(batch)

    with pytest.raises(StoreError):
        store.write(batch)

    assert store.restore() == before
    assert store.workload(2) is None
    assert store.history() == []
    assert store.decisions(2) == []
    assert store.idempotent_response("key") is None


def test_writing_goes_on_after_a_failure(store: Store) -> None:
    with pytest.raises(StoreError):
        store.write(Batch(changes=Changes(workloads=[workload_record(99)])))
    store.write(_everything(1))
    assert [workload.id for workload in store.restore().workloads] == [1]


def test_an_error_does_not_show_what_users_wrote(store: Store) -> None:
    store.write(submitted(1))
    with pytest.raises(StoreError) as caught:
        store.write(submitted(1))
    error: BaseException | None = caught.value
    while error is not None:
        assert "s3cret" not in str(error)
        error = error.__cause__ or error.__context__


def test_an_empty_batch_is_no_write(store: Store) -> None:
    store.write(Batch())
    assert store.restore().workloads == []


def test_a_store_that_is_not_open_says_so(new_store: Callable[[], Store]) -> None:
    store = new_store()
    for ask in (store.restore, store.counts, lambda: store.write(submitted(1)), lambda: store.prune(0, 0)):
        with pytest.raises(StoreError, match="not open"):
            ask()


def test_a_store_can_be_closed_twice_and_opened_again(store: Store) -> None:
    store.write(submitted(1))
    store.close()
    store.close()
    store.open()
    assert store.restore().next_workload == 2


def test_readers_on_other_threads_see_only_whole_batches(store: Store) -> None:
    """Each batch adds two workloads and two lines: nobody ever sees an odd number of either."""
    odd: list[int] = []
    done = threading.Event()

    def watch() -> None:
        while not done.is_set():
            seen = (
                sum(store.counts().values()),
                len(store.history(limit=10_000)),
                len(store.workloads(WorkloadFilter(), 1_000, None).items),
            )
            odd.extend(number for number in seen if number % 2)

    readers = [threading.Thread(target=watch) for _ in range(3)]
    for reader in readers:
        reader.start()
    for first in range(1, 200, 2):
        batch = _everything(first, first + 1)
        store.write(replace(batch, idempotency=[]))
    done.set()
    for reader in readers:
        reader.join()
    assert odd == []


def test_writers_on_several_threads_take_turns(store: Store) -> None:
    def write(start: int) -> None:
        for id_ in range(start, start + 20):
            store.write(submitted(id_))

    writers = [threading.Thread(target=write, args=(start,)) for start in (1, 101, 201)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert len(store.restore().workloads) == 60
