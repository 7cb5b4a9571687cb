"""How many alike things were over time, for every thread of the server: nodes here, pairs of nodes in the network.

Guarantees: what was added is read at once, and is durable when `save` returns; after a restart the buckets that were
open go on. One row a bucket; a thing has the same slot in all of them, so that one thing is read without the others.
A thing of which nothing is left gives its slot away. Beyond the most that are kept, new ones are left out.
"""

import threading
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from sqlalchemy import Connection, bindparam, delete, func, select, update
from sqlalchemy.dialects.sqlite import insert

from dovetail.control.trends.down_sampling import Steps, TrendTier, TrendWindow
from dovetail.control.trends.keyed_buckets import F8, KeyedSeries, SlotBucket, Slots
from dovetail.control.trends.tables import key_buckets, keys
from dovetail.store.subsystem_tables import SubsystemTables

TIDY_EVERY_S = 600.0


class KeyedBook:
    """The database needs the tables `keys` and `key_buckets`."""

    def __init__(self, database: SubsystemTables, series: KeyedSeries) -> None:
        self.database, self.series = database, series
        self._lock = threading.Lock()
        self._slots: dict[str, int] | None = None  # None: not read yet
        self._new: dict[str, int] = {}  # slots that are not written down yet
        self._seen: set[str] = set()  # since they were written down as seen
        self._unsaved: dict[tuple[TrendTier, int], SlotBucket] = {}
        self._tidied_at = 0.0

    def add(self, at: float, names: Sequence[str], values: F8) -> None:
        """One sample of each: `values` is float64[name, series], nan where there is none. Raises StoreError if the
        tables cannot be opened; after that, nothing is read or written here."""
        with self._lock:
            slots = self._slots_of(names)
            kept = slots >= 0
            for tier in self.series.tiers:
                bucket = self._unsaved.setdefault((tier, tier.start(at)), SlotBucket.empty(len(self.series.names)))
                bucket.add(slots[kept], values[kept])

    def save(self, at: float) -> None:
        """Raises StoreError; what was not saved by then is lost, and leaves a gap."""
        with self._lock:
            if not self._unsaved:
                return
            known = self._known()
            unsaved, self._unsaved, new, self._new = self._unsaved, {}, self._new, {}
            self._slots = None  # if this fails, what the table says counts
            with self.database.writing() as connection:
                if new:
                    rows = [{"name": name, "slot": slot, "seen_at": at} for name, slot in new.items()]
                    connection.execute(insert(keys), rows)
                for (tier, start), bucket in unsaved.items():
                    self._write(connection, tier, start, bucket)
                if not self._tidied_at <= at < self._tidied_at + TIDY_EVERY_S:
                    self._tidy(connection, at, known)
                    self._tidied_at = at
            self._slots = known

    def read(self, window: TrendWindow, wanted: Callable[[str], bool]) -> Steps:
        """Of the things whose names are wanted, all together. Raises StoreError."""
        steps = Steps(window)
        with self._lock:
            if not self.database.exist:
                return steps
            known = self._known()
            slots = np.array(sorted(slot for name, slot in known.items() if wanted(name)), dtype=np.intp)
            if not len(slots):
                return steps
            for (tier, start), bucket in self._unsaved.items():
                if tier == window.tier:
                    self._take(steps, start, bucket, slots)
            for start, content in self._stored(window, int(slots[0]), int(slots[-1])):
                self._take(steps, start, SlotBucket.read(content, len(self.series.names)), slots - slots[0])
        return steps

    def _take(self, steps: Steps, start: int, bucket: SlotBucket, slots: Slots) -> None:
        both = zip(self.series.names, *bucket.total(slots), strict=True)
        steps.take(start, {name: (total, number) for name, total, number in both if number})

    def _stored(self, window: TrendWindow, first: int, last: int) -> Iterator[tuple[int, bytes]]:
        """Of each bucket, only the part between two slots."""
        width = self.series.row_bytes
        part = func.substr(key_buckets.c.content, first * width + 1, (last - first + 1) * width)
        query = select(key_buckets.c.start, part).where(
            key_buckets.c.step_s == window.tier.step_s, key_buckets.c.start >= window.start
        )
        with self.database.reading() as connection:
            yield from ((start, content) for start, content in connection.execute(query))

    def _write(self, connection: Connection, tier: TrendTier, start: int, bucket: SlotBucket) -> None:
        place = (key_buckets.c.step_s == tier.step_s, key_buckets.c.start == start)
        before = connection.scalar(select(key_buckets.c.content).where(*place))
        if before is not None:
            bucket.join(SlotBucket.read(before, len(self.series.names)))
        given = insert(key_buckets).values(step_s=tier.step_s, start=start, content=bucket.written())
        over = given.on_conflict_do_update(
            index_elements=list(key_buckets.primary_key), set_={"content": given.excluded.content}
        )
        connection.execute(over)

    # --- slots -------------------------------------------------------------------------------------------------

    def _known(self) -> dict[str, int]:
        if self._slots is None:
            self.database.open()
            with self.database.reading() as connection:
                self._slots = {row.name: row.slot for row in connection.execute(select(keys.c.name, keys.c.slot))}
        return self._slots

    def _slots_of(self, names: Sequence[str]) -> Slots:
        """-1 for those beyond the most that are kept."""
        known = self._known()
        self._seen.update(names)
        new = [name for name in dict.fromkeys(names) if name not in known]
        taken = set(known.values()) if new else set()
        vacant = (slot for slot in range(self.series.most_keys) if slot not in taken)
        given = dict(zip(new, vacant, strict=False))
        known |= given
        self._new |= given
        return np.array([known.get(name, -1) for name in names], dtype=np.intp)

    def _tidy(self, connection: Connection, now: float, known: dict[str, int]) -> None:
        for tier in self.series.tiers:
            old = key_buckets.c.start < tier.start(now - tier.keep_s)
            connection.execute(delete(key_buckets).where(key_buckets.c.step_s == tier.step_s, old))
        seen = [{"name_seen": name, "at": now} for name in self._seen]
        if seen:
            there = update(keys).where(keys.c.name == bindparam("name_seen"))
            connection.execute(there.values(seen_at=bindparam("at")), seen)
        self._seen.clear()
        longest_s = max(tier.keep_s + tier.step_s for tier in self.series.tiers)
        gone = keys.c.seen_at < now - longest_s - 2 * TIDY_EVERY_S
        for name in list(connection.scalars(select(keys.c.name).where(gone))):
            known.pop(name, None)
        connection.execute(delete(keys).where(gone))
