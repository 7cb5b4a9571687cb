"""Fair choice: walk down the tree to the queue with the least weighted share, then to such a tenant, then by key.

Guarantees: a choice costs O(log n) in the children on the way, independent of the number of workloads. Only queues and
tenants touched by a charge, push or drop get a new value. With a half-life values drift, so the children of a queue are
updated when it is visited, at most 200 times in a half-life. With ageing, waiting `ageing_s` makes up for holding the
whole cluster; all work ages at the same pace, so the time of submission replaces the wait and needs no updates. Ageing
looks at the workload that would be chosen, not the oldest.
Ties go to the queue configured first, then to the tenant name that sorts first, then to the smaller id.
"""

from collections.abc import Iterable, Iterator
from copy import copy
from heapq import heapify, heappop, heappush
from math import inf
from typing import NamedTuple

from dovetail.queueing.heaps import Name, UpdatableHeap
from dovetail.queueing.sorted_entries import Item, QueueEntry, SortedEntries
from dovetail.queueing.tree import ROOT, QueueTree
from dovetail.queueing.usage import Usage

DRIFT_STEPS = 200  # in a half-life


class FairChoice:
    """Chooses the next entry."""

    def __init__(self, tree: QueueTree, usage: Usage) -> None:
        self._tree = tree
        self._usage = usage
        self._lineages = [queue.lineage[:-1] for queue in tree.queues]  # without the root, which has no siblings
        self._parents = [queue.parent for queue in tree.queues]
        self._is_leaf = [tree.is_leaf(queue.code) for queue in tree.queues]
        self._ageing_s = usage.fair.ageing
        self._drift_s = None if usage.half_life_s is None else usage.half_life_s / DRIFT_STEPS
        self._waiting: dict[tuple[int, str], SortedEntries] = {}
        # By queue: its children by code, or in a leaf its tenants by name.
        self._heaps = [UpdatableHeap() for _ in tree.queues]
        self._since = [0.0] * len(tree)  # by queue, with ageing: when its next entry was submitted
        self._dirty: dict[tuple[int, str], None] = {}
        self._epoch = usage.epoch
        # By queue: when all its values need an update.
        self._due_at = [inf if self._drift_s is None else -inf] * len(tree)
        usage.watch(self.charged)

    def charged(self, queue: int, tenant: str) -> None:
        """The usage of the tenant in the queue changed."""
        self._dirty[queue, tenant] = None

    def add(self, entry: QueueEntry, item: Item) -> None:
        key = (entry.queue, entry.tenant)
        waiting = self._waiting.get(key)
        if waiting is None:
            waiting = self._waiting[key] = SortedEntries()
            self._dirty[key] = None
        waiting.add(item)
        if self._ageing_s is not None and waiting.first is item:
            self._dirty[key] = None

    def remove(self, entry: QueueEntry, item: Item) -> None:
        key = (entry.queue, entry.tenant)
        waiting = self._waiting[key]
        waiting.remove(item)
        if waiting.first is None:
            del self._waiting[key]
            self._dirty[key] = None
        elif self._ageing_s is not None:
            self._dirty[key] = None

    def first(self, now: float) -> Item | None:
        """The next entry."""
        self._catch_up(now)
        queue, heaps, due_at, is_leaf = ROOT, self._heaps, self._due_at, self._is_leaf
        while True:
            if now >= due_at[queue]:
                self._update_all(queue, now)
            name = heaps[queue].first
            if name is None:
                return None
            if is_leaf[queue]:
                return self._waiting[queue, name].first  # type: ignore[index]  # names in a leaf are tenants
            queue = name  # type: ignore[assignment]  # all others are queues

    def _catch_up(self, now: float) -> None:
        """Update the values after charges, pushes, drops and changes of the cluster."""
        if self._epoch != self._usage.epoch:
            self._epoch = self._usage.epoch
            self._due_at = [-inf] * len(self._due_at)
        if not self._dirty:
            return
        heaps, all_waiting, leaves = self._heaps, self._waiting, set[int]()
        for key in self._dirty:
            queue, tenant = key
            waiting = all_waiting.get(key)
            if waiting is None:
                heaps[queue].remove(tenant)
            else:
                heaps[queue].set(tenant, self._tenant_value(queue, tenant, waiting, now))
            leaves.add(queue)
        self._dirty.clear()
        for queue in self._upwards(leaves):
            if heaps[queue].first is None:
                heaps[self._parents[queue]].remove(queue)
            else:
                heaps[self._parents[queue]].set(queue, self._queue_value(queue, now))

    def _upwards(self, leaves: set[int]) -> Iterable[int]:
        """The leaves and their ancestors, each once, children before parents (which have smaller codes)."""
        if len(leaves) == 1:
            return self._lineages[leaves.pop()]
        return sorted({queue for leaf in leaves for queue in self._lineages[leaf]}, reverse=True)

    def _update_all(self, queue: int, now: float) -> None:
        """Update all values in a queue: the cluster changed, or past usage faded noticeably."""
        self._due_at[queue] = inf if self._drift_s is None else now + self._drift_s
        values: dict[Name, float] = {}
        for name in self._heaps[queue].values:
            if isinstance(name, int):
                values[name] = self._queue_value(name, now)
            else:
                values[name] = self._tenant_value(queue, name, self._waiting[queue, name], now)
        self._heaps[queue].replace(values)

    def _tenant_value(self, queue: int, tenant: str, waiting: SortedEntries, now: float) -> float:
        value = self._usage.weighted_share_of_tenant(queue, tenant, now)
        if self._ageing_s is None or waiting.first is None:
            return value
        since: float = waiting.first[-1].submitted_at
        return value + since / self._ageing_s

    def _queue_value(self, queue: int, now: float) -> float:
        value = self._usage.weighted_share(queue, now)
        if self._ageing_s is None:
            return value
        name, since = self._heaps[queue].first, 0.0
        if isinstance(name, int):
            since = self._since[name]
        elif name is not None and (first := self._waiting[queue, name].first) is not None:
            since = first[-1].submitted_at
        self._since[queue] = since
        return value + since / self._ageing_s

    def in_order(self, now: float) -> Iterator[QueueEntry]:
        """All entries in the order in which they would start if each took its share at once and none ended. Nothing
        changes: the time at which values are updated decides between tenants whose past usage fades."""
        found = copy(self)
        found._heaps = [heap.copy() for heap in self._heaps]
        found._since, found._due_at, found._dirty = [*self._since], [*self._due_at], dict(self._dirty)
        found._catch_up(now)
        return found._simulated_order(ROOT, now)

    def _simulated_order(self, queue: int, now: float) -> Iterator[QueueEntry]:
        if now >= self._due_at[queue]:
            self._update_all(queue, now)
        branches = []
        for name, value in self._heaps[queue].values.items():
            if isinstance(name, int):
                branches.append(_Branch(value, name, self._tree[name].weight, self._simulated_order(name, now)))
            else:
                weight = self._usage.fair.weight_of(name)
                branches.append(_Branch(value, name, weight, self._waiting[queue, name].in_order()))
        yield from self._merge(branches)

    def _merge(self, heap: "list[_Branch]") -> Iterator[QueueEntry]:
        """Repeatedly take the next entry of the branch with the least value, and add its share to that value."""
        heapify(heap)
        present = 1.0 if self._drift_s is None else 0.5  # with a half-life, present usage is half of the value
        while heap:
            value, name, weight, entries, ahead = heappop(heap)
            entry = ahead or next(entries, None)
            if entry is None:
                continue
            yield entry
            value += present * entry.share / weight
            ahead = next(entries, None)
            if ahead is not None:
                if self._ageing_s is not None:
                    value += (ahead.submitted_at - entry.submitted_at) / self._ageing_s
                heappush(heap, _Branch(value, name, weight, entries, ahead))


class _Branch(NamedTuple):
    """A queue or tenant in the simulated order. Names differ, so comparisons never reach the entries."""

    value: float
    name: int | str
    weight: float
    entries: Iterator[QueueEntry]
    ahead: QueueEntry | None = None
