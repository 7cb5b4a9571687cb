"""The store over SQL: `contract.Store` through SQLAlchemy, with one schema.

Guarantees: a `write` is one transaction, durable when it returns and without trace when it raises; writes take turns,
reads run beside them on connections of their own, each in one consistent view; whatever goes wrong is a StoreError.

Leaves to others: the database and what its errors mean (`sqlite`), what rows look like (`writing`, `reading`,
`restoring`).
"""

import math
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from sqlalchemy import ColumnElement, Connection, delete, exists, insert, select
from sqlalchemy.exc import SQLAlchemyError

from dovetail.model.batch import Batch
from dovetail.model.record import BackendRecord, HistoryLine, Snapshot, TokenRecord
from dovetail.store import node_prices, schema
from dovetail.store.contract import StoreError
from dovetail.store.reading import Reads
from dovetail.store.restoring import restore_snapshot
from dovetail.store.schema import (
    UNFINISHED,
    attempts,
    backends,
    decisions,
    history,
    idempotency,
    shapes,
    tasks,
    tokens,
    workload_notes,
    workloads,
)
from dovetail.store.sqlite import SqliteDatabase
from dovetail.store.writing import BatchWriter

PRUNED_AT_ONCE = 500  # workloads a transaction, so that writes wait milliseconds while much is forgotten
HISTORY_PRUNED_AT_ONCE = 10_000


class SqlStore(Reads):
    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database
        self._turn = threading.Lock()
        self._batches: BatchWriter | None = None

    def open(self) -> None:
        if self._batches is None:
            self._database.open()
            self._batches = BatchWriter(self._database.writer.dialect)

    def close(self) -> None:
        with self._turn:
            self._batches = None
            self._database.close()

    def restore(self) -> Snapshot:
        with self._reading() as connection:
            return restore_snapshot(connection)

    def restore_later(self) -> Callable[[], Snapshot]:
        self._require_open()
        connection = self._database.reader.connect()
        try:
            connection.execute(select(schema.counters).limit(1))  # the view begins with the first query
        except SQLAlchemyError as error:
            connection.close()
            raise self._database.explain(error) from error

        def read() -> Snapshot:
            try:
                return restore_snapshot(connection)
            except SQLAlchemyError as error:
                raise self._database.explain(error) from error
            finally:
                connection.close()

        return read

    def write(self, batch: Batch, committing: Callable[[], object] | None = None) -> None:
        if batch:
            with self._writing() as (connection, batches):
                batches.write(connection, batch)
                if committing is not None:
                    committing()

    def put_backend(self, record: BackendRecord, line: HistoryLine | None = None) -> None:
        with self._writing() as (connection, batches):
            connection.execute(delete(backends).where(backends.c.name == record.name))
            connection.execute(insert(backends).values(**asdict(record)))
            batches.write_history(connection, [] if line is None else [line])

    def remove_backend(self, name: str, line: HistoryLine | None = None) -> None:
        with self._writing() as (connection, batches):
            connection.execute(delete(backends).where(backends.c.name == name))
            batches.write_history(connection, [] if line is None else [line])

    def put_token(self, record: TokenRecord, instead_of: Collection[str] = ()) -> None:
        with self._writing() as (connection, _):
            self._delete_tokens(connection, instead_of)
            connection.execute(insert(tokens).values(**asdict(record)))

    def remove_tokens(self, digests: Collection[str]) -> None:
        with self._writing() as (connection, _):
            self._delete_tokens(connection, digests)

    @staticmethod
    def _delete_tokens(connection: Connection, digests: Collection[str]) -> None:
        for digest in digests:
            connection.execute(delete(tokens).where(tokens.c.digest == digest))

    def prune(self, finished_before: float, history_before: float) -> int:
        """In small transactions, so it can be interrupted anywhere and goes on where it was."""
        rows = 0
        while gone := self._prune_workloads(workloads.c.finished_at < finished_before):
            rows += gone
        while gone := self._prune_history(history_before):
            rows += gone
        with self._writing() as (connection, _):
            rows += connection.execute(delete(idempotency).where(idempotency.c.at < history_before)).rowcount
            rows += node_prices.forget(connection, history_before)
        return rows

    def prune_oldest(self) -> int:
        return self._prune_workloads() + self._prune_history(math.inf)

    def size_bytes(self) -> int:
        with self._reading() as connection:
            return self._database.used_bytes(connection)

    def give_back_space(self) -> bool:
        with self._turn:
            self._require_open()
            try:
                return self._database.give_back_space()
            except Exception as error:  # as in `_writing`
                raise self._database.explain(error) from error

    def _prune_workloads(self, *conditions: ColumnElement[bool]) -> int:
        """Some that have ended, the oldest first."""
        query = (
            select(workloads.c.id, workloads.c.shape)
            .where(workloads.c.state.not_in(UNFINISHED), *conditions)
            .order_by(workloads.c.id)
            .limit(PRUNED_AT_ONCE)
        )
        with self._writing() as (connection, _):
            old = connection.execute(query).all()
            ids = [row.id for row in old]
            unused = shapes.c.id.in_({row.shape for row in old}) & ~exists().where(workloads.c.shape == shapes.c.id)
            return sum(
                connection.execute(statement).rowcount
                for statement in (
                    delete(decisions).where(decisions.c.workload.in_(ids)),
                    delete(attempts).where(attempts.c.workload.in_(ids)),
                    delete(tasks).where(tasks.c.workload.in_(ids)),
                    delete(workload_notes).where(workload_notes.c.workload.in_(ids)),
                    delete(workloads).where(workloads.c.id.in_(ids)),
                    delete(shapes).where(unused),
                )
            )

    def _prune_history(self, history_before: float) -> int:
        """From the oldest line up to the first that is still wanted, which needs no index of times."""
        oldest = select(history.c.seq, history.c.at).order_by(history.c.seq).limit(HISTORY_PRUNED_AT_ONCE)
        with self._writing() as (connection, _):
            last = 0
            for seq, at in connection.execute(oldest):
                if at >= history_before:
                    break
                last = seq
            return connection.execute(delete(history).where(history.c.seq <= last)).rowcount if last else 0

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        self._require_open()
        try:
            with self._database.reader.begin() as connection:
                yield connection
        except SQLAlchemyError as error:
            raise self._database.explain(error) from error

    @contextmanager
    def _writing(self) -> Iterator[tuple[Connection, BatchWriter]]:
        with self._turn:
            batches = self._require_open()
            try:
                with self._database.writer.begin() as connection:
                    yield connection, batches
            except StoreError:
                raise
            except Exception as error:  # also values no database can hold: the promise is a StoreError, whatever it was
                raise self._database.explain(error) from error

    def _require_open(self) -> BatchWriter:
        if self._batches is None:
            raise StoreError("the store is not open; call open() first")
        return self._batches


def sqlite_store(path: Path) -> SqlStore:
    """The embedded default: everything in one file."""
    return SqlStore(SqliteDatabase(path))
