"""The pending queue of one scheduler: which workloads wait, in which order, and how many in each queue.

Guarantees: push, peek and drop cost O(log n); a workload is queued at most once; the order is deterministic. Orderings
with `by_tenant` choose by usage (`fair_choice`), all others by key alone.
Left to others: whether the first may start (`quota`, placement), and parked work.
"""

from collections.abc import Iterator

from dovetail.queueing.fair_choice import FairChoice
from dovetail.queueing.orderings import Key, Ordering
from dovetail.queueing.sorted_entries import Item, QueueEntry, SortedEntries
from dovetail.queueing.tree import QueueTree
from dovetail.queueing.usage import Usage


class PendingQueue:
    """`now` must never decrease."""

    def __init__(self, tree: QueueTree, usage: Usage, ordering: Ordering) -> None:
        self.ordering = ordering
        self._tree = tree
        self._usage = usage
        self._lineages = [queue.lineage for queue in tree.queues]
        self._items: dict[int, Item] = {}
        self._waiting = [0] * len(tree)
        self._now = 0.0
        self._all = SortedEntries()
        self._fair = FairChoice(tree, usage) if ordering.by_tenant else None

    def push(self, entry: QueueEntry) -> None:
        """Add an entry. One that is queued already keeps its place."""
        id_ = entry.id
        if id_ in self._items:
            return
        self._items[id_] = item = (*self.ordering.key(entry), id_, entry)
        waiting = self._waiting
        for queue in self._lineages[entry.queue]:
            waiting[queue] += 1
        if self._fair is None:
            self._all.add(item)
        else:
            self._fair.add(entry, item)

    def empty_copy(self) -> "PendingQueue":
        """An empty queue with the same ordering."""
        return PendingQueue(self._tree, self._usage, self.ordering)

    @property
    def as_of(self) -> float:
        """The time of the last `peek`."""
        return self._now

    def peek(self, now: float) -> int | None:
        """The next workload, which stays in the queue."""
        self._now = now
        first = self._all.first if self._fair is None else self._fair.first(now)
        return None if first is None else first[-2]

    def drop(self, id_: int) -> None:
        item = self._items.pop(id_, None)
        if item is None:
            return
        entry, waiting = item[-1], self._waiting
        for queue in self._lineages[entry.queue]:
            waiting[queue] -= 1
        if self._fair is None:
            self._all.remove(item)
        else:
            self._fair.remove(entry, item)

    def entry(self, id_: int) -> QueueEntry:
        entry: QueueEntry = self._items[id_][-1]
        return entry

    def __contains__(self, id_: object) -> bool:
        return id_ in self._items

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[int]:
        """All workloads in order, lazily, as of the last `peek`. With `by_tenant` it is the order they would have
        if each started at once. Do not change the queue while iterating."""
        return self.in_order(self._now)

    def in_order(self, now: float) -> Iterator[int]:
        """The same as of another time; no later `peek` notices it."""
        entries = self._all.in_order() if self._fair is None else self._fair.in_order(now)
        return (entry.id for entry in entries)

    def items(self) -> Iterator[tuple[Key, int]]:
        """The same with their keys, for orderings that go by key alone."""
        assert self._fair is None
        return ((self.ordering.key(entry), entry.id) for entry in self._all.in_order())

    def position(self, id_: int) -> int | None:
        """1 for the next workload, None if it is not queued. Costs O(position), or O(n) without `by_tenant`."""
        if id_ not in self._items:
            return None
        if self._fair is None:
            mine = self._items[id_]
            return 1 + sum(other < mine for other in self._items.values())
        return next(place for place, other in enumerate(self, start=1) if other == id_)

    def waiting(self, queue: int) -> int:
        """How many workloads wait in the queue and its descendants."""
        return self._waiting[queue]
