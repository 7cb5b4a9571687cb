"""A table that can say what changed since a version: everything, or what was put and what was dropped.

Guarantees: a version that this table gave leads to the present content by the changes after it. Versions that are too
old, or of another table, get everything. What one answer costs depends on the number of changes, not on the content.
"""

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")

MOST_DROPPED = 20_000  # entries that are remembered as dropped


@dataclass(slots=True)
class TableChanges(Generic[K, V]):
    """`full`: `put` is the whole content, and whatever else somebody has is wrong."""

    version: int
    full: bool
    put: list[tuple[K, V]] = field(default_factory=list)
    dropped: list[K] = field(default_factory=list)


class ChangeTable(Generic[K, V]):
    """`first_version`: above every version that an earlier table of the same name may have given."""

    def __init__(self, first_version: int, most_dropped: int = MOST_DROPPED) -> None:
        self.version = first_version
        self._floor = first_version  # changes up to here are forgotten
        self._most_dropped = most_dropped
        self._entries: OrderedDict[K, tuple[int, V | None]] = OrderedDict()  # the latest change last
        self._dropped = 0

    def get(self, key: K) -> V | None:
        entry = self._entries.get(key)
        return None if entry is None else entry[1]

    def put(self, key: K, value: V) -> bool:
        """Whether that changed anything."""
        before = self._entries.get(key)
        if before is not None and before[1] == value:
            return False
        self._dropped -= before is not None and before[1] is None
        self._note(key, value)
        return True

    def drop(self, key: K) -> bool:
        """Whether it was there."""
        before = self._entries.get(key)
        if before is None or before[1] is None:
            return False
        self._dropped += 1
        self._note(key, None)
        if self._dropped > self._most_dropped:
            self._forget_dropped()
        return True

    def _note(self, key: K, value: V | None) -> None:
        self.version += 1
        self._entries[key] = (self.version, value)
        self._entries.move_to_end(key)

    def _forget_dropped(self) -> None:
        """The older half."""
        oldest = [key for key, (_, value) in self._entries.items() if value is None][: self._most_dropped // 2 + 1]
        for key in oldest:
            self._floor = max(self._floor, self._entries.pop(key)[0])
        self._dropped -= len(oldest)

    def after(self, version: int) -> TableChanges[K, V]:
        if not self._floor <= version <= self.version:
            every = [(key, value) for key, (_, value) in self._entries.items() if value is not None]
            return TableChanges(self.version, True, every)
        found: TableChanges[K, V] = TableChanges(self.version, False)
        for key, (changed_at, value) in reversed(self._entries.items()):
            if changed_at <= version:
                break
            if value is None:
                found.dropped.append(key)
            else:
                found.put.append((key, value))
        return found
