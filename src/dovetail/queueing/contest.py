"""Contenders by a value that changes: the least goes first, the smaller name of equal values.

O(log n) to give a contender a new value. Old values stay in the heap until they come up or are most of it.
"""

from heapq import heapify, heappop, heappush

Name = int | str  # all of one kind in one contest
_SWEEP_FROM = 64


class Contest:
    __slots__ = ("_heap", "values")

    def __init__(self) -> None:
        self.values: dict[Name, float] = {}
        self._heap: list[tuple[float, Name]] = []

    def set(self, name: Name, value: float) -> None:
        """Enter, or stand at another value from now on."""
        if self.values.get(name) == value:
            return
        self.values[name] = value
        heappush(self._heap, (value, name))
        if len(self._heap) > _SWEEP_FROM and len(self._heap) > 4 * len(self.values):
            self.replace(self.values)

    def withdraw(self, name: Name) -> None:
        self.values.pop(name, None)

    def replace(self, values: dict[Name, float]) -> None:
        """All values anew."""
        self.values = values
        self._heap = [(value, name) for name, value in values.items()]
        heapify(self._heap)

    def first(self) -> Name | None:
        heap, values = self._heap, self.values
        while heap:
            value, name = heap[0]
            if values.get(name) == value:
                return name
            heappop(heap)
        return None
