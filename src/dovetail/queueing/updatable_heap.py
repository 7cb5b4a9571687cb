"""Contenders by a value that changes: the least goes first, the smaller name of equal values.

O(log n) to give a contender a new value. Old values stay in the heap until they come up or are most of it; whoever
stands first and gets a new value, which is what happens at every choice, takes the old one out at once.
"""

from heapq import heapify, heappop, heappush, heapreplace

Name = int | str  # all of one kind in one contest
_SWEEP_FROM = 64


class UpdatableHeap:
    """`first` leads, None if nobody contends. Its present value is always on top of the heap."""

    __slots__ = ("_heap", "first", "values")

    def __init__(self) -> None:
        self.values: dict[Name, float] = {}
        self.first: Name | None = None
        self._heap: list[tuple[float, Name]] = []

    def set(self, name: Name, value: float) -> None:
        """Enter, or stand at another value from now on."""
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
        """All values anew."""
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
