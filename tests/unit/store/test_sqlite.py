"""The SQLite file: how it comes to be, how its connections are set, how little is written to it."""

import logging
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, event, text
from sqlalchemy.exc import OperationalError
from tests.contract.store.records import new_workload, submitted

from dovetail.model.batch import Batch, Changes
from dovetail.store.schema import metadata
from dovetail.store.sql import SqlStore, sqlite_store
from dovetail.store.sqlite import SqliteDatabase
from dovetail.store.unwritten import fresh_task


def rows_in(path: Path, table: str) -> int:
    with closing(sqlite3.connect(path)) as connection:
        (count,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
    return int(count)


def test_the_migrations_lead_to_the_schema_in_the_code(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "dovetail.db")
    database.open()
    with database.reader.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []
    database.close()


def test_partial_indexes_and_row_layout_are_the_same_in_migrations_and_schema(tmp_path: Path) -> None:
    """Alembic does not compare these, so the texts of SQLite's own catalogue are compared."""
    database = SqliteDatabase(tmp_path / "dovetail.db")
    database.open()
    catalogue = text("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'alembic%'")
    with database.reader.connect() as connection:
        migrated = {name: _plain(sql) for name, sql in connection.execute(catalogue)}
    other = SqliteDatabase(tmp_path / "other.db")
    other.open()
    with other.writer.begin() as connection:
        connection.exec_driver_sql("PRAGMA defer_foreign_keys = ON")
        metadata.drop_all(connection)
        metadata.create_all(connection)
        created = {name: _plain(sql) for name, sql in connection.execute(catalogue)}
    database.close()
    other.close()
    assert migrated == created


def _plain(sql: str) -> list[str]:
    """The clauses of a definition, whatever their order and spaces: keys may be named before or after each other, and a
    column that came later stands right before the bracket."""
    return sorted(part.strip() for part in " ".join(sql.split()).replace(" )", ")").split(", "))


def test_opening_leaves_logging_as_it_was(tmp_path: Path) -> None:
    known = logging.getLogger("tests.store.known")
    before = (list(logging.root.handlers), logging.root.level, known.disabled)
    store = sqlite_store(tmp_path / "dovetail.db")
    store.open()
    store.close()
    assert (list(logging.root.handlers), logging.root.level, known.disabled) == before


def test_no_configuration_file_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "alembic.ini").write_text("[alembic]\nscript_location = nowhere\n")
    monkeypatch.chdir(tmp_path)
    store = sqlite_store(Path("dovetail.db"))
    store.open()
    monkeypatch.chdir("/")  # a relative path means the folder where the server was started
    store.write(submitted(1))
    store.close()
    assert rows_in(tmp_path / "dovetail.db", "workloads") == 1


def test_any_file_name_will_do(tmp_path: Path) -> None:
    path = tmp_path / "100% #1?mode=ro&ü.db"
    store = sqlite_store(path)
    store.open()
    store.write(submitted(1))
    store.close()
    assert rows_in(path, "workloads") == 1


def test_commits_reach_the_disk_and_references_are_checked(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "dovetail.db")
    database.open()
    with database.writer.connect() as connection:
        settings = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys")
        }
    database.close()
    assert settings == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1}


def test_users_outside_its_group_cannot_read_a_database(tmp_path: Path) -> None:
    path = tmp_path / "dovetail.db"
    store = sqlite_store(path)
    store.open()
    store.write(submitted(1))
    files = [file for file in tmp_path.iterdir() if file.suffix != ".lock"]
    assert {oct(file.stat().st_mode & 0o777) for file in files} == {"0o600"}
    assert len(files) > 1, "its log is there"
    store.close()
    path.chmod(0o644)  # as an earlier version made it
    store = sqlite_store(path)
    store.open()
    store.write(submitted(2))
    assert {oct(file.stat().st_mode & 0o777) for file in tmp_path.iterdir() if file.suffix != ".lock"} == {"0o640"}
    store.close()


def test_the_reading_side_cannot_write(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "dovetail.db")
    database.open()
    with pytest.raises(OperationalError, match="readonly"), database.reader.begin() as connection:
        connection.exec_driver_sql("DELETE FROM workloads")
    database.close()


def test_half_a_database_from_a_crash_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "dovetail.db.new").write_bytes(b"half")
    store = sqlite_store(tmp_path / "dovetail.db")
    store.open()
    store.write(submitted(1))
    store.close()
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["dovetail.db", "dovetail.db.lock"]


def test_ten_thousand_replicas_are_one_row_when_they_are_accepted(tmp_path: Path) -> None:
    path = tmp_path / "dovetail.db"
    store = sqlite_store(path)
    store.open()
    fresh = [fresh_task(1, replica) for replica in range(10_000)]
    store.write(Batch(submitted=[new_workload(1, replicas=10_000)], changes=Changes(tasks=fresh)))
    (restored,) = store.restore().workloads
    store.close()
    assert rows_in(path, "tasks") == 0
    assert restored.tasks == fresh


def test_equal_shapes_are_one_row(tmp_path: Path) -> None:
    path = tmp_path / "dovetail.db"
    store = sqlite_store(path)
    store.open()
    store.write(submitted(1, 2, 3))
    store.write(submitted(4, 5))
    store.close()
    assert rows_in(path, "shapes") == 1


def test_the_tasks_of_a_node_are_found_by_index(tmp_path: Path) -> None:
    """SQLite uses the partial index only while query and index say the same in the same words."""
    database = SqliteDatabase(tmp_path / "dovetail.db")
    store = SqlStore(database)
    store.open()
    plans: list[str] = []

    def explain(connection: Connection, _cursor: object, sql: str, values: Any, *_: object) -> None:
        if sql.startswith("SELECT"):
            plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}", values)
            plans.extend(row.detail for row in plan)

    event.listen(database.reader, "before_cursor_execute", explain)
    store.node_tasks("node-a")
    store.close()
    assert any("ix_tasks_node" in plan for plan in plans)
