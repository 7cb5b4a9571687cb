"""SQL text for writing many rows at once, compiled once for the database in use.

Guarantees: a statement takes plain tuples in the order of its `columns` (so the driver is one that takes parameters
by position); the ways databases differ in inserting over an existing row are here and nowhere else.

Rows go to the driver as tuples because building and unpacking a dictionary a row costs more than SQLite needs to
store it.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from sqlalchemy import Column, Connection, Dialect, Table, bindparam, delete, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.sql.expression import Executable

Row = tuple[Any, ...]
_INSERTS: dict[str, Callable[[Table], Any]] = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}


@dataclass(frozen=True, slots=True)
class Statement:
    sql: str
    columns: tuple[str, ...]

    def run(self, connection: Connection, rows: Iterable[Row]) -> int:
        """Once a row; returns how many rows of the table it touched."""
        given = list(rows)
        return connection.exec_driver_sql(self.sql, given).rowcount if given else 0

    def picker(self, **where: str) -> Callable[[Any], Row]:
        """A function from a record to its row: each column from the attribute of its name, or the one given."""
        return attrgetter(*(where.get(column, column) for column in self.columns))


def _compile(statement: Executable, dialect: Dialect, columns: list[str] | None = None) -> Statement:
    compiled = statement.compile(dialect=dialect, column_keys=columns)  # type: ignore[attr-defined]
    return Statement(str(compiled), tuple(compiled.positiontup))


def _written_columns(table: Table) -> list[str]:
    """All but the column that the database counts up."""
    return [column.name for column in table.columns if column is not table.autoincrement_column]


def insert(table: Table, dialect: Dialect) -> Statement:
    return _compile(_INSERTS[dialect.name](table), dialect, _written_columns(table))


def insert_referring(table: Table, reference: Column[Any], by: Column[Any], dialect: Dialect) -> Statement:
    """The column `reference` is given as the other table's `by` and stored as that row's primary key."""
    (key,) = by.table.primary_key
    target = select(key).where(by == bindparam("referred")).scalar_subquery()
    found = _compile(
        _INSERTS[dialect.name](table).values(
            {**{name: bindparam(name) for name in _written_columns(table)}, reference.name: target}
        ),
        dialect,
    )
    return Statement(found.sql, tuple(reference.name if name == "referred" else name for name in found.columns))


def insert_if_absent(table: Table, dialect: Dialect) -> Statement:
    """What is there stays."""
    return _compile(_INSERTS[dialect.name](table).on_conflict_do_nothing(), dialect, _written_columns(table))


def upsert(table: Table, dialect: Dialect) -> Statement:
    """A row with the same primary key gets the new values."""
    found = _INSERTS[dialect.name](table)
    changed = {column.name: found.excluded[column.name] for column in table.columns if not column.primary_key}
    return _compile(
        found.on_conflict_do_update(index_elements=list(table.primary_key), set_=changed),
        dialect,
        _written_columns(table),
    )


def raise_to(table: Table, column: str, dialect: Dialect) -> Statement:
    """A row with the same primary key gets the new value if that is higher."""
    found = _INSERTS[dialect.name](table)
    return _compile(
        found.on_conflict_do_update(
            index_elements=list(table.primary_key),
            set_={column: found.excluded[column]},
            where=table.c[column] < found.excluded[column],
        ),
        dialect,
        _written_columns(table),
    )


def update_by(table: Table, key: str, changed: Iterable[str], dialect: Dialect) -> Statement:
    values: dict[str, Any] = {name: bindparam(name) for name in changed}
    # The parameter of the key cannot have the column's own name: SQLAlchemy keeps that for the SET clause.
    found = _compile(update(table).where(table.c[key] == bindparam(f"{key}_is")).values(values), dialect)
    return Statement(found.sql, tuple(column.removesuffix("_is") for column in found.columns))


def delete_by(table: Table, keys: Iterable[str], dialect: Dialect) -> Statement:
    return _compile(delete(table).where(*(table.c[key] == bindparam(key) for key in keys)), dialect)
