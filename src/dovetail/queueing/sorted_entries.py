"""Entries that wait behind one another, by a key that does not change.

Kept in order, in blocks of a few hundred: who goes first is at hand, and leaving from the front touches nobody else,
where a heap would compare its way down through entries that have long left the processor's caches. A push and a drop
from the middle cost O(log n) comparisons and one short move, never a sweep over all.
Guarantees: the smallest key is first, the smaller id of equal keys; nothing stays behind of who has left.
"""

from bisect import bisect_left, insort
from collections.abc import Iterator
from operator import itemgetter
from typing import Any

from dovetail.queueing.entry import QueueEntry

Item = tuple[Any, ...]  # the key's numbers, the id, the entry; ids differ, so that entries are never compared
_BLOCK = 512
_last = itemgetter(-1)


class SortedEntries:
    """`first` goes next, None if nobody waits. No block is empty but the only one."""

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
            # Most come last. Then the block stays full and the next begins.
            cut = _BLOCK if block[-1] is item else _BLOCK // 2
            blocks.insert(at + 1, block[cut:])
            del block[cut:]
        self.first = blocks[0][0]

    def remove(self, item: Item) -> None:
        """The very item that was added."""
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
        # An outsider's key that cannot be compared (not a number) may stand anywhere.
        return next((at, place) for at, block in enumerate(blocks) for place, one in enumerate(block) if one is item)

    def in_order(self) -> Iterator[QueueEntry]:
        """All of them, next first; costs only as far as one looks."""
        return (item[-1] for block in self._blocks for item in block)
