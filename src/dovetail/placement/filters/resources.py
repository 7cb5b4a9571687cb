"""Enough of every requested resource is free: capacity times overcommit, less what is allocated and reserved.

With `basis: observed`, measured usage (plus what was placed since the measurement) counts instead of allocations for
CPU, memory and disk; slots, GPUs and extended resources always count by allocation.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import ClassVar, Literal

import numpy as np

from dovetail.cluster.arrays import B1, F8, Rows
from dovetail.cluster.change_log import RESOURCES
from dovetail.cluster.views.view import View
from dovetail.model.reason import Eviction, Outcome, Refused, Shortage
from dovetail.model.resources import CPU, DISK, MEMORY, show_amount
from dovetail.model.text.strict import Strict
from dovetail.placement.contract import (
    OWN_NODE,
    CopyEffect,
    EvictionHelps,
    Filter,
    FilterStage,
    GroupRefusal,
    RefusalSummary,
    Request,
    count_nodes,
)

MEASURABLE = frozenset({CPU, MEMORY, DISK})
_MOST_NAMED = 32
_NEVER = 1 << 40  # above the bits of all resources that are named


class ResourcesSettings(Strict):
    basis: Literal["allocated", "observed"] = "allocated"
    """What counts as used on a node: what its tasks requested, or what was measured."""


class ResourcesFilter(Filter):
    name = "resources"
    reason = Outcome.INSUFFICIENT_RESOURCES.value
    reads = frozenset({RESOURCES})
    Settings: ClassVar[type[Strict]] = ResourcesSettings
    stage = FilterStage.CAPACITY
    eviction_helps = EvictionHelps.BY_AMOUNTS
    copy_effect = CopyEffect.BY_AMOUNTS
    wakes_on = OWN_NODE

    def __init__(self, settings: ResourcesSettings) -> None:
        self.by_observation = settings.basis == "observed"

    def free(self, view: View, resource: str) -> F8 | None:
        """What is free of one resource, by the basis of the settings."""
        return view.free_observed(resource) if self.by_observation and resource in MEASURABLE else view.free(resource)

    def mask(self, request: Request, view: View) -> B1 | bool:
        found: B1 | bool = True
        free_of = partial(self.free, view) if self.by_observation else view.free
        for resource, needed in request.needs.items():
            if view.all_have(resource, needed) and not (self.by_observation and resource in MEASURABLE):
                continue
            free = free_of(resource)
            if free is None:
                return False
            enough: B1 = free >= needed
            found = enough if found is True else np.logical_and(found, enough, out=enough)
        return found

    def refuse(self, request: Request, view: View, position: int) -> Refused:
        worst: Refused | None = None
        for resource, needed in request.needs.items():
            free = self.free(view, resource)
            have = 0.0 if free is None else float(free[position])
            if have >= needed:
                continue
            refused = self._word(view, resource, needed, have, position)
            # A shortage that no eviction can end outranks one that eviction could end.
            if worst is None or (refused.eviction is Eviction.NEVER and worst.eviction is Eviction.HELPS):
                worst = refused
        assert worst is not None, "refuse() asked of a node that has enough"
        return worst

    def _word(self, view: View, resource: str, needed: float, have: float, position: int) -> Refused:
        schedulable, reserved = view.schedulable(resource), view.reserved(resource)
        most = 0.0 if schedulable is None or reserved is None else float(schedulable[position] - reserved[position])
        helps = most >= needed
        tail = "" if helps else f", and the node never has more than {show_amount(resource, most)}"
        message = f"{resource}: needs {show_amount(resource, needed)}, {show_amount(resource, have)} free{tail}"
        return Refused(
            filter=self.name,
            reason=self.reason,
            message=message,
            eviction=Eviction.HELPS if helps else Eviction.NEVER,
            resource=resource,
            needed=needed,
            free=have,
        )

    def refuse_many(self, request: Request, view: View, positions: Rows) -> Iterator[GroupRefusal]:
        """By which resources are short; whether eviction could help depends on what the node has at all."""
        names = list(request.needs)[:_MOST_NAMED]
        kinds = np.zeros(len(positions), dtype=np.int64)  # a bit for each resource that is short, and `_NEVER`
        for i, name in enumerate(names):
            needed = request.needs[name]
            free, most, kept = self.free(view, name), view.schedulable(name), view.reserved(name)
            if free is None or most is None or kept is None:
                kinds |= (1 << i) | _NEVER
                continue
            kinds |= (free[positions] < needed).astype(np.int64) << i
            kinds |= np.where(most[positions] - kept[positions] < needed, _NEVER, 0)
        for kind in np.unique(kinds).tolist():
            short = ", ".join(name for i, name in enumerate(names) if kind >> i & 1)
            if kind & _NEVER:
                yield GroupRefusal(positions[kinds == kind], f"never has enough {short}")
            else:
                yield GroupRefusal(positions[kinds == kind], f"too little {short} free", Eviction.HELPS)

    def summarise(self, request: Request, view: View, candidates: B1) -> RefusalSummary:
        """The nearest miss: of the nodes that pass every other filter, the one that lacks least."""
        rows = np.flatnonzero(candidates)
        lacking = np.zeros(len(rows))
        fits_when_empty = np.ones(len(rows), dtype=np.bool_)
        frees: dict[str, F8] = {}
        for resource, needed in request.needs.items():
            free, most, reserved = self.free(view, resource), view.schedulable(resource), view.reserved(resource)
            if free is None or most is None or reserved is None:  # no node has ever had such a resource
                frees[resource] = np.zeros(len(rows))
                fits_when_empty[:] = False
                lacking += 1.0
                continue
            frees[resource] = free[rows]
            lacking += np.maximum(needed - frees[resource], 0.0) / needed
            fits_when_empty &= (most[rows] - reserved[rows]) >= needed
        nearest = int(lacking.argmin())
        name = view.name(int(rows[nearest]))
        shortages = tuple(
            Shortage(resource, needed, float(frees[resource][nearest]), name)
            for resource, needed in request.needs.items()
            if frees[resource][nearest] < needed
        )
        first = frees[shortages[0].resource]
        message = _in_words(shortages, len(rows), bool((first < shortages[0].needed).all()), bool(np.ptp(first)))
        eviction = Eviction.HELPS if fits_when_empty.any() else Eviction.NEVER
        return RefusalSummary(Outcome.INSUFFICIENT_RESOURCES, message, eviction, shortages)


def _in_words(shortages: Sequence[Shortage], nodes: int, everywhere: bool, differs: bool) -> str:
    """`gpu short by 8 or more on 612 nodes; nearest n1 (needs 16, 8 free)`: what is short comes first, as a table may
    show no more. `everywhere`: all these nodes are short of it, `differs`: by different amounts."""
    name = shortages[0].best_node
    short = ", ".join(f"{one.resource} short by {show_amount(one.resource, one.short_by)}" for one in shortages)
    if nodes == 1:
        return f"{short} on {name}, the only node that may take it ({_needs(shortages)})"
    if everywhere and len(shortages) == 1:
        return f"{short}{' or more' if differs else ''} on {count_nodes(nodes)}; nearest {name} ({_needs(shortages)})"
    return f"{short} on the nearest of {count_nodes(nodes)}, {name} ({_needs(shortages)})"


def _needs(shortages: Sequence[Shortage]) -> str:
    """`needs 4, 2 free`; with several resources each is named."""
    found = []
    for one in shortages:
        needed, free = show_amount(one.resource, one.needed), show_amount(one.resource, one.best_free)
        found.append(f"{f'{one.resource} ' if len(shortages) > 1 else ''}needs {needed}, {free} free")
    return "; ".join(found)
