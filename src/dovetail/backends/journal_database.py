"""A backend's own SQLite file, for what it must know after a crash.

Guarantees: a statement is on disk when its call returns. All calls run on one thread, one after the other, so the event
loop never waits for a disk.
"""

import asyncio
import secrets
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

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
