"""Where work waits: in its scheduler's line, or set aside because nothing fits it, or because its queue is full.

Work that is alike (one shape, one run time, as many at once) is set aside together: where one does not fit, none does.
Only the first of each kind comes back when something changed, and the next when that one has found its nodes.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeVar

from dovetail.engine.work import Spot, Work
from dovetail.model.shape import Shape
from dovetail.queueing.entry import Entry
from dovetail.queueing.line import Line
from dovetail.queueing.orderings import Key
from dovetail.queueing.pending import PendingQueue

K = TypeVar("K")


class Kindred(NamedTuple):
    """What decides whether work fits: equal for workloads that can be set aside together."""

    shape: Shape
    run_s: float | None
    together: int
    tenant: str  # where reservations make a difference between namespaces, else empty


class OverQuota(NamedTuple):
    queue: int
    user: str | None
    shape: Shape


class Waiting:
    """Work is in one place at a time; `Work.spot` says where."""

    def __init__(self, lines: dict[str, Line], entry: Callable[[Work], Entry]) -> None:
        self.lines = lines
        self.parked: dict[Kindred, PendingQueue] = {}
        self.blocked: dict[str, PendingQueue] = {name: PendingQueue() for name in lines}  # all that are parked
        self.over: dict[OverQuota, PendingQueue] = {}
        self.favoured: set[str] = set()  # namespaces that have reservations of their own
        self._entry = entry
        self._kindred: dict[int, Kindred] = {}

    def __len__(self) -> int:
        parked = sum(len(blocked) for blocked in self.blocked.values())
        return sum(map(len, self.lines.values())) + parked + sum(map(len, self.over.values()))

    def line_of(self, work: Work) -> Line:
        return self.lines[work.shape.scheduler]

    def key(self, work: Work) -> Key:
        """What sorts it among all that wait for the same scheduler."""
        return self.line_of(work).ordering.key(self._entry(work))

    def enqueue(self, work: Work) -> None:
        """To the line, if it can start at all and is not there yet."""
        if work.spot is Spot.LINE or not work.can_start:
            return
        self.remove(work)
        self.line_of(work).push(self._entry(work))
        work.spot = Spot.LINE

    def remove(self, work: Work) -> None:
        """From wherever it is."""
        if work.spot is Spot.LINE:
            self.line_of(work).drop(work.id)
        elif work.spot is Spot.PARKED:
            kind = self._kindred.pop(work.id)
            _drop(self.parked, kind, work.id)
            self.blocked[work.shape.scheduler].drop(work.id)
        elif work.spot is Spot.OVER_QUOTA:
            _drop(self.over, OverQuota(work.queue, work.terms.user, work.shape), work.id)
        work.spot = Spot.NOWHERE

    def park(self, work: Work) -> None:
        """Set it aside until something changes on the nodes."""
        self.remove(work)
        key = self.key(work)
        kind = self._kindred[work.id] = self.kindred(work)
        self.parked.setdefault(kind, PendingQueue()).push(work.id, key)
        self.blocked[work.shape.scheduler].push(work.id, key)
        work.spot = Spot.PARKED

    def shelve(self, work: Work) -> None:
        """Set it aside until its queue holds less."""
        self.remove(work)
        kind = OverQuota(work.queue, work.terms.user, work.shape)
        self.over.setdefault(kind, PendingQueue()).push(work.id, self.key(work))
        work.spot = Spot.OVER_QUOTA

    def kindred(self, work: Work) -> Kindred:
        tenant = work.namespace if work.namespace in self.favoured else ""
        return Kindred(work.shape, work.terms.run_s, work.gang_short, tenant)

    def next_of(self, kind: Kindred) -> int | None:
        parked = self.parked.get(kind)
        return None if parked is None else parked.peek()

    def first_over(self) -> Iterator[tuple[OverQuota, int]]:
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


def _drop(places: dict[K, PendingQueue], kind: K, id_: int) -> None:
    waiting = places[kind]
    waiting.drop(id_)
    if not waiting:
        del places[kind]
