"""Forgetting by age and by size; a clock that jumps makes nothing old."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.contract.store.records import finished, submitted

from dovetail.control.services.retention import DISTRUST_S, ClockGuard, RetentionService
from dovetail.control.settings import Retention
from dovetail.model.batch import Batch
from dovetail.model.record import HistoryLine
from dovetail.store.sql import SqlStore, sqlite_store

DAY = 86400.0
WEEK = 7 * DAY


def guard(now: float = 1000 * DAY, newest: float | None = None) -> ClockGuard:
    return ClockGuard(now, 0.0, newest, WEEK)


def test_a_clock_that_runs_as_time_does_is_trusted() -> None:
    clock = guard(newest=999 * DAY)
    assert all(clock.is_trusted(1000 * DAY + passed, passed) for passed in (0.0, 10.0, 5 * DAY))


def test_a_clock_that_jumps_forward_is_not_trusted_for_a_day() -> None:
    clock = guard()
    assert clock.is_trusted(1000 * DAY + 10, 10.0)
    assert not clock.is_trusted(1010 * DAY + 20, 20.0)
    assert not clock.is_trusted(1010 * DAY + DISTRUST_S, DISTRUST_S)
    assert clock.is_trusted(1010 * DAY + DISTRUST_S + 20, DISTRUST_S + 20)


def test_a_clock_that_is_set_back_makes_nothing_old_when_it_is_set_right() -> None:
    clock = guard()
    assert clock.is_trusted(900 * DAY, 10.0)
    assert not clock.is_trusted(1000 * DAY + 20, 20.0)


def test_records_that_would_all_go_at_a_start_stay_for_a_day() -> None:
    assert not guard(newest=992 * DAY).is_trusted(1000 * DAY + 10, 10.0)
    assert guard(newest=994 * DAY).is_trusted(1000 * DAY + 10, 10.0)


@pytest.fixture
def store(tmp_path: Path) -> Any:
    opened = sqlite_store(tmp_path / "dovetail.db")
    opened.open()
    yield opened
    opened.close()


def test_a_database_that_is_too_large_loses_its_oldest_records(store: SqlStore) -> None:
    store.write(submitted(*range(1, 1001)))
    store.write(finished(*range(1, 1001)))
    store.write(Batch(history=[HistoryLine(1.0, "note", "x" * 1000) for _ in range(25_000)]))
    assert store.size_bytes() > 20 * 2**20
    asyncio.run(RetentionService(Retention(max_size=16 * 2**20), store).tidy(None))
    assert store.size_bytes() <= 16 * 2**20
    assert store.newest_history_time() == 1.0, "the newest lines stay"
    assert not store.give_back_space(), "the space was given back"


def test_age_counts_only_while_the_clock_is_trusted(store: SqlStore) -> None:
    store.write(submitted(1))
    store.write(finished(1, at=10.0))
    service = RetentionService(Retention(), store)
    asyncio.run(service.tidy(None))
    assert store.workload(1) is not None
    asyncio.run(service.tidy(10.0 + WEEK + 1))
    assert store.workload(1) is None
