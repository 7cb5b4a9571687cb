"""A min-heap of names whose values change. Ties go to the smaller name.

Changing a value costs O(log n). Stale values stay in the heap until they reach the top or make up most of it. A new
value for the first name, the usual case, replaces the old one at once.
"""

from heapq import heapify, heappop, heappush, heapreplace

Name = int | str  # one type in each heap
_SWEEP_FROM = 64


class UpdatableHeap:
    """`first` has the least value; None if the heap is empty. Its current value is always on top."""

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
