"""Entries that wait behind one another, by a key that does not change.

O(log n) a push, and a drop in the mean: an entry that was dropped is skipped when it comes up, and all such are swept
out when they are most of the heap. Guarantees: the smallest key is first, the smaller id of equal keys; looking through
in order changes nothing and costs only as far as one looks. Who is still waiting is known by `seated`, which several
`Seats` may share: an item counts only if it is the very one that stands there, so that an entry may leave and come back
with another key.
"""

from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from typing import Any

Item = tuple[Any, ...]  # the key's numbers, then the id
_SWEEP_FROM = 64


class Seats:
    """A heap of items; `count` of them still wait."""

    __slots__ = ("_heap", "_seated", "count")

    def __init__(self, seated: dict[int, Item]) -> None:
        self._seated = seated
        self._heap: list[Item] = []
        self.count = 0

    def add(self, item: Item) -> None:
        """The item must be in `seated` under its id."""
        heappush(self._heap, item)
        self.count += 1

    def removed(self, item: Item) -> None:
        """The item is no longer in `seated`."""
        self.count -= 1
        heap = self._heap
        if heap and heap[0] is item:
            heappop(heap)
        elif len(heap) > _SWEEP_FROM and len(heap) > 4 * self.count:
            seated = self._seated
            self._heap = [one for one in heap if seated.get(one[-1]) is one]
            heapify(self._heap)

    def first(self) -> int | None:
        """The id that goes next."""
        heap, seated = self._heap, self._seated
        while heap:
            item = heap[0]
            id_: int = item[-1]
            if seated.get(id_) is item:
                return id_
            heappop(heap)
        return None

    def in_order(self) -> Iterator[int]:
        """Every id, next first. A heap is a tree whose branches ascend, so the next is always at the edge of what has
        been looked at."""
        heap, seated = self._heap, self._seated
        edge = [(heap[0], 0)] if heap else []
        while edge:
            item, at = heappop(edge)
            for child in (2 * at + 1, 2 * at + 2):
                if child < len(heap):
                    heappush(edge, (heap[child], child))
            if seated.get(item[-1]) is item:
                yield item[-1]
