"""A heap of workloads that are parked for one reason. Their order does not change while they wait.

Push and pop cost O(log n). A removed workload is dropped from the heap when it reaches the top.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush

from dovetail.queueing.orderings import Key


@dataclass(slots=True)
class ParkedHeap:
    """Workload ids by key, then by id. A workload is in the heap at most once."""

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
        """All workloads in order."""
        return (workload for _, workload in sorted((key, id_) for id_, key in self._inside.items()))
