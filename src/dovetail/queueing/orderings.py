"""The registry of orderings: built-in ones in `ORDERINGS`, others by entry point. Duplicate names are refused.

An ordering computes an entry's key once, when the entry is queued. Smaller keys go first; ids decide ties. Keys do not
change while an entry waits, unless the ordering is a `DynamicOrdering`.
With `by_tenant` the pending queue first chooses queue and tenant by weighted share (`fair_choice`); the key decides
only among the entries of one tenant. `pending_queue` keeps the order.
"""

import math
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import EntryPoint
from typing import Any, ClassVar, Protocol, runtime_checkable

from dovetail.model.plugin_loading import PluginError, offered_plugins
from dovetail.model.text.strict import closest
from dovetail.queueing.batch_order import BatchOrdering
from dovetail.queueing.sorted_entries import QueueEntry

Key = tuple[float, ...]
ORDERING_GROUP = "dovetail.orderings"
F1_AGE = 870.0  # from the paper


class OrderingError(ValueError):
    """An ordering is unknown, registered twice, or cannot be built."""


@runtime_checkable
class DynamicOrdering(Protocol):
    """An ordering whose keys change with time. It is told of arrivals, starts and ends, and computes new keys before
    each cycle. `key` returns those of the last `rekey`. `free_share`: the share that must stay free beside the entry.
    `holds_back`: should the entry, which fits and takes `share` of the `free` share, wait until something ends?
    `memory`: what a restart needs, as JSON values, for `recall`. After that, work that waited arrives once more."""

    def arrived(self, entry: QueueEntry, now: float) -> None: ...

    def started(self, entry: QueueEntry, now: float) -> None: ...

    def ended(self, workload: int, now: float, ran_s: float | None) -> None: ...

    def rekey(self, entries: Sequence[QueueEntry], now: float) -> None: ...

    def free_share(self, entry: QueueEntry) -> float: ...

    def holds_back(self, entry: QueueEntry, share: float, free: float) -> bool: ...

    def memory(self) -> dict[str, Any]: ...

    def recall(self, memory: Mapping[str, Any]) -> None: ...


@runtime_checkable
class Ordering(Protocol):
    """`ageing_s`: a wait that makes up for one priority class; None: no ageing."""

    name: ClassVar[str]
    by_tenant: ClassVar[bool]

    def __init__(self, ageing_s: float | None = None) -> None: ...

    def key(self, entry: QueueEntry) -> Key: ...


class KeyOrdering:
    """Base of the built-in orderings: by key alone, no ageing."""

    name: ClassVar[str]
    by_tenant: ClassVar[bool] = False

    def __init__(self, ageing_s: float | None = None) -> None:
        self.ageing_s = ageing_s


class Fifo(KeyOrdering):
    name = "fifo"

    def key(self, entry: QueueEntry) -> Key:
        return (entry.submitted_at,)


class ByPriority(KeyOrdering):
    """By priority class, then by submission. With ageing, a class is worth a head start of `ageing_s`: all entries age
    at the same pace, so their order is known on arrival."""

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
    """The shortest declared run time first; entries without one go last."""

    name = "shortest"

    def key(self, entry: QueueEntry) -> Key:
        return (math.inf if entry.run_s is None else entry.run_s, entry.submitted_at)


class SmallestArea(KeyOrdering):
    """The least run time × dominant share first."""

    name = "smallest_area"

    def key(self, entry: QueueEntry) -> Key:
        area = math.inf if entry.run_s is None else entry.run_s * entry.share
        return (area, entry.submitted_at)


class F1(KeyOrdering):
    """Carastan-Santos and de Camargo, 2017: log10(run time) × processors + 870 × log10(submitted). Made for times that
    start near zero, as in a replayed log: with calendar times age has almost no effect, and large work starves."""

    name = "f1"

    def key(self, entry: QueueEntry) -> Key:
        age = F1_AGE * math.log10(max(entry.submitted_at, 1.0))
        if entry.run_s is None:
            return (math.inf, age)
        return (math.log10(max(entry.run_s, 1.0)) * entry.width + age, entry.submitted_at)


class BySavings(KeyOrdering):
    """By priority class; in a class, work that saves most on nodes of one's own goes first, by what the cheapest other
    node would cost it for an hour and the part of a node that it takes. Of equal work, the one that cannot wait as
    long. For clusters that burst (`docs/market.md`): work that can go nowhere else goes last."""

    name = "savings"

    def key(self, entry: QueueEntry) -> Key:
        return (entry.rank, -entry.saves, entry.latest_start, entry.submitted_at)


ORDERINGS: dict[str, type[Any]] = {
    ordering.name: ordering
    for ordering in (Fifo, ByPriority, Fair, Shortest, SmallestArea, F1, BySavings, BatchOrdering)
}


@cache
def orderings() -> Mapping[str, type[Any] | EntryPoint]:
    """Built-in orderings and entry points of other packages, which are not loaded yet."""
    try:
        return {**ORDERINGS, **offered_plugins(ORDERING_GROUP, ORDERINGS, "an ordering")}
    except PluginError as error:
        raise OrderingError(str(error)) from None


def build_ordering(name: str, ageing_s: float | None = None) -> Ordering:
    """Raises OrderingError if the name is unknown or the plugin violates the contract."""
    known = orderings()
    plugin = known.get(name)
    if plugin is None:
        raise OrderingError(f"unknown ordering {name!r}.{closest(name, known)} Known: {', '.join(known)}")
    try:
        built = (plugin if isinstance(plugin, type) else plugin.load())(ageing_s)  # as `class_of`, which renames errors
    except Exception as error:  # a plugin may raise anything
        raise OrderingError(f"ordering {name!r} cannot be built: {type(error).__name__}: {error}") from error
    if not isinstance(built, Ordering) or built.name != name:
        raise OrderingError(f"ordering {name!r} needs `name` (the same), `by_tenant` and a method `key`")
    return built
