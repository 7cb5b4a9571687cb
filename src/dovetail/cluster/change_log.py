"""Reading the cluster's change log: which rows changed since a cache last looked, by column group.

Guarantees: a trial that ends leaves no trace in the log. It is cut back to where the trial began, and a cursor that
read what is cut off reads those rows once more.
"""

from collections.abc import Iterable, Mapping
from typing import Protocol


class Logged(Protocol):
    """What keeps the log: rows by column group, and an epoch that grows when the log is cut or does not tell enough."""

    log: dict[str, list[int]]
    epoch: int

    def log_was_read(self, reader: "LogCursor") -> None: ...


class LogCursor:
    """How far one cache has read in the log of some column groups."""

    __slots__ = ("_again", "_cluster", "_epoch", "_positions")

    def __init__(self, cluster: Logged, groups: Iterable[str]) -> None:
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
