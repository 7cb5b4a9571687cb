"""Every ordering, in the open: one dict, entry points for outsiders, duplicates refused.

An ordering turns an entry into a key once, when it joins the line: smaller goes first, and ids settle ties. A key
does not change while the entry waits, so nothing is sorted again, unless the ordering is `Moving`.
With `by_tenant` the line chooses queue and tenant first, by who has least (`fair_choice`), and the key decides only
within one tenant's entries.
Left to others: keeping the order (`line`). A batch policy with a static key is one more class in ORDERINGS.
"""

import math
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, ClassVar, Protocol, runtime_checkable

from dovetail.model.text.strict import closest
from dovetail.queueing.batch import BatchOrdering
from dovetail.queueing.entry import QueueEntry

Key = tuple[float, ...]
ORDERING_GROUP = "dovetail.orderings"
F1_AGE = 870.0  # as published


class OrderingError(ValueError):
    """An ordering is missing, double, or cannot be built; says which and what to do."""


@runtime_checkable
class DynamicOrdering(Protocol):
    """An ordering whose keys change with time: it is told who comes and ends, and gives new keys before each pass.
    `key` is what the last `rekey` said."""

    def arrived(self, entry: QueueEntry, now: float) -> None: ...

    def ended(self, workload: int, now: float, ran_s: float | None) -> None: ...

    def rekey(self, entries: Sequence[QueueEntry], now: float) -> None: ...

    def free_share(self, entry: QueueEntry) -> float: ...


@runtime_checkable
class Ordering(Protocol):
    """Built with `ageing_s`: that long a wait makes up for one class of priority; None: it never does."""

    name: ClassVar[str]
    by_tenant: ClassVar[bool]

    def __init__(self, ageing_s: float | None = None) -> None: ...

    def key(self, entry: QueueEntry) -> Key: ...


class KeyOrdering:
    """The base of the built-in ones: one line for all, no ageing."""

    name: ClassVar[str]
    by_tenant: ClassVar[bool] = False

    def __init__(self, ageing_s: float | None = None) -> None:
        self.ageing_s = ageing_s


class Fifo(KeyOrdering):
    name = "fifo"

    def key(self, entry: QueueEntry) -> Key:
        return (entry.submitted_at,)


class ByPriority(KeyOrdering):
    """The most urgent class, then whoever came first. With ageing a class is worth a head start of `ageing_s`: since
    all grow older at the same pace, who overtakes whom is known on arrival."""

    name = "priority"

    def key(self, entry: QueueEntry) -> Key:
        if self.ageing_s is None:
            return (entry.rank, entry.submitted_at)
        return (entry.rank * self.ageing_s + entry.submitted_at,)


class Fair(ByPriority):
    """Weighted dominant-resource fairness between queues, then tenants; by priority within a tenant."""

    name = "fair"
    by_tenant = True


class Shortest(KeyOrdering):
    """The shortest declared run time; who declares none goes last."""

    name = "shortest"

    def key(self, entry: QueueEntry) -> Key:
        return (_run_s(entry), entry.submitted_at)


class SmallestArea(KeyOrdering):
    """The least run time × dominant share: the cheapest to get out of the way."""

    name = "smallest_area"

    def key(self, entry: QueueEntry) -> Key:
        area = math.inf if entry.run_s is None else entry.run_s * entry.share
        return (area, entry.submitted_at)


class F1(KeyOrdering):
    """Carastan-Santos and de Camargo, 2017: log10(run time) × processors + 870 × log10(submitted). Made for times that
    begin near nought, as in a replayed log: by the calendar its age hardly moves, and large work would starve."""

    name = "f1"

    def key(self, entry: QueueEntry) -> Key:
        age = F1_AGE * math.log10(max(entry.submitted_at, 1.0))
        if entry.run_s is None:
            return (math.inf, age)
        return (math.log10(max(entry.run_s, 1.0)) * entry.width + age, entry.submitted_at)


def _run_s(entry: QueueEntry) -> float:
    return math.inf if entry.run_s is None else entry.run_s


ORDERINGS: dict[str, type[Any]] = {
    ordering.name: ordering for ordering in (Fifo, ByPriority, Fair, Shortest, SmallestArea, F1, BatchOrdering)
}


@cache
def orderings() -> Mapping[str, type[Any] | EntryPoint]:
    """Built-in ones and those that other packages offer, the latter not loaded yet."""
    found: dict[str, type[Any] | EntryPoint] = dict(ORDERINGS)
    for point in entry_points(group=ORDERING_GROUP):
        if point.name in ORDERINGS:
            raise OrderingError(f"ordering {point.name!r} ({point.value}) has the name of a built-in one; rename it")
        if point.name in found:
            raise OrderingError(f"two packages offer an ordering {point.name!r}; uninstall one of them")
        found[point.name] = point
    return found


def build_ordering(name: str, ageing_s: float | None = None) -> Ordering:
    """Raises OrderingError if there is none of that name or it does not keep to the contract."""
    known = orderings()
    plugin = known.get(name)
    if plugin is None:
        raise OrderingError(f"unknown ordering {name!r}.{closest(name, known)} Known: {', '.join(known)}")
    try:
        built = (plugin.load() if isinstance(plugin, EntryPoint) else plugin)(ageing_s)
    except Exception as error:  # an outsider's module or constructor may raise anything
        raise OrderingError(f"ordering {name!r} cannot be built: {type(error).__name__}: {error}") from error
    if not isinstance(built, Ordering) or built.name != name:
        raise OrderingError(f"ordering {name!r} needs `name` (the same), `by_tenant` and a method `key`")
    return built
