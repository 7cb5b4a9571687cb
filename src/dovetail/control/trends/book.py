"""Trends, for every thread of the server: what was sampled is added to its buckets, and read as steps of a window.

Guarantees: a sample is in all its buckets or in none, durable when `record` returns; after a restart the buckets that
were open go on. What is older than its tier keeps is forgotten. Reading never waits for the control loop.
"""

import threading
from collections.abc import Callable, Mapping
from typing import NamedTuple

import orjson
from sqlalchemy import Connection, delete, select
from sqlalchemy.dialects.sqlite import insert

from dovetail.control.trends.down_sampling import TIERS, Bucket, Steps, TrendTier, TrendWindow, add
from dovetail.control.trends.keyed_book import KeyedBook
from dovetail.control.trends.node_series import NODE_SERIES
from dovetail.control.trends.tables import buckets
from dovetail.store.subsystem_tables import SubsystemTables

TIDY_EVERY_S = 600.0
_DIGITS = 6


class LoopCounts(NamedTuple):
    """Since the start of the server: decisions, attempts that failed. `p99_s`: of the decisions since the last look."""

    decisions: int
    failures: int
    p99_s: float | None


class TrendBook:
    def __init__(self, database: SubsystemTables | None) -> None:
        assert database is not None
        self.database = database
        self.nodes = KeyedBook(database, NODE_SERIES)
        self._counts: Callable[[], LoopCounts] | None = None
        self._lock = threading.Lock()
        self._open: dict[TrendTier, tuple[int, Bucket]] = {}  # the buckets that samples are added to now
        self._tidied_at = 0.0

    def attach(self, counts: Callable[[], LoopCounts]) -> None:
        """Asked on the thread of the control loop."""
        self._counts = counts

    def counts(self) -> LoopCounts:
        assert self._counts is not None, "no control plane gave its counts"
        return self._counts()

    def record(self, at: float, samples: Mapping[str, float]) -> None:
        """Raises StoreError."""
        with self._lock:
            self.database.open()
            with self.database.writing() as connection:
                changed = {tier: self._with(connection, tier, at, samples) for tier in TIERS}
                rows = [_row(tier, *one) for tier, one in changed.items()]
                given = insert(buckets)
                over = given.on_conflict_do_update(
                    index_elements=list(buckets.primary_key), set_={"content": given.excluded.content}
                )
                connection.execute(over, rows)
                if not self._tidied_at <= at < self._tidied_at + TIDY_EVERY_S:
                    _tidy(connection, at)
                    self._tidied_at = at
            self._open = changed

    def _with(
        self, connection: Connection, tier: TrendTier, at: float, samples: Mapping[str, float]
    ) -> tuple[int, Bucket]:
        """The bucket of that moment with the samples. One that is not open may be in the table: of an earlier run, or
        because the clock was set back."""
        start = tier.start(at)
        known_start, known = self._open.get(tier, (None, {}))
        bucket = dict(known) if known_start == start else _stored(connection, tier, start)
        add(bucket, samples)
        return start, bucket

    def read(self, window: TrendWindow) -> Steps:
        """Raises StoreError."""
        steps = Steps(window)
        if not self.database.exist:
            return steps
        self.database.open()
        query = select(buckets.c.start, buckets.c.content).where(
            buckets.c.step_s == window.tier.step_s, buckets.c.start >= window.start
        )
        with self.database.reading() as connection:
            for start, content in connection.execute(query.order_by(buckets.c.start)):
                steps.take(start, orjson.loads(content))
        return steps


def _stored(connection: Connection, tier: TrendTier, start: int) -> Bucket:
    query = select(buckets.c.content).where(buckets.c.step_s == tier.step_s, buckets.c.start == start)
    content = connection.scalar(query)
    return {} if content is None else {name: (total, number) for name, (total, number) in orjson.loads(content).items()}


def _row(tier: TrendTier, start: int, bucket: Bucket) -> dict[str, object]:
    content = {name: (round(total, _DIGITS), number) for name, (total, number) in bucket.items()}
    return {"step_s": tier.step_s, "start": start, "content": orjson.dumps(content).decode()}


def _tidy(connection: Connection, now: float) -> None:
    for tier in TIERS:
        old = buckets.c.start < tier.start(now - tier.keep_s)
        connection.execute(delete(buckets).where(buckets.c.step_s == tier.step_s, old))
