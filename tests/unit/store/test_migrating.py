"""A database of an earlier version is brought up to date, and nothing in it is lost."""

import sqlite3
from contextlib import closing
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine

from dovetail.model.command import Bind
from dovetail.model.record import ReservationRecord
from dovetail.model.reservation import Target
from dovetail.model.task import TaskId
from dovetail.store.migrating import MIGRATIONS, NEWEST_REVISION, STORE_MIGRATIONS, _config
from dovetail.store.sql import sqlite_store


def database_at(revision: str, path: Path) -> None:
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        config = Config()
        config.set_main_option("path_separator", "os")
        config.set_main_option("script_location", str(MIGRATIONS))
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
    engine.dispose()


def test_a_reservation_of_the_first_form_goes_on_until_its_end(tmp_path: Path) -> None:
    path = tmp_path / "dovetail.db"
    database_at("0001", path)
    with closing(sqlite3.connect(path)) as connection:
        row = (4, "node-a", '{"cpu":500,"memory":1024}', 1_700_000_060.0, "ann")
        connection.execute("INSERT INTO reservations VALUES (?, ?, ?, ?, ?)", row)
        connection.execute("INSERT INTO counters VALUES ('reservation', 9)")
        connection.commit()
    store = sqlite_store(path)
    store.open()
    snapshot = store.restore()
    store.close()
    amounts = {"cpu": 500, "memory": 1024}
    target = Target(nodes=("node-a",), amounts=amounts)
    (restored,) = snapshot.reservations
    assert restored == ReservationRecord(4, target, {"node-a": amounts}, 0.0, 1_700_000_060.0, begun=True, holder="ann")
    assert snapshot.next_reservation == 10


def test_a_task_from_before_gpus_were_told_apart_has_none_written(tmp_path: Path) -> None:
    path = tmp_path / "dovetail.db"
    database_at("0003", path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("INSERT INTO shapes VALUES (1, x'00', '{}')")
        row = (
            1,
            "default",
            "w",
            "job",
            "medium",
            None,
            None,
            1,
            "{}",
            1,
            5.0,
            "running",
            "",
            "",
            0,
            1,
            0,
            0,
            0,
            5.0,
            None,
        )
        connection.execute(f"INSERT INTO workloads VALUES ({', '.join('?' * len(row))})", row)
        task = (1, 0, "running", 1, "node-a", "local", "running", "", None, 5.0, 5.0, None, 0, 0)
        connection.execute(f"INSERT INTO tasks VALUES ({', '.join('?' * len(task))})", task)
        command = (1, "bind", "1.0.1", 1, 0, "node-a", "local", "")
        connection.execute(f"INSERT INTO outbox VALUES ({', '.join('?' * len(command))})", command)
        connection.commit()
    store = sqlite_store(path)
    store.open()
    snapshot = store.restore()
    store.close()
    assert snapshot.workloads[0].tasks[0].devices == ()
    assert snapshot.outbox == [Bind(TaskId(1, 0), "node-a", "local", "1.0.1")]


def test_a_database_without_reservations_is_brought_up_to_date(tmp_path: Path) -> None:
    path = tmp_path / "dovetail.db"
    database_at("0001", path)
    store = sqlite_store(path)
    store.open()
    assert store.restore().reservations == []
    store.close()


def test_the_newest_revision_is_named_so_that_a_current_database_opens_without_alembic() -> None:
    assert ScriptDirectory.from_config(_config(STORE_MIGRATIONS)).get_heads() == [NEWEST_REVISION]
