"""A sorted list of entries with fixed keys, in blocks of a few hundred.

The first entry is at hand, and removing it touches no other entry; a heap would compare its way down through entries
that have left the CPU caches. Adding, and removing from the middle, cost O(log n) comparisons and one short move.
Guarantees: the smallest key is first, the smaller id of equal keys; removed entries leave nothing behind.
"""

from bisect import bisect_left, insort
from collections.abc import Iterator
from math import inf
from operator import itemgetter
from typing import Any, NamedTuple

Item = tuple[Any, ...]  # key numbers, id, entry; ids differ, so entries are never compared
_BLOCK = 512
_last = itemgetter(-1)


class QueueEntry(NamedTuple):
    """`rank` 0 is the highest priority. `run_s` is the declared run time, `expected_s` the one predicted from the
    owner's history. `share` is the dominant share of the cluster that the whole workload requests, `width` its
    processors. `saves`: what an hour on nodes of one's own saves it, for the part of a node that it takes.
    `latest_start`: when it goes to a dearer node."""

    id: int
    queue: int
    tenant: str
    user: str | None
    rank: int
    submitted_at: float
    run_s: float | None = None
    share: float = 0.0
    width: float = 1.0
    expected_s: float | None = None
    saves: float = 0.0
    latest_start: float = inf


class SortedEntries:
    """`first` is None if the list is empty. No block is empty, except a single one."""

    __slots__ = ("_blocks", "first")

    def __init__(self) -> None:
        self._blocks: list[list[Item]] = [[]]
        self.first: Item | None = None

    def __len__(self) -> int:
        return sum(map(len, self._blocks))

    def add(self, item: Item) -> None:
        blocks = self._blocks
        at = min(bisect_left(blocks, item, key=_last), len(blocks) - 1) if len(blocks) > 1 else 0
        block = blocks[at]
        insort(block, item)
        if len(block) > _BLOCK:
            # Most items are added at the end: then the block stays full and a new one begins.
            cut = _BLOCK if block[-1] is item else _BLOCK // 2
            blocks.insert(at + 1, block[cut:])
            del block[cut:]
        self.first = blocks[0][0]

    def remove(self, item: Item) -> None:
        """Pass the same object that was added."""
        blocks = self._blocks
        at, place = (0, 0) if self.first is item else self._find(item)
        block = blocks[at]
        del block[place]
        if not block and len(blocks) > 1:
            del blocks[at]
        block = blocks[0]
        self.first = block[0] if block else None

    def _find(self, item: Item) -> tuple[int, int]:
        blocks = self._blocks
        at = min(bisect_left(blocks, item, key=_last), len(blocks) - 1)
        place = bisect_left(blocks[at], item)
        if place < len(blocks[at]) and blocks[at][place] is item:
            return at, place
        # A plugin's key that is not comparable (NaN) may be anywhere.
        return next((at, place) for at, block in enumerate(blocks) for place, one in enumerate(block) if one is item)

    def in_order(self) -> Iterator[QueueEntry]:
        """All entries in order, lazily."""
        return (item[-1] for block in self._blocks for item in block)
