"""Where work waits: in its scheduler's line, or set aside because nothing fits it, or because its queue is full.

Work that is alike (one shape, one run time, as many at once) is set aside together: where one does not fit, none does.
Only the first of each kind comes back when something changed, and the next when that one has found its nodes.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from dovetail.cluster.selector_counts import Counted, concerns, selects
from dovetail.engine.state.work import QueuePlace, Work
from dovetail.model.requests.asks import AffinityRule, SpreadRule
from dovetail.model.requests.shape import Shape
from dovetail.queueing.entry import QueueEntry
from dovetail.queueing.orderings import Key, Moving
from dovetail.queueing.parked_heap import ParkedHeap
from dovetail.queueing.pending_queue import PendingQueue

K = TypeVar("K")


class EquivalenceClass(NamedTuple):
    """What decides whether work fits: equal for workloads that can be set aside together."""

    shape: Shape
    run_s: float | None
    together: int
    namespace: str  # where reservations make a difference between namespaces, else empty
    turn: tuple[int, str] | None  # queue and tenant where they take turns: the first of each is looked at
    repelled: tuple[AffinityRule, ...] = ()  # what kept it away when it was set aside; the same for all of a kind
    group: int = -1  # with whom it starts: nobody else is like them
    own: tuple[
        AffinityRule | SpreadRule, ...
    ] = ()  # of its rules, those that count its own tasks: labels differ within a shape


@dataclass(frozen=True, slots=True)
class Watch:
    """What a kind waits for beside room. `counted`: tallies that matter wherever they change; `levels`: domains
    in which any change matters."""

    counted: tuple[Counted, ...]
    levels: frozenset[str]
    anything: bool  # what it looks at may change with any placement
    versions: tuple[int, ...]
    nodes: tuple[int, ...]  # which nodes there were, and which of them took work
    event_count: int


class QuotaClass(NamedTuple):
    """What decides whether a quota has room; and the scheduler, whose order the first of a kind is the first by."""

    queue: int
    user: str | None
    amounts: tuple[tuple[str, int], ...]
    together: int
    scheduler: str
    group: int = -1


class PendingWork:
    """Work is in one place at a time; `Work.queue_place` says where."""

    def __init__(
        self,
        lines: dict[str, PendingQueue],
        entry: Callable[[Work], QueueEntry],
        repelled: Callable[[Work], tuple[AffinityRule, ...]],
    ) -> None:
        self.lines = lines
        self.parked: dict[EquivalenceClass, ParkedHeap] = {}
        self.blocked: dict[str, ParkedHeap] = {name: ParkedHeap() for name in lines}  # all that are parked
        self.over: dict[QuotaClass, ParkedHeap] = {}
        self.namespaces_with_reservations: set[str] = set()  # namespaces that have reservations of their own
        self.moving = {name: line.ordering for name, line in lines.items() if isinstance(line.ordering, Moving)}
        self._entry = entry
        self._repelled = repelled
        self._entries: dict[int, QueueEntry] = {}  # of those whose order moves: as they arrived
        self._classes: dict[int, EquivalenceClass] = {}
        self._class_before: dict[int, EquivalenceClass] = {}  # of those that were brought back to be looked at
        self._quota_classes: dict[int, QuotaClass] = {}
        # Who is first of those set aside depends on what each tenant holds, where the order is fair.
        self._fair = {name: line.another() for name, line in lines.items() if line.ordering.by_tenant}

    def __len__(self) -> int:
        parked = sum(len(blocked) for blocked in self.blocked.values())
        return sum(map(len, self.lines.values())) + parked + sum(map(len, self.over.values()))

    def line_of(self, work: Work) -> PendingQueue:
        return self.lines[work.shape.scheduler]

    def key(self, work: Work) -> Key:
        """What sorts it among all that wait for the same scheduler."""
        return self.line_of(work).ordering.key(self.entry(work))

    def entry(self, work: Work) -> QueueEntry:
        """The workload as its line sees it."""
        return self._entries.get(work.id) or self._entry(work)

    def arrived(self, work: Work, now: float) -> None:
        """It is new; orderings that move want to know."""
        moving = self.moving.get(work.shape.scheduler)
        if moving is not None:
            entry = self._entries[work.id] = self._entry(work)
            moving.arrived(entry, now)

    def ended(self, work: Work, now: float, ran_s: float | None) -> None:
        moving = self.moving.get(work.shape.scheduler)
        if moving is not None:
            self._entries.pop(work.id, None)
            moving.ended(work.id, now, ran_s)

    def rekey(self, scheduler: str, now: float) -> None:
        """New keys for everyone that waits there."""
        line, blocked = self.lines[scheduler], self.blocked[scheduler]
        queued = [line.entry(id_) for id_ in list(line)]
        aside = [self._entries[id_] for id_ in blocked]
        self.moving[scheduler].rekey([*queued, *aside], now)
        for entry in queued:
            line.drop(entry.id)
            line.push(entry)
        blocked.rekey({entry.id: line.ordering.key(entry) for entry in aside})

    def first_blocked(self, scheduler: str) -> int | None:
        """Who goes next of those that nothing fits now."""
        fair = self._fair.get(scheduler)
        return self.blocked[scheduler].peek() if fair is None else fair.peek(self.lines[scheduler].as_of)

    def enqueue(self, work: Work) -> None:
        """To the line, if it can start at all and is not there yet."""
        if work.queue_place is QueuePlace.QUEUED or not work.can_start:
            return
        kind = self._classes.get(work.id)
        self.remove(work)
        if kind is not None:
            self._class_before[work.id] = kind
        if work.shape.scheduler in self.moving and work.id not in self._entries:  # nothing of it waited at a restart
            self.arrived(work, work.submitted_at)
        self.line_of(work).push(self.entry(work))
        work.queue_place = QueuePlace.QUEUED

    def remove(self, work: Work) -> None:
        """From wherever it is."""
        self._class_before.pop(work.id, None)
        if work.queue_place is QueuePlace.QUEUED:
            self.line_of(work).drop(work.id)
        elif work.queue_place is QueuePlace.PARKED:
            kind = self._classes.pop(work.id, None)
            if kind is not None:
                _drop(self.parked, kind, work.id)
            self.blocked[work.shape.scheduler].drop(work.id)
            if work.shape.scheduler in self._fair:
                self._fair[work.shape.scheduler].drop(work.id)
        elif work.queue_place is QueuePlace.OVER_QUOTA:
            _drop(self.over, self._quota_classes.pop(work.id), work.id)
        work.queue_place = QueuePlace.NOWHERE

    def class_before(self, work: Work) -> EquivalenceClass | None:
        """The kind it was set aside with before it was brought back."""
        return self._class_before.get(work.id)

    def park(self, work: Work) -> EquivalenceClass | None:
        """Set it aside until something changes on the nodes, with those of its kind."""
        self.remove(work)
        key = self.key(work)
        kind = None
        if work.shape.scheduler not in self.moving:  # who moves is looked at one by one
            kind = self._classes[work.id] = self.equivalence_class(work)
            self.parked.setdefault(kind, ParkedHeap()).push(work.id, key)
        self.blocked[work.shape.scheduler].push(work.id, key)
        if work.shape.scheduler in self._fair:
            self._fair[work.shape.scheduler].push(self.entry(work))
        work.queue_place = QueuePlace.PARKED
        return kind

    def park_over_quota(self, work: Work) -> None:
        """Set it aside until its queue holds less."""
        self.remove(work)
        kind = self._quota_classes[work.id] = self.quota_kind(work)
        self.over.setdefault(kind, ParkedHeap()).push(work.id, self.key(work))
        work.queue_place = QueuePlace.OVER_QUOTA

    def equivalence_class(self, work: Work) -> EquivalenceClass:
        namespace = work.namespace if work.namespace in self.namespaces_with_reservations else ""
        turn = (work.queue, work.terms.tenant) if work.shape.scheduler in self._fair else None
        repelled, own = self._repelled(work), _about_itself(work)
        group = -1 if work.group is None or work.group.is_solo or not work.group.short else work.group.id
        return EquivalenceClass(work.shape, work.terms.run_s, work.gang_short, namespace, turn, repelled, group, own)

    def quota_kind(self, work: Work) -> QuotaClass:
        shape = work.shape
        group = -1 if work.group is None or work.group.is_solo else work.group.id
        return QuotaClass(work.queue, work.terms.user, shape.amounts, work.gang_short, shape.scheduler, group)

    def next_of(self, kind: EquivalenceClass | QuotaClass) -> int | None:
        """The first of a kind that was set aside."""
        places = self.parked.get(kind) if isinstance(kind, EquivalenceClass) else self.over.get(kind)
        return None if places is None else places.peek()

    def first_over(self) -> Iterator[tuple[QuotaClass, int]]:
        for kind, waiting in list(self.over.items()):
            first = waiting.peek()
            if first is not None:
                yield kind, first

    def ids(self) -> Iterable[int]:
        """Everyone that waits, each scheduler's by its order: those to be looked at, then those set aside."""
        for name, line in self.lines.items():
            yield from line
            yield from self.blocked[name]
        for waiting in self.over.values():
            yield from waiting


def _about_itself(work: Work) -> tuple[AffinityRule | SpreadRule, ...]:
    shape, identity = work.shape, work.identity
    if not shape.company and not shape.spread:
        return ()
    rules = [rule for rule in shape.company if concerns(rule, identity)]
    return (*rules, *[even for even in shape.spread if any(selects(whom, identity) for whom in even.whom)])


def _drop(places: dict[K, ParkedHeap], kind: K, id_: int) -> None:
    waiting = places[kind]
    waiting.drop(id_)
    if not waiting:
        del places[kind]
