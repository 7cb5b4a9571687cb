"""A backend's own SQLite file, for what it must know after a crash.

Guarantees: a statement is on disk when its call returns. All calls run on one thread, one after the other, so the event
loop never waits for a disk.
"""

import asyncio
import contextlib
import secrets
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from enum import StrEnum
from pathlib import Path
from typing import Any, Generic, TypeVar

T = TypeVar("T")
_IDENTITY = "CREATE TABLE IF NOT EXISTS identity (cluster TEXT NOT NULL);"


class JournalDatabase:
    """`tables`: statements that make those that are missing."""

    def __init__(self, path: Path, tables: str) -> None:
        self._path, self._tables = path, tables
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"journal-{path.stem}")
        self._database: sqlite3.Connection | None = None

    async def open(self, cluster: str | None = None) -> str:
        """The name that marks what is ours: the given one, or a random one from the first start."""
        return await self.run(lambda: self._open(cluster))

    async def close(self) -> None:
        if self._database is not None:
            await self.run(self._database.close)
            self._database = None
        self._thread.shutdown(wait=False)

    async def run(self, work: Callable[[], T]) -> T:
        """Call `work` on the thread; it may use `sql`."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def sql(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        assert self._database is not None, "the journal is not open"
        return self._database.execute(statement, values).fetchall()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """On the thread: all of it or nothing."""
        self.sql("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self.sql("ROLLBACK")
            raise
        self.sql("COMMIT")

    def _open(self, cluster: str | None) -> str:
        if self._database is None:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # Each statement is a transaction, on disk when it returns.
            self._database = sqlite3.connect(self._path, isolation_level=None, timeout=30)
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.execute("PRAGMA synchronous = FULL")
            self._database.executescript(_IDENTITY + self._tables)
        if cluster is not None:
            return cluster
        found = self.sql("SELECT cluster FROM identity")
        if not found:
            self.sql("INSERT INTO identity VALUES (?)", secrets.token_hex(4))
            found = self.sql("SELECT cluster FROM identity")
        return str(found[0][0])


class JournalTable(Generic[T]):
    """Rows of a table as records, found by their `key`. `record`: a dataclass whose fields are columns."""

    def __init__(self, database: JournalDatabase, name: str, record: type[T]) -> None:
        self._database, self._record = database, record
        self._types = {field.name: field.type for field in fields(record)}  # type: ignore[arg-type]
        self._select = f"SELECT {', '.join(self._types)} FROM {name} WHERE key = ?"  # noqa: S608 (our own names)

    async def get(self, key: str) -> T | None:
        return await self._database.run(lambda: self.find(key))

    async def write(self, key: str, statement: str, *values: object) -> T:
        """Returns the row as it is then."""

        def write() -> T:
            self._database.sql(statement, *values)
            return self.known(key)

        return await self._database.run(write)

    def find(self, key: str) -> T | None:
        """On the thread, as `known`."""
        rows = self._database.sql(self._select, key)
        return self._record(*map(_read, self._types.values(), rows[0])) if rows else None

    def known(self, key: str) -> T:
        found = self.find(key)
        assert found is not None, key
        return found


def _read(kind: Any, value: Any) -> Any:
    """SQLite has neither bools nor enums."""
    return kind(value) if isinstance(kind, type) and issubclass(kind, bool | StrEnum) else value
