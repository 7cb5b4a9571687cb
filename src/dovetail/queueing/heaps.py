"""Two heaps: of names whose values change, and of parked workloads."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush, heapreplace
from itertools import islice

from dovetail.queueing.orderings import Key

Name = int | str  # one type in each heap
_SWEEP_FROM = 64
_LAZY = 512  # as many come from the heap one by one; sorting all is quicker for more


class UpdatableHeap:
    """A min-heap of names whose values change, at O(log n). Ties go to the smaller name. `first` has the least value;
    None if the heap is empty. Its current value is always on top; other stale values stay until they reach the top or
    make up most of the heap."""

    __slots__ = ("_heap", "first", "values")

    def __init__(self) -> None:
        self.values: dict[Name, float] = {}
        self.first: Name | None = None
        self._heap: list[tuple[float, Name]] = []

    def copy(self) -> "UpdatableHeap":
        found = UpdatableHeap()
        found.values, found.first, found._heap = dict(self.values), self.first, list(self._heap)
        return found

    def set(self, name: Name, value: float) -> None:
        """Add the name, or change its value."""
        values, heap = self.values, self._heap
        if values.get(name) == value:
            return
        values[name] = value
        if name == self.first:
            heapreplace(heap, (value, name))
            self._pop_stale()
            return
        heappush(heap, (value, name))
        self.first = heap[0][1]
        if len(heap) > _SWEEP_FROM and len(heap) > 4 * len(values):
            self.replace(values)

    def remove(self, name: Name) -> None:
        self.values.pop(name, None)
        if name == self.first:
            self._pop_stale()

    def replace(self, values: dict[Name, float]) -> None:
        """Replace all values."""
        self.values = values
        self._heap = [(value, name) for name, value in values.items()]
        heapify(self._heap)
        self.first = self._heap[0][1] if self._heap else None

    def _pop_stale(self) -> None:
        heap, values = self._heap, self.values
        while heap:
            value, name = heap[0]
            if values.get(name) == value:
                self.first = name
                return
            heappop(heap)
        self.first = None


@dataclass(slots=True)
class ParkedHeap:
    """Workloads that are parked for one reason: ids by key, then by id, each at most once. A removed workload is
    dropped from the heap when it reaches the top."""

    _heap: list[tuple[Key, int]] = field(default_factory=list)
    _inside: dict[int, Key] = field(default_factory=dict)

    def push(self, workload: int, key: Key) -> None:
        if workload not in self._inside:
            self._inside[workload] = key
            heappush(self._heap, (key, workload))

    def rekey(self, keys: dict[int, Key]) -> None:
        """Give the same workloads new keys."""
        self._inside = keys
        self._heap = [(key, workload) for workload, key in keys.items()]
        heapify(self._heap)

    def peek(self) -> int | None:
        while self._heap:
            key, workload = self._heap[0]
            if self._inside.get(workload) == key:
                return workload
            heappop(self._heap)
        return None

    def drop(self, workload: int) -> None:
        self._inside.pop(workload, None)
        if self._heap and self._heap[0][1] == workload:
            heappop(self._heap)
        elif len(self._heap) > 64 and len(self._heap) > 4 * len(self._inside):
            self._heap = sorted((key, id_) for id_, key in self._inside.items())

    def __len__(self) -> int:
        return len(self._inside)

    def __contains__(self, workload: object) -> bool:
        return workload in self._inside

    def __iter__(self) -> Iterator[int]:
        """All workloads in order. Do not change the heap while iterating."""
        return (workload for _, workload in self.items())

    def items(self) -> Iterator[tuple[Key, int]]:
        """The same with their keys. The first few are found in the heap without looking at the others; only whoever
        goes on makes it sort."""
        seen: set[int] = set()
        for item in islice(self._from_the_top(), _LAZY):
            if item[1] not in seen:  # one that came back may be in the heap twice
                seen.add(item[1])
                yield item
        if len(seen) < len(self._inside):
            yield from sorted((key, id_) for id_, key in self._inside.items() if id_ not in seen)

    def _from_the_top(self) -> Iterator[tuple[Key, int]]:
        heap, inside = self._heap, self._inside
        ahead = [(heap[0], 0)] if heap else []
        while ahead:
            item, place = heappop(ahead)
            for below in (2 * place + 1, 2 * place + 2):
                if below < len(heap):
                    heappush(ahead, (heap[below], below))
            if inside.get(item[1]) == item[0]:
                yield item
