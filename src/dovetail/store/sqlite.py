"""The embedded database: one SQLite file, its connections, and what can be wrong with it.

Guarantees: a committed transaction survives the loss of power (WAL with synchronous=FULL); readers never wait for the
writer; a database file appears complete or not at all, so an empty file is always a damaged one; every failure becomes
a StoreError with the path, the cause and what to do. Values of queries never appear in errors: they are user data. Only
the owner can read a new database, and users outside its group can read none.

Leaves to others: the schema (`schema`, `migrating`), what is read and written.
"""

import errno
import fcntl
import os
import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any, cast

from sqlalchemy import Connection, Dialect, Engine, NullPool, QueuePool, create_engine, event, make_url
from sqlalchemy.exc import DBAPIError
from sqlalchemy.util import LRUCache

from dovetail.store import migrating
from dovetail.store.contract import StoreError
from dovetail.store.migrating import STORE_MIGRATIONS, Migrations

BUSY_TIMEOUT_S = 5.0
QUICK_CHECK_BYTES = 16 * 2**20  # checking more would be felt at every start
WRITER_CACHE_KIB = 16 * 1024  # holds the inner pages of all indexes at a million rows
CHECKPOINT_PAGES = 8_000  # 32 MB of log: a batch of 500 workloads is a few MB, most should commit without a checkpoint
LOG_KEPT_BYTES = 64 * 2**20
INCREMENTAL = 2  # of auto_vacuum: free pages are given back when we say so
PAGES_GIVEN_BACK = 500  # at once: a few milliseconds
OWNER_ONLY = 0o600
FOR_OTHERS = 0o007  # never: the variables of tasks are in the database
_COMPILED: LRUCache[Any, Any] = LRUCache(1000)

_MEANINGS = {
    sqlite3.SQLITE_BUSY: (
        "is locked by another program",
        "Close whatever has it open (a database browser, a backup), then try again.",
    ),
    sqlite3.SQLITE_READONLY: (
        "cannot be written",
        "Give the user that runs Dovetail write permission on the file and its folder, on a writable file system.",
    ),
    sqlite3.SQLITE_FULL: (
        "cannot grow: the disk or the quota is full",
        "Free space on that file system; nothing of the failed write is stored.",
    ),
    sqlite3.SQLITE_IOERR: (
        "could not be read or written by the operating system",
        "Check the disk, its free space and the file size limit; nothing of a failed write is stored.",
    ),
    sqlite3.SQLITE_CORRUPT: (
        "is damaged or cut short",
        "Restore it from a backup, or move it and its -wal file away to start empty.",
    ),
    sqlite3.SQLITE_NOTADB: (
        "is not a database",
        "Check the path; restore the file from a backup, or move it away to start empty.",
    ),
    sqlite3.SQLITE_CANTOPEN: (
        "cannot be opened",
        "Check that its folder exists and that the user that runs Dovetail may write in it.",
    ),
    sqlite3.SQLITE_CONSTRAINT: (
        "contradicts what is to be written",
        "Nothing of the batch is stored; this is a fault in Dovetail, please report it.",
    ),
}
_MEANINGS[sqlite3.SQLITE_LOCKED] = _MEANINGS[sqlite3.SQLITE_BUSY]
_MEANINGS[sqlite3.SQLITE_PERM] = _MEANINGS[sqlite3.SQLITE_READONLY]
_KINDS = {
    errno.EACCES: sqlite3.SQLITE_READONLY,
    errno.EPERM: sqlite3.SQLITE_READONLY,
    errno.EROFS: sqlite3.SQLITE_READONLY,
    errno.ENOSPC: sqlite3.SQLITE_FULL,
    errno.EDQUOT: sqlite3.SQLITE_FULL,
    errno.EIO: sqlite3.SQLITE_IOERR,
}
_UNFORESEEN = (
    "refused what was asked of it",
    "Nothing of it is stored; this is a fault in Dovetail, please report it.",
)


class DatabaseLock:
    """One server per database: an advisory lock on a file beside it, and one on the database itself, which holds also
    where somebody removed the first. At most one holder, also within one process; the lock ends with its holder,
    however that ended; a refused process is told the holder's process id. The lock file stays."""

    def __init__(self, database: Path) -> None:
        self.path = database.with_name(database.name + ".lock")
        self._database = database
        self._descriptor: int | None = None
        self._on_database: int | None = None

    def acquire(self) -> None:
        """Raises StoreError if another process holds it, OSError if the file cannot be created."""
        # The descriptor is closed on exec, so a task that this process starts does not keep the lock.
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        except OSError as error:
            holder = os.pread(descriptor, 32, 0).decode(errors="replace").strip()
            os.close(descriptor)
            if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                raise
            raise self._in_use(f"process {holder}" if holder else "its process id is not known yet") from None
        self._descriptor = descriptor

    def acquire_database(self) -> None:
        """The second lock, once the database exists. It is not one of those that SQLite uses. Raises StoreError."""
        if self._on_database is not None or not self._database.exists():
            return
        descriptor = os.open(self._database, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise self._in_use(f"whose lock {self.path.name} was removed") from None
        self._on_database = descriptor

    def release(self) -> None:
        for descriptor in (self._descriptor, self._on_database):
            if descriptor is not None:
                os.close(descriptor)
        self._descriptor = self._on_database = None

    def _in_use(self, who: str) -> StoreError:
        return StoreError(
            f"{self._database} is in use by another Dovetail server ({who}). "
            "Stop that server, or give this one another database."
        )


class SqliteDatabase:
    """`writer` has one connection, `reader` as many as there are threads that read."""

    writer: Engine
    reader: Engine

    def __init__(self, path: Path, migrations: Migrations = STORE_MIGRATIONS) -> None:
        # Two names of one file must meet at one lock.
        self.path = Path(path).resolve()
        self._migrations = migrations
        self._lock = DatabaseLock(self.path)
        self._engines: list[Engine] = []

    def open(self) -> None:
        """Lock, check, create or migrate. Raises StoreError, and then the database is as it was."""
        try:
            self._check_place()
            self._lock.acquire()
            try:
                self._lock.acquire_database()
                self._open_locked()
                self._lock.acquire_database()
            except BaseException:
                self.close()
                raise
        except (OSError, sqlite3.Error, DBAPIError) as error:
            raise self.explain(error) from error

    def close(self) -> None:
        while self._engines:
            self._engines.pop().dispose()
        self._lock.release()

    @staticmethod
    def used_bytes(connection: Connection) -> int:
        """Without pages that are free."""
        pages, free, size = (_pragma(connection, name) for name in ("page_count", "freelist_count", "page_size"))
        return (pages - free) * size

    def give_back_space(self) -> bool:
        """Shorten the file by some free pages; False when there are none. The writer must not be in use."""
        with closing(self.writer.raw_connection()) as pooled:
            connection = pooled.driver_connection
            assert isinstance(connection, sqlite3.Connection)
            # As a script: any other call of the driver makes one step, which is one page.
            connection.executescript(f"PRAGMA incremental_vacuum({PAGES_GIVEN_BACK})")
            return bool(connection.execute("PRAGMA freelist_count").fetchone()[0])

    def explain(self, error: Exception) -> StoreError:
        """What an error of the database means to the person who runs it."""
        cause: BaseException = error
        if isinstance(error, DBAPIError) and error.orig is not None:
            cause = error.orig
        if isinstance(cause, OSError):
            what, remedy = _MEANINGS[_KINDS.get(cause.errno or 0, sqlite3.SQLITE_CANTOPEN)]
        elif isinstance(cause, sqlite3.Error) and hasattr(cause, "sqlite_errorcode"):
            # The low byte is the kind; the rest is detail that the text says already.
            what, remedy = _MEANINGS.get(cause.sqlite_errorcode & 0xFF, _UNFORESEEN)
        else:
            what, remedy = _UNFORESEEN
        return StoreError(f"{self.path} {what} ({cause}). {remedy}")

    def _check_place(self) -> None:
        if self.path.is_dir():
            raise StoreError(f"{self.path} is a folder; name a file in it, such as {self.path / 'dovetail.db'}.")
        if not self.path.parent.is_dir():
            raise StoreError(f"{self.path.parent} is not a folder; create it, or put the database elsewhere.")

    def _open_locked(self) -> None:
        if self.path.exists():
            self._check_file()
            with _migrating(self.path) as connection:
                is_current = migrating.check_revision(connection, str(self.path), self._migrations)
            if not is_current:
                _migrate(self.path, self._migrations)
            _let_it_shrink(self.path)
        else:
            self._create()
        self.writer = self._engine(_begin_writing, _prepare_writer, pool_size=1, max_overflow=0)
        self.reader = self._engine(_begin_reading, _prepare_reader, pool_size=4, max_overflow=60)

    def _check_file(self) -> None:
        with self.path.open("r+b") as file:  # SQLite would open a write-protected file and fail at the first write
            found = os.fstat(file.fileno())
            if found.st_mode & FOR_OTHERS:
                os.fchmod(file.fileno(), stat.S_IMODE(found.st_mode) & ~FOR_OTHERS)
            if found.st_size == 0:
                raise StoreError(
                    f"{self.path} is cut short: it is empty, which a Dovetail database never is. "
                    "Restore it from a backup, or remove it to start empty."
                )
        with closing(sqlite3.connect(self.path, timeout=BUSY_TIMEOUT_S)) as connection:
            # Any reading finds a foreign file, a damaged first page and a file shorter than it says it is.
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            if self.path.stat().st_size <= QUICK_CHECK_BYTES:
                (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
                if verdict != "ok":
                    what, remedy = _MEANINGS[sqlite3.SQLITE_CORRUPT]
                    raise StoreError(f"{self.path} {what} ({verdict.splitlines()[-1]}). {remedy}")

    def _create(self) -> None:
        """Under another name, then renamed: a crash leaves no database rather than half of one."""
        for suffix in ("-wal", "-journal"):
            log = self.path.with_name(self.path.name + suffix)
            if log.exists():  # SQLite would play it into the new database
                raise StoreError(
                    f"{self.path} is missing, but its log {log.name} is there and may hold the last changes. "
                    "Put the two together again, or remove the log to start empty."
                )
        draft = self.path.with_name(self.path.name + ".new")
        for leftover in (draft, draft.with_name(draft.name + "-journal")):
            leftover.unlink(missing_ok=True)
        os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY))  # its logs get the same mode
        _let_it_shrink(draft)
        _migrate(draft, self._migrations)
        draft.replace(self.path)
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def _engine(
        self,
        begin: Callable[[Connection], None],
        prepare: Callable[[sqlite3.Connection, object], None],
        pool_size: int,
        max_overflow: int,
    ) -> Engine:
        dialect = _dialect()
        connect = partial(cast("Any", _connect), self.path)  # the protocol of connections asks for more than is used
        pool = QueuePool(connect, pool_size=pool_size, max_overflow=max_overflow, dialect=dialect)
        compiled = {"compiled_cache": _COMPILED}
        engine = Engine(pool, dialect, make_url("sqlite://"), hide_parameters=True, execution_options=compiled)
        event.listen(engine, "begin", begin)
        event.listen(engine, "connect", prepare)
        self._engines.append(engine)
        return engine


@cache
def _dialect() -> Dialect:
    """All databases of the process share it, so that SQL is compiled once for all. What the driver can do, it learns
    from a first connection."""
    engine = create_engine("sqlite://")
    engine.connect().close()
    return engine.dialect


def _connect(path: Path) -> sqlite3.Connection:
    # isolation_level None: transactions begin where SQLAlchemy says, not where the driver guesses.
    return sqlite3.connect(path, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False)


def _let_it_shrink(path: Path) -> None:
    """Free pages of a file that was made without this could never be given back. It is rewritten once, if that is
    quick or saves much."""
    with closing(_connect(path)) as connection:
        names = ("auto_vacuum", "page_count", "freelist_count", "page_size")
        mode, pages, free, size = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in names)
        if mode == INCREMENTAL or (free < pages / 2 and pages * size > QUICK_CHECK_BYTES):
            return
        connection.execute(f"PRAGMA auto_vacuum = {INCREMENTAL}")
        connection.execute("VACUUM")


def _pragma(connection: Connection, name: str) -> int:
    return int(connection.exec_driver_sql(f"PRAGMA {name}").scalar_one())


@contextmanager
def _migrating(path: Path) -> Iterator[Connection]:
    """A connection as SQLite makes it: nothing about the file changes by opening it, and foreign keys do not get in
    the way of rebuilding a table."""
    engine = create_engine("sqlite://", creator=lambda: _connect(path), poolclass=NullPool, hide_parameters=True)
    event.listen(engine, "begin", _begin_reading)
    with engine.begin() as connection:
        yield connection


def _migrate(path: Path, migrations: Migrations) -> None:
    with _migrating(path) as connection:
        migrating.upgrade(connection, migrations)


def _begin_reading(connection: Connection) -> None:
    """A transaction also for reading, so that several queries see one state."""
    connection.exec_driver_sql("BEGIN")


def _begin_writing(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _prepare_writer(connection: sqlite3.Connection, _record: object) -> None:
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute(f"PRAGMA cache_size = -{WRITER_CACHE_KIB}")
    connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
    connection.execute(f"PRAGMA journal_size_limit = {LOG_KEPT_BYTES}")


def _prepare_reader(connection: sqlite3.Connection, _record: object) -> None:
    connection.execute("PRAGMA query_only = ON")
