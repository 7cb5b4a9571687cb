"""Where pending work waits: in its scheduler's pending queue, parked because nothing fits, or over its quota.

Workloads with the same shape, run time and number of tasks form an equivalence class and are parked together: if one
does not fit, none does. When something changed, only the first of a class is enqueued; the next follows when that one
was placed.
"""

import json
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass, replace
from math import ceil, log2
from typing import NamedTuple, TypeVar

from dovetail.cluster.selector_counts import Counted, concerns, selects
from dovetail.engine.state.memory import Remembered
from dovetail.engine.state.work import QueuePlace, Work
from dovetail.model.requests.asks import AffinityRule, SpreadRule
from dovetail.model.requests.shape import Shape
from dovetail.queueing.heaps import ParkedHeap
from dovetail.queueing.orderings import DynamicOrdering, Key
from dovetail.queueing.pending_queue import PendingQueue
from dovetail.queueing.sorted_entries import QueueEntry

K = TypeVar("K")
_SHAPES_KEPT = 10_000


class EquivalenceClass(NamedTuple):
    """Everything that decides whether work fits. Workloads with equal values are parked together."""

    shape: Shape
    run_s: float | None
    together: int
    namespace: str  # if it has reservations of its own, otherwise empty
    turn: tuple[int, str] | None  # queue and tenant with a fair order: the first of each is tried
    repelled: tuple[AffinityRule, ...] = ()  # rules of placed tasks that repelled it when it was parked
    group: int = -1  # the group it starts with: a class of its own
    waits: int = -1  # it waits for nodes that cost less than these kinds of offers (`Work.waits`)
    own: tuple[AffinityRule | SpreadRule, ...] = ()  # its rules that count its own tasks: labels differ within a shape


@dataclass(frozen=True, slots=True)
class Watch:
    """What a class waits for beside capacity. `counted`: selector counts that matter on any node; `levels`: topology
    levels where any change in a domain matters."""

    counted: tuple[Counted, ...]
    levels: frozenset[str]
    anything: bool  # any placement may change what it depends on
    versions: tuple[int, ...]
    nodes: tuple[int, ...]  # versions of the node table and of node status
    event_count: int


class QuotaClass(NamedTuple):
    """Everything that decides whether a quota allows the work, and the scheduler whose order applies."""

    queue: int
    user: str | None
    amounts: tuple[tuple[str, int], ...]
    together: int
    scheduler: str
    group: int = -1


class PendingWork:
    """A workload waits in one place at a time: `Work.queue_place`."""

    def __init__(
        self,
        by_scheduler: dict[str, PendingQueue],
        entry: Callable[[Work], QueueEntry],
        repelled: Callable[[Work], tuple[AffinityRule, ...]],
    ) -> None:
        self.by_scheduler = by_scheduler
        self.parked: dict[EquivalenceClass, ParkedHeap] = {}
        self.blocked: dict[str, ParkedHeap] = {name: ParkedHeap() for name in by_scheduler}  # all parked work
        self.over_quota: dict[QuotaClass, ParkedHeap] = {}
        self.namespaces_with_reservations: set[str] = set()
        self.dynamic_orderings = {
            name: queue.ordering for name, queue in by_scheduler.items() if isinstance(queue.ordering, DynamicOrdering)
        }
        self._entry = entry
        self._repelled = repelled
        self._entries: dict[int, QueueEntry] = {}  # of dynamic orderings: entries as they arrived
        # Of workloads known before a restart: the run time and share of the cluster when they arrived.
        self._remembered: dict[int, tuple[float | None, float]] = {}
        self._remembered_at = 0.0
        self._classes: dict[int, EquivalenceClass] = {}
        self._shapes_alike: dict[Shape, Shape] = {}
        self._class_before: dict[int, EquivalenceClass] = {}  # of work that was enqueued again
        self._quota_classes: dict[int, QuotaClass] = {}
        # With a fair order, which parked workload is first depends on what each tenant holds.
        self._fair = {name: queue.empty_copy() for name, queue in by_scheduler.items() if queue.ordering.by_tenant}

    def __len__(self) -> int:
        parked = sum(len(blocked) for blocked in self.blocked.values())
        return sum(map(len, self.by_scheduler.values())) + parked + sum(map(len, self.over_quota.values()))

    def queue_of(self, work: Work) -> PendingQueue:
        return self.by_scheduler[work.shape.scheduler]

    def key(self, work: Work) -> Key:
        """Its sort key in its scheduler's order."""
        return self.queue_of(work).ordering.key(self.entry(work))

    def entry(self, work: Work) -> QueueEntry:
        """The workload as its pending queue sees it."""
        return self._entries.get(work.id) or self._entry(work)

    def arrived(self, work: Work, now: float) -> None:
        """The workload is new: tell a dynamic ordering."""
        ordering = self.dynamic_orderings.get(work.shape.scheduler)
        if ordering is not None:
            entry = self._entry(work)
            if work.id in self._remembered:
                expected_s, share = self._remembered.pop(work.id)
                entry = entry._replace(expected_s=expected_s, share=share)
            self._entries[work.id] = entry
            ordering.arrived(entry, now)

    def started(self, work: Work, now: float) -> None:
        """Tasks of the workload were placed: tell a dynamic ordering."""
        ordering = self.dynamic_orderings.get(work.shape.scheduler)
        if ordering is not None:
            ordering.started(self.entry(work), now)

    def ended(self, work: Work, now: float, ran_s: float | None) -> None:
        ordering = self.dynamic_orderings.get(work.shape.scheduler)
        if ordering is not None:
            self._entries.pop(work.id, None)
            self._remembered.pop(work.id, None)
            ordering.ended(work.id, now, ran_s)

    def parts(self) -> Iterator[Remembered]:
        if self.dynamic_orderings:
            yield Remembered("dynamic_orderings", self._write, self._read)

    def _write(self, now: float) -> str:
        orderings = {
            name: {"order": self.by_scheduler[name].ordering.name, "memory": ordering.memory()}
            for name, ordering in self.dynamic_orderings.items()
        }
        entries = [(id_, *values) for id_, values in self._remembered.items()]
        entries += [(entry.id, entry.expected_s, entry.share) for entry in self._entries.values()]
        return json.dumps({"at": now, "orderings": orderings, "entries": entries})

    def _read(self, text: str) -> None:
        memory = json.loads(text)
        for name, ordering in self.dynamic_orderings.items():
            written = memory["orderings"].get(name)
            if written is not None and written["order"] == self.by_scheduler[name].ordering.name:
                ordering.recall(written["memory"])
        self._remembered = {id_: (expected_s, share) for id_, expected_s, share in memory["entries"]}
        self._remembered_at = memory["at"]

    def forget_ended(self, live: Container[int]) -> None:
        """After a restart: tell the orderings of work that ended after their memory was written."""
        for id_ in [id_ for id_ in self._remembered if id_ not in live]:
            del self._remembered[id_]
            for ordering in self.dynamic_orderings.values():
                ordering.ended(id_, self._remembered_at, None)

    def rekey(self, scheduler: str, now: float) -> None:
        """Compute new keys for all work of a scheduler."""
        queue, blocked = self.by_scheduler[scheduler], self.blocked[scheduler]
        queued = [queue.entry(id_) for id_ in list(queue)]
        parked = [self._entries[id_] for id_ in blocked]
        self.dynamic_orderings[scheduler].rekey([*queued, *parked], now)
        for entry in queued:
            queue.drop(entry.id)
            queue.push(entry)
        blocked.rekey({entry.id: queue.ordering.key(entry) for entry in parked})

    def first_blocked(self, scheduler: str) -> int | None:
        """The first of the scheduler's parked work."""
        fair = self._fair.get(scheduler)
        return self.blocked[scheduler].peek() if fair is None else fair.peek(self.by_scheduler[scheduler].as_of)

    def enqueue(self, work: Work) -> None:
        """Put it into the pending queue, if it can start and is not there yet."""
        if work.queue_place is QueuePlace.QUEUED or not work.can_start:
            return
        class_ = self._classes.get(work.id)
        self.remove(work)
        if class_ is not None:
            self._class_before[work.id] = class_
        if work.shape.scheduler in self.dynamic_orderings and work.id not in self._entries:
            self.arrived(work, work.submitted_at)  # at the restart none of its tasks was pending
        self.queue_of(work).push(self.entry(work))
        work.queue_place = QueuePlace.QUEUED

    def remove(self, work: Work) -> None:
        """Take it out of wherever it waits."""
        self._class_before.pop(work.id, None)
        if work.queue_place is QueuePlace.QUEUED:
            self.queue_of(work).drop(work.id)
        elif work.queue_place is QueuePlace.PARKED:
            class_ = self._classes.pop(work.id, None)
            if class_ is not None:
                _drop(self.parked, class_, work.id)
            self.blocked[work.shape.scheduler].drop(work.id)
            if work.shape.scheduler in self._fair:
                self._fair[work.shape.scheduler].drop(work.id)
        elif work.queue_place is QueuePlace.OVER_QUOTA:
            _drop(self.over_quota, self._quota_classes.pop(work.id), work.id)
        work.queue_place = QueuePlace.NOWHERE

    def class_before(self, work: Work) -> EquivalenceClass | None:
        """The class it was parked in before it was enqueued again."""
        return self._class_before.get(work.id)

    def park(self, work: Work) -> EquivalenceClass | None:
        """Park it with its class until something changes on the nodes."""
        self.remove(work)
        key = self.key(work)
        class_ = None
        if work.shape.scheduler not in self.dynamic_orderings:  # with a dynamic ordering each is tried by itself
            class_ = self._classes[work.id] = self.equivalence_class(work)
            self.parked.setdefault(class_, ParkedHeap()).push(work.id, key)
        self.blocked[work.shape.scheduler].push(work.id, key)
        if work.shape.scheduler in self._fair:
            self._fair[work.shape.scheduler].push(self.entry(work))
        work.queue_place = QueuePlace.PARKED
        return class_

    def park_over_quota(self, work: Work) -> None:
        """Park it until its queue holds less."""
        self.remove(work)
        class_ = self._quota_classes[work.id] = self.quota_class(work)
        self.over_quota.setdefault(class_, ParkedHeap()).push(work.id, self.key(work))
        work.queue_place = QueuePlace.OVER_QUOTA

    def equivalence_class(self, work: Work) -> EquivalenceClass:
        namespace = work.namespace if work.namespace in self.namespaces_with_reservations else ""
        turn = (work.queue, work.terms.tenant) if work.shape.scheduler in self._fair else None
        repelled, own = self._repelled(work), _rules_about_itself(work)
        group = -1 if work.group is None or work.group.is_solo or not work.group.short else work.group.id
        shape, run_s, waits = work.shape, work.terms.run_s, -1
        if work.waits is not None:
            shape, run_s, waits = self._alike(shape), None, work.waits.kinds_offered
        return EquivalenceClass(shape, run_s, work.gang_short, namespace, turn, repelled, group, waits, own)

    def _alike(self, shape: Shape) -> Shape:
        """A shape for all work that waits for cheaper nodes of the same size, with about the same run time. The first
        in order stands for the others: there is much of it, no two of the same length, and each has a timer of its
        own."""
        found = self._shapes_alike.get(shape)
        if found is None:
            assert shape.market is not None
            about_s = 2.0 ** ceil(log2(shape.market.run_s))
            found = replace(shape, market=shape.market._replace(run_s=about_s))
            if len(self._shapes_alike) >= _SHAPES_KEPT:
                self._shapes_alike.clear()
            self._shapes_alike[shape] = found
        return found

    def quota_class(self, work: Work) -> QuotaClass:
        shape = work.shape
        group = -1 if work.group is None or work.group.is_solo else work.group.id
        return QuotaClass(work.queue, work.terms.user, shape.amounts, work.gang_short, shape.scheduler, group)

    def first_in_class(self, class_: EquivalenceClass | QuotaClass) -> int | None:
        """The first parked workload of a class."""
        places = self.parked.get(class_) if isinstance(class_, EquivalenceClass) else self.over_quota.get(class_)
        return None if places is None else places.peek()

    def first_over_quota(self) -> Iterator[tuple[QuotaClass, int]]:
        for class_, waiting in list(self.over_quota.items()):
            first = waiting.peek()
            if first is not None:
                yield class_, first

    def ids(self) -> Iterable[int]:
        """All pending workloads, for each scheduler in its order: queued ones, then parked ones."""
        for name, queue in self.by_scheduler.items():
            yield from queue
            yield from self.blocked[name]
        for waiting in self.over_quota.values():
            yield from waiting


def _rules_about_itself(work: Work) -> tuple[AffinityRule | SpreadRule, ...]:
    shape, identity = work.shape, work.identity
    if not shape.workload_affinity and not shape.spread:
        return ()
    rules = [rule for rule in shape.workload_affinity if concerns(rule, identity)]
    return (*rules, *[even for even in shape.spread if any(selects(whom, identity) for whom in even.whom)])


def _drop(places: dict[K, ParkedHeap], class_: K, id_: int) -> None:
    waiting = places[class_]
    waiting.drop(id_)
    if not waiting:
        del places[class_]
