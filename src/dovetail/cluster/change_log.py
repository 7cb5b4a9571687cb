"""The change log: which rows changed, by column group, and trials, which undo themselves.

Guarantees: a trial that ends leaves no trace in the log. It is cut back to where the trial began, and a cursor that
read what is cut off reads those rows once more.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager

#: Column groups. A plugin names the groups it reads; a cached result is recomputed for rows changed in those.
RESOURCES, PLACEMENTS, LABELS, TAINTS, STATUS = "resources", "placements", "labels", "taints", "status"
DEVICES, OFFERS = "devices", "offers"
GROUPS = (RESOURCES, PLACEMENTS, LABELS, TAINTS, STATUS, DEVICES, OFFERS)

_LOG_LIMIT = 200_000


class LogCursor:
    """How far one cache has read in the log of some column groups."""

    __slots__ = ("_again", "_cluster", "_epoch", "_positions")

    def __init__(self, cluster: "LoggedState", groups: Iterable[str]) -> None:
        self._cluster = cluster
        self._positions = dict.fromkeys(groups, 0)
        self.skip()

    def skip(self) -> None:
        """The cache was rebuilt: it knows all that is in the log."""
        self._epoch = self._cluster.epoch
        self._positions = {group: len(self._cluster.log[group]) for group in self._positions}
        self._again: dict[str, set[int]] = {}
        self._cluster.log_was_read(self)

    def skip_one(self, groups: Iterable[str]) -> None:
        """The next entry of each of the groups is known."""
        for group in groups:
            self._positions[group] += 1
        self._cluster.log_was_read(self)

    @property
    def is_lost(self) -> bool:
        """The log does not reach back far enough: the cache must be rebuilt."""
        return self._epoch != self._cluster.epoch

    @property
    def is_at_end(self) -> bool:
        """Nothing changed since the last call of `changed`."""
        log = self._cluster.log
        return not self._again and all(position == len(log[group]) for group, position in self._positions.items())

    def changed(self) -> dict[str, set[int]]:
        """By column group: rows that changed since the last call. Groups without any are left out."""
        found, self._again = self._again, {}
        for group, position in self._positions.items():
            log = self._cluster.log[group]
            if position < len(log):
                found.setdefault(group, set()).update(log[position:])
                self._positions[group] = len(log)
        if found:
            self._cluster.log_was_read(self)
        return found

    def rewind(self, positions: Mapping[str, int], rows: Mapping[str, set[int]]) -> None:
        """A trial in which it read the log was undone. By column group: the log is only this long again, and these rows
        changed in the trial."""
        for group, position in self._positions.items():
            if rows[group] and position > positions[group]:
                self._positions[group] = positions[group]
                self._again.setdefault(group, set()).update(rows[group])

    def copy(self) -> "LogCursor":
        found = LogCursor(self._cluster, ())
        found._epoch, found._positions = self._epoch, dict(self._positions)
        found._again = {group: set(rows) for group, rows in self._again.items()}
        return found


class LoggedState(ABC):
    """State in rows: each change is logged, and undone at the end of a trial."""

    def __init__(self) -> None:
        self.log: dict[str, list[int]] = {group: [] for group in GROUPS}
        # Names the state of the tables: two different states never have the same number. A trial that ends restores it.
        self.changes = 0
        self.changes_before = 0  # the number before the last change
        self.status_changes = 0  # grows when the labels, taints or status of a node change, in trials too
        self.epoch = 0  # bumped when a cached result cannot be updated row by row
        self._undo: list[Callable[[], object]] | None = None
        self._readers: dict[int, LogCursor] = {}  # of the log, in this trial, by identity
        self._last_change = 0

    def _touch(self, row: int, groups: tuple[str, ...]) -> None:
        for group in groups:
            self.log[group].append(row)
        if STATUS in groups:
            self.status_changes += 1
        self._new_state()

    def _new_state(self) -> None:
        self._last_change += 1
        self.changes_before, self.changes = self.changes, self._last_change

    @contextmanager
    def trial(self) -> Iterator[None]:
        """Place, remove, reserve, cordon and quarantine as you like: all is undone at the end. Trials nest."""
        outer, outer_readers, before = self._undo, self._readers, (self.changes_before, self.changes)
        positions = {group: len(rows) for group, rows in self.log.items()}
        self._undo, self._readers = [], {}
        restore = self._trial_begins()
        try:
            yield
        finally:
            steps, self._undo = self._undo, None
            for step in reversed(steps):
                step()
            restore()
            self._rewind(positions)
            outer_readers.update(self._readers)  # they have read the log of the outer trial as well
            self._undo, self._readers = outer, outer_readers
            self.changes_before, self.changes = before

    def log_was_read(self, reader: LogCursor) -> None:
        """The cursor reports that it read the log. When the trial ends, it is set back."""
        if self._undo is not None:
            self._readers[id(reader)] = reader

    def _rewind(self, positions: dict[str, int]) -> None:
        """Cut the log back to where the trial began, and set back the cursors that read further."""
        rows: dict[str, set[int]] = {}
        for group, position in positions.items():
            log = self.log[group]
            rows[group] = set(log[position:])
            del log[position:]
        for reader in self._readers.values():
            reader.rewind(positions, rows)

    @abstractmethod
    def _trial_begins(self) -> Callable[[], None]:
        """Returns what restores, when the trial ends, that which its undone steps do not."""

    def trim_log(self) -> None:
        """Keep the change log short; caches are rebuilt when it is cut."""
        if len(self.log[RESOURCES]) > _LOG_LIMIT:
            for rows in self.log.values():
                rows.clear()
            self._log_was_cut()
            self.epoch += 1

    @abstractmethod
    def _log_was_cut(self) -> None:
        """Look at all rows again for what else is updated from the log."""
