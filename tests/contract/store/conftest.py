"""Every store that the contract holds for. A new one is one more entry in `OPENERS`."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.servers.fresh_databases import use_copies

from dovetail.store.contract import Store
from dovetail.store.sql import sqlite_store

use_copies()

OPENERS: dict[str, Callable[[Path], Store]] = {"sqlite": lambda folder: sqlite_store(folder / "dovetail.db")}


@pytest.fixture(params=sorted(OPENERS))
def new_store(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Store]:
    """Makes a store over the same data every time, not yet open."""
    return lambda: OPENERS[request.param](tmp_path)


@pytest.fixture
def store(new_store: Callable[[], Store]) -> Iterator[Store]:
    opened = new_store()
    opened.open()
    yield opened
    opened.close()


@pytest.fixture
def restart(store: Store, new_store: Callable[[], Store]) -> Iterator[Callable[[], Store]]:
    """Closes the store and opens the data again, as another process would."""
    again: list[Store] = []

    def reopen() -> Store:
        for opened in (store, *again):
            opened.close()
        again.append(new_store())
        again[-1].open()
        return again[-1]

    yield reopen
    for opened in again:
        opened.close()
