"""SQL text for writing many rows at once, compiled once for each kind of database in use.

Guarantees: a statement takes plain tuples in the order of its `columns` (so the driver is one that takes parameters
by position); the ways databases differ in inserting over an existing row are here and nowhere else.

Rows go to the driver as tuples because building and unpacking a dictionary a row costs more than SQLite needs to
store it, and many to a statement because the driver gives up the interpreter lock at every statement: a write of
thousands would otherwise queue for the lock thousands of times while the control loop is busy deciding.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from operator import attrgetter
from typing import Any, Self

from sqlalchemy import Column, Connection, Dialect, Table, bindparam, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.sql.expression import Executable

Row = tuple[Any, ...]
_INSERTS: dict[str, Callable[[Table], Any]] = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}
#: Rows a statement: few different sizes, so that the driver keeps them all prepared.
SIZES = (256, 64, 16, 4, 1)


@dataclass(frozen=True, slots=True)
class Statement:
    """`before`, then `row` once for each row, then `after`."""

    before: str
    row: str
    after: str
    columns: tuple[str, ...]
    _texts: dict[int, str] = field(default_factory=dict)

    def taking(self, *columns: str) -> Self:
        """Rows are spelled out in this order; refuse to start if the schema says otherwise."""
        if self.columns != columns:
            raise AssertionError(f"rows are written as {columns}, the schema has {self.columns}")
        return self

    def sql(self, rows: int) -> str:
        found = self._texts.get(rows)
        if found is None:
            found = self._texts[rows] = self.before + ", ".join([self.row] * rows) + self.after
        return found

    def run(self, connection: Connection, rows: Iterable[Row]) -> int:
        """For all rows; returns how many rows of the table it touched. Asks the driver itself: around a statement of
        one row SQLAlchemy takes longer than SQLite needs for it, and a step has a dozen of them."""
        given = list(rows)
        if not given:
            return 0
        touched = at = 0
        cursor = connection.connection.cursor()
        for size in SIZES:
            while len(given) - at >= size:
                cursor.execute(self.sql(size), tuple(chain.from_iterable(given[at : at + size])))
                touched += cursor.rowcount
                at += size
        cursor.close()
        return touched

    def picker(self, **where: str) -> Callable[[Any], Row]:
        """A function from a record to its row: each column from the attribute of its name, or the one given."""
        return attrgetter(*(where.get(column, column) for column in self.columns))


def _compile(statement: Executable, dialect: Dialect, columns: list[str] | None = None) -> Statement:
    """An INSERT taken apart around the one row of its VALUES."""
    compiled = statement.compile(dialect=dialect, column_keys=columns)  # type: ignore[attr-defined]
    text = str(compiled)
    start = text.index("(", text.index(" VALUES "))
    depth, end = 1, start + 1
    while depth:
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        end += 1
    return Statement(text[:start], text[start:end], text[end:], tuple(compiled.positiontup))


def _placeholders(count: int, dialect: Dialect) -> str:
    return f"({', '.join(['?' if dialect.paramstyle == 'qmark' else '%s'] * count)})"


def _written_columns(table: Table) -> list[str]:
    """All but the column that the database counts up."""
    return [column.name for column in table.columns if column is not table.autoincrement_column]


@cache
def insert(table: Table, dialect: Dialect) -> Statement:
    return _compile(_INSERTS[dialect.name](table), dialect, _written_columns(table))


@cache
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
    columns = tuple(reference.name if name == "referred" else name for name in found.columns)
    return Statement(found.before, found.row, found.after, columns)


@cache
def insert_if_absent(table: Table, dialect: Dialect) -> Statement:
    """What is there stays."""
    return _compile(_INSERTS[dialect.name](table).on_conflict_do_nothing(), dialect, _written_columns(table))


@cache
def upsert(table: Table, dialect: Dialect, raising: str | None = None) -> Statement:
    """A row with the same primary key gets the new values; `raising`: only if this column is higher then."""
    found = _INSERTS[dialect.name](table)
    changed = {column.name: found.excluded[column.name] for column in table.columns if not column.primary_key}
    is_higher = None if raising is None else table.c[raising] < found.excluded[raising]
    over = found.on_conflict_do_update(index_elements=list(table.primary_key), set_=changed, where=is_higher)
    return _compile(over, dialect, _written_columns(table))


def update_by(table: Table, key: str, changed: Iterable[str], dialect: Dialect) -> Statement:
    """`columns` are the changed ones in order, then the key. Both databases call the columns of VALUES column1, …"""
    columns = (*changed, key)
    quote = dialect.identifier_preparer.quote
    sets = ", ".join(f"{quote(name)} = given.column{i}" for i, name in enumerate(columns[:-1], start=1))
    where = f"{quote(table.name)}.{quote(key)} = given.column{len(columns)}"
    return Statement(
        f"UPDATE {quote(table.name)} SET {sets} FROM (VALUES ",  # noqa: S608 (names of our own tables)
        _placeholders(len(columns), dialect),
        f") AS given WHERE {where}",
        columns,
    )


def delete_by(table: Table, keys: Iterable[str], dialect: Dialect) -> Statement:
    columns = tuple(keys)
    quote = dialect.identifier_preparer.quote
    named = ", ".join(quote(name) for name in columns)
    before = f"DELETE FROM {quote(table.name)} WHERE ({named}) IN (VALUES "  # noqa: S608 (names of our own tables)
    return Statement(before, _placeholders(len(columns), dialect), ")", columns)
