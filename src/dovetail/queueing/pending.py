"""The waiting line: workloads that want nodes, in an order, and those set aside because nothing fits them now.

O(log n) a push and a pop. An entry that was cancelled or served is dropped when it comes up, not searched for.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Literal

Order = Literal["priority", "fifo"]


def order_key(order: Order, priority_rank: int, sequence: int) -> tuple[int, int]:
    """What sorts first goes first: by urgency then arrival, or by arrival alone."""
    return (priority_rank, sequence) if order == "priority" else (0, sequence)


@dataclass(slots=True)
class PendingQueue:
    """Workload ids in order. A workload is in the heap at most once."""

    order: Order
    _heap: list[tuple[tuple[int, int], int]] = field(default_factory=list)
    _inside: dict[int, tuple[int, int]] = field(default_factory=dict)

    def push(self, workload: int, priority_rank: int, sequence: int) -> None:
        if workload in self._inside:
            return
        key = order_key(self.order, priority_rank, sequence)
        self._inside[workload] = key
        heappush(self._heap, (key, workload))

    def peek(self) -> int | None:
        while self._heap:
            workload = self._heap[0][1]
            if workload in self._inside:
                return workload
            heappop(self._heap)
        return None

    def drop(self, workload: int) -> None:
        """No longer waiting here."""
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
        """All of them, next first."""
        return (workload for _, workload in sorted((key, id_) for id_, key in self._inside.items()))
