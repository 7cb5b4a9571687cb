"""The fair choice: down the tree to the queue with least for its weight, then to the tenant with least, then by key.

Guarantees: a choice costs O(log n) of the children met on the way, never of the workloads. Only what a charge, push or
drop touched gets a new value; where the past counts, values drift as it fades, and the children of a queue get new
ones when they are looked at, at most 200 times in a half-life. With ageing, waiting for `ageing_s` makes up for holding
the whole cluster: all age at the same pace, so the time of submission stands in for the wait, and nothing is updated.
It looks at the workload that would be chosen, not the oldest: one that is passed over for long becomes that first.
Ties go to the queue written first, the tenant whose name sorts first, the smaller id.
"""

from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from math import inf
from typing import NamedTuple

from dovetail.queueing.contest import Contest, Name
from dovetail.queueing.entry import Entry
from dovetail.queueing.seats import Item, Seats
from dovetail.queueing.tree import ROOT, QueueTree
from dovetail.queueing.usage import Usage

DRIFT_STEPS = 200  # in a half-life


class FairChoice:
    """Which of the entries goes next. `entries` and `seated` are the line's own, by id."""

    def __init__(self, tree: QueueTree, usage: Usage, entries: dict[int, Entry], seated: dict[int, Item]) -> None:
        self._tree = tree
        self._usage = usage
        self._entries = entries
        self._seated = seated
        self._ageing_s = usage.fair.ageing
        self._drift_s = None if usage.half_life_s is None else usage.half_life_s / DRIFT_STEPS
        self._seats: dict[tuple[int, str], Seats] = {}
        self._contests = [Contest() for _ in tree.queues]  # of children by code, or of tenants by name in a leaf
        self._since = [0.0] * len(tree)  # submission of who would be chosen, where ageing counts
        self._touched: dict[tuple[int, str], None] = {}
        self._epochs = [usage.epoch] * len(tree)
        self._due_at = [inf if self._drift_s is None else -inf] * len(tree)
        usage.watch(self.charged)

    def charged(self, queue: int, tenant: str) -> None:
        """What they hold has changed."""
        self._touched[queue, tenant] = None

    def add(self, entry: Entry, item: Item) -> None:
        key = (entry.queue, entry.tenant)
        seats = self._seats.get(key)
        if seats is None:
            seats = self._seats[key] = Seats(self._seated)
            self._touched[key] = None
        seats.add(item)
        if self._ageing_s is not None and seats.first() == entry.id:
            self._touched[key] = None

    def removed(self, entry: Entry, item: Item) -> None:
        key = (entry.queue, entry.tenant)
        seats = self._seats[key]
        seats.removed(item)
        if not seats.count:
            del self._seats[key]
            self._touched[key] = None
        elif self._ageing_s is not None:
            self._touched[key] = None

    def first(self, now: float) -> int | None:
        """The id that goes next."""
        if self._touched:
            self._value_touched(now)
        queue, epoch = ROOT, self._usage.epoch
        while True:
            if now >= self._due_at[queue] or self._epochs[queue] != epoch:
                self._value_all(queue, now)
            name = self._contests[queue].first()
            if isinstance(name, int):
                queue = name
            else:
                return None if name is None else self._seats[queue, name].first()

    def _value_touched(self, now: float) -> None:
        contests, leaves = self._contests, set()
        for key in self._touched:
            queue, tenant = key
            if key in self._seats:
                contests[queue].set(tenant, self._tenant_value(queue, tenant, now))
            else:
                contests[queue].withdraw(tenant)
            leaves.add(queue)
        self._touched.clear()
        for queue in leaves:  # in any order: a queue above several of them ends with the value of the last
            for parent in self._tree.queues[queue].lineage[1:]:
                if contests[queue].values:
                    contests[parent].set(queue, self._queue_value(queue, now))
                else:
                    contests[parent].withdraw(queue)
                queue = parent

    def _value_all(self, queue: int, now: float) -> None:
        """All contenders in a queue get new values: the cluster has changed, or the past has faded noticeably."""
        self._epochs[queue] = self._usage.epoch
        if self._drift_s is not None:
            self._due_at[queue] = now + self._drift_s
        values: dict[Name, float] = {}
        for name in self._contests[queue].values:
            if isinstance(name, int):
                values[name] = self._queue_value(name, now)
            else:
                values[name] = self._tenant_value(queue, name, now)
        self._contests[queue].replace(values)

    def _tenant_value(self, queue: int, tenant: str, now: float) -> float:
        value = self._usage.standing_of_tenant(queue, tenant, now)
        if self._ageing_s is None:
            return value
        return value + self._since_of_tenant(queue, tenant) / self._ageing_s

    def _queue_value(self, queue: int, now: float) -> float:
        value = self._usage.standing(queue, now)
        if self._ageing_s is None:
            return value
        first = self._contests[queue].first()
        if isinstance(first, str):
            since = self._since_of_tenant(queue, first)
        else:
            since = 0.0 if first is None else self._since[first]
        self._since[queue] = since
        return value + since / self._ageing_s

    def _since_of_tenant(self, queue: int, tenant: str) -> float:
        id_ = self._seats[queue, tenant].first()
        return 0.0 if id_ is None else self._entries[id_].submitted_at

    def in_order(self, now: float) -> Iterator[int]:
        """Every id in the order in which they would go if each took at once what it asks for and none came back."""
        self._value_touched(now)
        return (entry.id for entry in self._rehearse(ROOT, now))

    def _rehearse(self, queue: int, now: float) -> Iterator[Entry]:
        if now >= self._due_at[queue] or self._epochs[queue] != self._usage.epoch:
            self._value_all(queue, now)
        turns = []
        for name, value in self._contests[queue].values.items():
            if isinstance(name, int):
                turns.append(_Turn(value, name, self._tree[name].weight, self._rehearse(name, now)))
            else:
                weight = self._usage.fair.weight_of(name)
                turns.append(_Turn(value, name, weight, self._entries_of(queue, name)))
        yield from self._by_turns(turns)

    def _entries_of(self, queue: int, tenant: str) -> Iterator[Entry]:
        return (self._entries[id_] for id_ in self._seats[queue, tenant].in_order())

    def _by_turns(self, heap: "list[_Turn]") -> Iterator[Entry]:
        """The contender with the least value gives its next entry and has that much more."""
        heapify(heap)
        present = 1.0 if self._drift_s is None else 0.5  # where the past counts, the present is half of a standing
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
                heappush(heap, _Turn(value, name, weight, entries, ahead))


class _Turn(NamedTuple):
    """A contender in a rehearsal. Names differ, so that no comparison gets beyond them."""

    value: float
    name: int | str
    weight: float
    entries: Iterator[Entry]
    ahead: Entry | None = None
