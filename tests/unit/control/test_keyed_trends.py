"""How many alike things were over time: bounded tables in which each thing has its place, read back after a restart."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import func, select

from dovetail.control.subsystems.registry import find_subsystem
from dovetail.control.trends.down_sampling import TrendTier, window
from dovetail.control.trends.keyed_book import TIDY_EVERY_S, KeyedBook
from dovetail.control.trends.keyed_buckets import KeyedSeries
from dovetail.control.trends.node_series import NODE_SERIES
from dovetail.control.trends.tables import key_buckets, keys
from dovetail.store.contract import StoreError
from dovetail.store.subsystem_tables import SubsystemTables

NOW = 1_800_000_000.0
SERIES = KeyedSeries(
    {"a": ("A", "share"), "b": ("B", "ms")}, (TrendTier(60, 3600), TrendTier(900, 86_400)), most_keys=3
)
MINUTE, QUARTER = SERIES.tiers


def book_in(folder: Path) -> KeyedBook:
    declared = find_subsystem("trends")
    assert declared.migrations is not None
    return KeyedBook(SubsystemTables("trends", folder / "tables.db", declared.migrations), SERIES)


@pytest.fixture
def book(tmp_path: Path) -> Iterator[KeyedBook]:
    found = book_in(tmp_path)
    yield found
    found.database.close()


def put(book: KeyedBook, at: float, **values: tuple[float, float]) -> None:
    book.add(at, list(values), np.array(list(values.values())))


def read(book: KeyedBook, now: float, since_s: float, points: int, *names: str) -> dict[str, list[float | None]]:
    found = book.series.answer(book.read(window(now, since_s, points, SERIES.tiers), lambda name: name in names))
    return {name: one["values"] for name, one in found["series"].items()}


@pytest.mark.parametrize("saved", [False, True])
def test_each_has_its_own_values_and_gaps_stay_gaps(book: KeyedBook, saved: bool) -> None:
    put(book, NOW, x=(0.25, 2.0), y=(0.5, float("nan")))
    put(book, NOW + 30, x=(0.75, 4.0))
    put(book, NOW + 120, y=(0.1, 0.0001))
    if saved:
        book.save(NOW + 120)
    assert read(book, NOW + 120, 180, 3, "x") == {"a": [0.5, None, None], "b": [3.0, None, None]}
    assert read(book, NOW + 120, 180, 3, "y") == {"a": [0.5, None, 0.1], "b": [None, None, 0.0001]}
    assert read(book, NOW + 120, 3601, 9, "y")["a"][-1] == 0.3, "the wider tier has both"
    assert read(book, NOW + 120, 180, 3, "nobody")["a"] == [None] * 3


def test_several_together_are_weighed_by_their_samples(book: KeyedBook) -> None:
    for _ in range(3):
        put(book, NOW, x=(0.2, 1.0))
    book.save(NOW)
    put(book, NOW, y=(0.6, 1.0))
    assert read(book, NOW, 60, 1, "x", "y")["a"] == [0.3]


def test_a_restart_goes_on_with_what_was_saved(tmp_path: Path) -> None:
    first = book_in(tmp_path)
    put(first, NOW, x=(0.2, 1.0), y=(0.4, 1.0))
    first.save(NOW)
    first.database.close()
    second = book_in(tmp_path)
    put(second, NOW + 30, y=(0.8, 1.0))
    assert read(second, NOW + 30, 60, 1, "y")["a"] == [0.6], "the minute goes on"
    second.save(NOW + 30)
    assert read(second, NOW + 30, 60, 1, "y")["a"] == [0.6]
    assert read(second, NOW + 30, 60, 1, "x")["a"] == [0.2]
    second.database.close()


def test_what_cannot_be_saved_is_a_gap_and_later_samples_are_kept(book: KeyedBook) -> None:
    put(book, NOW, x=(0.2, 1.0))
    book.save(NOW)
    put(book, NOW + 60, y=(0.4, 1.0))
    book.database.close()
    with pytest.raises(StoreError):
        book.save(NOW + 60)
    put(book, NOW + 120, z=(0.6, 1.0), y=(0.8, 1.0))
    book.save(NOW + 120)
    assert read(book, NOW + 120, 180, 3, "y")["a"] == [None, None, 0.8]
    assert read(book, NOW + 120, 180, 3, "z")["a"] == [None, None, 0.6]
    assert read(book, NOW + 120, 180, 3, "x")["a"] == [0.2, None, None]


def test_what_is_old_is_forgotten_and_gives_its_place_away(book: KeyedBook) -> None:
    put(book, NOW, x=(0.1, 1.0), y=(0.2, 1.0), z=(0.3, 1.0))
    put(book, NOW, more=(0.9, 1.0))
    book.save(NOW)
    assert read(book, NOW, 60, 1, "more")["a"] == [None], "beyond the most that are kept"
    hours = 30
    for hour in range(hours):
        put(book, NOW + 3600 * hour, x=(0.1, 1.0))
        book.save(NOW + 3600 * hour)
    later = NOW + 3600 * hours
    with book.database.reading() as connection:
        counted = select(key_buckets.c.step_s, func.count()).group_by(key_buckets.c.step_s)
        rows = {row[0]: row[1] for row in connection.execute(counted)}
        assert list(connection.scalars(select(keys.c.name))) == ["x"]
    assert all(rows[tier.step_s] <= tier.keep_s / 3600 + 2 for tier in SERIES.tiers), rows
    put(book, later, more=(0.9, 1.0))
    assert read(book, later, 86_400, 96, "more")["a"] == [*[None] * 95, 0.9], "nothing of who had its place before"


def test_1250_nodes_take_as_much_as_is_said_and_no_more(tmp_path: Path) -> None:
    declared = find_subsystem("trends")
    assert declared.migrations is not None
    tables = SubsystemTables("trends", tmp_path / "tables.db", declared.migrations)
    book = KeyedBook(tables, NODE_SERIES)
    names = [f"node-{number}" for number in range(1250)]
    values = np.random.default_rng(0).random((1250, len(NODE_SERIES.names)))
    book.add(NOW, names, values)
    book.save(NOW)
    with tables.reading() as connection:
        sizes = [len(content) for content in connection.scalars(select(key_buckets.c.content))]
    tables.close()
    assert sizes == [1250 * 18] * len(NODE_SERIES.tiers)
    assert NODE_SERIES.bytes_at_most(1250, TIDY_EVERY_S) < 17_000_000
