"""A copy of what a restart would restore, read from the database of a running server by another process.

Guarantees: one consistent view, as of the last durable step; the server is not asked and does not wait. The file is
opened for reading only, and nothing of tokens and backends is read.
"""

import sqlite3
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import NullPool, create_engine, event, select
from sqlalchemy.exc import SQLAlchemyError

from dovetail.model.record import Snapshot
from dovetail.store import schema
from dovetail.store.contract import StoreError
from dovetail.store.restoring import restore_snapshot

BUSY_TIMEOUT_S = 5.0


@dataclass(frozen=True, slots=True)
class StoredCopy:
    """`definitions`: of unfinished workloads by id, as the store keeps them."""

    snapshot: Snapshot
    definitions: dict[int, str]


def read_copy(database: Path) -> StoredCopy:
    """Raises StoreError."""

    def connect() -> sqlite3.Connection:
        address = f"file:{quote(str(database))}?mode=ro"
        return sqlite3.connect(address, uri=True, timeout=BUSY_TIMEOUT_S, isolation_level=None)

    engine = create_engine("sqlite://", creator=connect, poolclass=NullPool, hide_parameters=True)
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN"))
    columns = schema.workloads.c
    query = select(columns.id, columns.spec_json).where(columns.state.in_(schema.UNFINISHED))
    try:
        with engine.begin() as connection:
            snapshot = restore_snapshot(connection)
            return StoredCopy(snapshot, {row.id: row.spec_json for row in connection.execute(query)})
    except SQLAlchemyError as error:
        raise StoreError(f"{database} cannot be copied: {error}") from error
    finally:
        engine.dispose()
