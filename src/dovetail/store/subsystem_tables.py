"""Tables of a subsystem: a database of its own, brought up to date by its own Alembic revisions.

Guarantees: the database is a file beside that of the store and never the same one. SQLite lets one connection write at
a time: in one file, a subsystem that hangs in a transaction would stop the scheduler. The current revision stands in
`<name>_version`, so several subsystems could share a database. Errors are StoreErrors, as everywhere in the store.
"""

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Literal

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from dovetail.store.contract import StoreError
from dovetail.store.migrating import Migrations
from dovetail.store.sqlite import SqliteDatabase


class SubsystemTables:
    """Every method may block, and may be called on any thread."""

    def __init__(self, name: str, path: Path, revisions: Path) -> None:
        self._path = path
        self._database = SqliteDatabase(path, Migrations(revisions, f"{name}_version"))
        self._is_open = False
        self._opening = threading.Lock()

    @property
    def exist(self) -> bool:
        """Whether they were ever opened, by this process or one before."""
        return self._path.exists()

    def open(self) -> None:
        """Create or upgrade the tables; nothing if they are open. Raises StoreError."""
        with self._opening:
            if not self._is_open:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._database.open()
                self._is_open = True

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            self._database.close()

    def reading(self) -> AbstractContextManager[Connection]:
        """One transaction that sees one state. Raises StoreError."""
        return self._transaction("reader")

    def writing(self) -> AbstractContextManager[Connection]:
        """One transaction, durable when it ends and without trace when it raises. Raises StoreError."""
        return self._transaction("writer")

    @contextmanager
    def _transaction(self, side: Literal["reader", "writer"]) -> Iterator[Connection]:
        if not self._is_open:
            raise StoreError("the tables of this subsystem are not open; it starts, or it cannot start")
        engine = self._database.reader if side == "reader" else self._database.writer
        try:
            with engine.begin() as connection:
                yield connection
        except SQLAlchemyError as error:
            raise self._database.explain(error) from error
