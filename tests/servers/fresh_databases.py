"""New databases of servers as copies of one that was migrated before in this process, or in the one it was forked from.

To go through all revisions takes as long as everything else that a server does at its start. How databases are made and
upgraded is tested without this: by the tests of stores, by all that start a server `cold`, and by `tests/e2e/kills`,
which kills servers while they do it.
"""

import tempfile
from pathlib import Path

from dovetail.backends.local.launch import Launcher
from dovetail.control.subsystems.registry import BUILT_IN
from dovetail.store import sqlite
from dovetail.store.migrating import Migrations
from dovetail.store.sql import sqlite_store
from dovetail.store.subsystem_tables import SubsystemTables

DRAFT = ".new"  # how `SqliteDatabase` calls a database that is not complete yet

_made: dict[Migrations, bytes] = {}
_migrate = sqlite._migrate


def _copy_or_migrate(path: Path, migrations: Migrations) -> None:
    if path.suffix != DRAFT:
        _migrate(path, migrations)
    elif migrations in _made:
        path.write_bytes(_made[migrations])
    else:
        _migrate(path, migrations)
        _made[migrations] = path.read_bytes()


def use_copies() -> None:
    sqlite._migrate = _copy_or_migrate


def migrate_anew() -> None:
    sqlite._migrate = _migrate


def make_all() -> None:
    """For the processes that will be forked from this one, with the SQL of a start and the program of supervisors."""
    use_copies()
    with tempfile.TemporaryDirectory() as name:
        store = sqlite_store(Path(name) / "store.db")
        store.open()
        store.restore()
        store.close()
        for subsystem, declaration in BUILT_IN.items():
            if declaration.migrations is not None:
                tables = SubsystemTables(subsystem, Path(name) / f"{subsystem}.db", declaration.migrations)
                tables.open()
                tables.close()
        Launcher(Path(name)).compile()
