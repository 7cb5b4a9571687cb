"""One server a database, whatever happens to the servers: shown with real processes."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dovetail.store.contract import StoreError
from dovetail.store.sql import sqlite_store

HOLD = """
import sys
from pathlib import Path
from dovetail.store.sql import sqlite_store
store = sqlite_store(Path(sys.argv[1]))
store.open()
print("open", flush=True)
sys.stdin.read()
"""

WRITE_FOR_EVER = """
import itertools, sys
from pathlib import Path
from tests.contract.store.records import bind, line, submitted, task_record
from dovetail.store.sql import sqlite_store
store = sqlite_store(Path(sys.argv[1]))
store.open()
for first in itertools.count(store.restore().next_workload, 3):
    ids = range(first, first + 3)
    batch = submitted(*ids)
    batch.changes.tasks = [task_record(id_, 0) for id_ in ids]
    batch.outbox = [bind(id_) for id_ in ids]
    store.write(batch)
    print(first + 2, flush=True)
"""


@contextmanager
def process(code: str, path: Path) -> Iterator[subprocess.Popen[str]]:
    root = Path(__file__).parents[3]
    started = subprocess.Popen(
        [sys.executable, "-c", code, str(path)],
        cwd=root,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with started:
        try:
            yield started
        finally:
            started.kill()


def first_line(started: subprocess.Popen[str]) -> str:
    assert started.stdout is not None
    return started.stdout.readline().strip()


def test_a_database_in_use_is_refused_and_its_holder_named(tmp_path: Path) -> None:
    path = tmp_path / "dovetail.db"
    with process(HOLD, path) as holder:
        assert first_line(holder) == "open"
        with pytest.raises(StoreError) as caught:
            sqlite_store(path).open()
    message = str(caught.value)
    assert str(path) in message
    assert f"process {holder.pid}" in message
    assert "Stop that server" in message


def test_a_database_in_use_is_refused_also_where_somebody_removed_the_lock_file(tmp_path: Path) -> None:
    path = tmp_path / "dovetail.db"
    with process(HOLD, path) as holder:
        assert first_line(holder) == "open"
        (tmp_path / "dovetail.db.lock").unlink()
        with pytest.raises(
            StoreError, match=r"in use by another Dovetail server \(whose lock dovetail.db.lock was removed"
        ):
            sqlite_store(path).open()


def test_a_database_is_free_as_soon_as_its_holder_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "dovetail.db"
    with process(HOLD, path) as holder:
        assert first_line(holder) == "open"
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        store = sqlite_store(path)
        store.open()
        store.close()


def test_a_second_store_in_the_same_process_is_refused_too(tmp_path: Path) -> None:
    first = sqlite_store(tmp_path / "dovetail.db")
    first.open()
    with pytest.raises(StoreError, match="in use by another Dovetail server"):
        sqlite_store(tmp_path / "dovetail.db").open()
    first.close()


def test_two_names_of_one_database_are_one_database(tmp_path: Path) -> None:
    (tmp_path / "alias.db").symlink_to(tmp_path / "dovetail.db")
    first = sqlite_store(tmp_path / "dovetail.db")
    first.open()
    with pytest.raises(StoreError, match="in use by another Dovetail server"):
        sqlite_store(tmp_path / "alias.db").open()
    first.close()


def test_what_was_acknowledged_before_a_kill_is_there_and_only_in_whole_batches(tmp_path: Path) -> None:
    path = tmp_path / "dovetail.db"
    for _ in range(3):
        with process(WRITE_FOR_EVER, path) as writer:
            for _ in range(10):
                acknowledged = int(first_line(writer))
            writer.send_signal(signal.SIGKILL)
            writer.wait()
        store = sqlite_store(path)
        store.open()
        snapshot = store.restore()
        store.close()
        ids = [workload.id for workload in snapshot.workloads]
        assert len(ids) >= acknowledged
        assert ids == list(range(1, len(ids) + 1))
        assert len(ids) % 3 == 0
        assert [command.task.workload for command in snapshot.outbox] == ids
        assert all(workload.tasks[0].state == "placed" for workload in snapshot.workloads)
        assert snapshot.next_workload == len(ids) + 1
