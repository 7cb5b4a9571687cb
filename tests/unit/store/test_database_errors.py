"""Everything that can be wrong with the database file: each a StoreError that says where, what and what to do."""

import os
import random
import resource
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from tests.contract.store.records import node_record, submitted

from dovetail.model.batch import Batch, Changes
from dovetail.store import sqlite as sqlite_module
from dovetail.store.contract import StoreError
from dovetail.store.sql import sqlite_store
from dovetail.store.sqlite import SqliteDatabase

NOBODY = 65534


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "dovetail.db"


@pytest.fixture
def used(path: Path) -> Path:
    """A database with something in it, closed."""
    store = sqlite_store(path)
    store.open()
    store.write(submitted(*range(1, 200)))
    store.close()
    return path


def refusal(path: Path) -> str:
    store = sqlite_store(path)
    with pytest.raises(StoreError) as caught:
        store.open()
    assert str(path.resolve().parent) in str(caught.value)
    return str(caught.value)


@pytest.fixture
def shared_folder() -> Iterator[Path]:
    """A folder that any user can reach, which pytest's own are not."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


@contextmanager
def without_privileges() -> Iterator[None]:
    """As an ordinary user: root is allowed everything, whatever the modes say."""
    was = os.geteuid()
    if was == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(was)


def test_a_folder_in_place_of_the_file_is_refused(tmp_path: Path) -> None:
    assert "is a folder" in refusal(tmp_path)


def test_a_missing_folder_is_refused_and_not_made(tmp_path: Path) -> None:
    assert "create it" in refusal(tmp_path / "missing" / "dovetail.db")
    assert not (tmp_path / "missing").exists()


def test_a_file_that_may_not_be_written_is_refused(shared_folder: Path) -> None:
    path = shared_folder / "dovetail.db"
    store = sqlite_store(path)
    store.open()
    store.close()
    path.with_name("dovetail.db.lock").unlink()
    path.chmod(0o444)
    shared_folder.chmod(0o777)
    with without_privileges():
        message = refusal(path)
    assert "cannot be written" in message
    assert "write permission" in message


def test_a_folder_that_may_not_be_written_is_refused(shared_folder: Path) -> None:
    shared_folder.chmod(0o555)
    with without_privileges():
        assert "cannot be written" in refusal(shared_folder / "dovetail.db")
    assert list(shared_folder.iterdir()) == []
    shared_folder.chmod(0o755)


@pytest.mark.skipif(not Path("/sys/kernel").is_dir(), reason="there is no /sys on this system")
def test_a_file_system_that_takes_no_files_is_refused_even_for_root() -> None:
    assert "cannot be written" in refusal(Path("/sys/kernel/dovetail.db"))


def test_a_database_that_turns_read_only_while_open_says_so(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE t (x)")
    with (
        closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection,
        pytest.raises(sqlite3.OperationalError) as caught,
    ):
        connection.execute("INSERT INTO t VALUES (1)")
    message = str(SqliteDatabase(path).explain(caught.value))
    assert str(path) in message
    assert "cannot be written" in message


@pytest.mark.parametrize("kept", [0.5, 0.9, 0.0, 0.001])
def test_a_file_that_was_cut_short_is_refused_and_left_alone(used: Path, kept: float) -> None:
    whole = used.read_bytes()
    used.write_bytes(whole[: int(len(whole) * kept)])
    before = used.read_bytes()
    message = refusal(used)
    assert "cut short" in message or "not a database" in message
    assert "backup" in message
    assert used.read_bytes() == before


def test_random_bytes_are_not_a_database(path: Path) -> None:
    before = random.Random(1).randbytes(100_000)
    path.write_bytes(before)
    assert "is not a database" in refusal(path)
    assert path.read_bytes() == before


def test_damage_in_the_middle_is_found(used: Path) -> None:
    content = bytearray(used.read_bytes())
    content[4096 * 3 : 4096 * 20] = random.Random(2).randbytes(4096 * 17)
    used.write_bytes(content)
    assert "damaged" in refusal(used)


def test_a_database_of_a_newer_version_is_refused_and_left_alone(used: Path) -> None:
    with closing(sqlite3.connect(used)) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
        connection.commit()
    before = used.read_bytes()
    message = refusal(used)
    assert "newer version of Dovetail" in message
    assert "'9999'" in message
    assert used.read_bytes() == before


def test_a_database_of_another_program_is_refused_and_left_alone(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE recipes (name TEXT)")
    before = path.read_bytes()
    assert "another program (recipes)" in refusal(path)
    assert path.read_bytes() == before


def test_a_log_without_its_database_is_not_played_into_a_new_one(used: Path) -> None:
    used.rename(used.with_name("elsewhere.db"))
    used.with_name("dovetail.db-wal").write_bytes(b"the last changes")
    assert "its log dovetail.db-wal is there" in refusal(used)
    assert not used.exists()


def test_a_program_that_holds_the_file_makes_it_locked(used: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_module, "BUSY_TIMEOUT_S", 0.05)
    with closing(sqlite3.connect(used, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        other.execute("UPDATE workloads SET reason = 'x'")
        assert "is locked by another program" in refusal(used)


def test_a_program_that_writes_meanwhile_makes_a_write_fail_and_the_next_succeed(
    used: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_module, "BUSY_TIMEOUT_S", 0.05)
    store = sqlite_store(used)
    store.open()
    with closing(sqlite3.connect(used, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="locked by another program"):
            store.write(submitted(1000))
        assert store.workload(1) is not None  # reading goes on
    store.write(submitted(1000))
    assert store.workload(1000) is not None
    store.close()


def test_a_write_that_the_disk_does_not_take_leaves_no_trace(path: Path) -> None:
    """A limit on file size stands in for the full disk: the operating system refuses in the middle of the write."""
    store = sqlite_store(path)
    store.open()
    store.write(submitted(1))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    log_bytes = path.with_name("dovetail.db-wal").stat().st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (log_bytes + 20_000, hard))
    try:
        with pytest.raises(StoreError) as caught:
            store.write(submitted(*range(2, 2_000)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert str(path) in str(caught.value)
    assert "free space" in str(caught.value)
    assert store.workload(2) is None

    store.write(submitted(2))
    store.close()
    store.open()
    assert [workload.id for workload in store.restore().workloads] == [1, 2]
    store.close()


def test_a_full_disk_is_called_full(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA max_page_count = 2")
        connection.execute("CREATE TABLE t (x)")
        with pytest.raises(sqlite3.OperationalError) as caught:
            connection.execute("INSERT INTO t VALUES (zeroblob(100000))")
    message = str(SqliteDatabase(path).explain(caught.value))
    assert "the disk or the quota is full" in message
    assert "Free space" in message


def test_a_node_that_this_version_cannot_read_is_named(used: Path) -> None:
    store = sqlite_store(used)
    store.open()
    store.write(Batch(changes=Changes(nodes=[node_record("node-a")])))
    with closing(sqlite3.connect(used)) as other:
        other.execute("""UPDATE nodes SET definition = '{"name": "node-a", "wings": 2}'""")
        other.commit()
    with pytest.raises(StoreError, match="'node-a'"):
        store.restore()
    store.close()


def test_a_database_that_was_refused_can_be_opened_once_it_is_repaired(used: Path) -> None:
    whole = used.read_bytes()
    used.write_bytes(whole[:5000])
    store = sqlite_store(used)
    with pytest.raises(StoreError):
        store.open()
    used.write_bytes(whole)
    store.open()
    assert len(store.restore().workloads) == 199
    store.close()
