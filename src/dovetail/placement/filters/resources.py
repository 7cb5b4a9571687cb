"""Enough of every requested resource is free: capacity times overcommit, less what is allocated and reserved.

With `basis: observed`, measured use (plus what was placed since the measurement) counts instead of allocations for
CPU, memory and disk; slots, GPUs and extended resources are always counted by allocation.
"""

from functools import partial
from typing import ClassVar, Literal

from dovetail.cluster.arrays import B1, F8
from dovetail.cluster.state import RESOURCES
from dovetail.cluster.views.view import View
from dovetail.model.reason import Eviction, Outcome, Refused
from dovetail.model.resources import CPU, DISK, MEMORY, show_amount
from dovetail.model.text.strict import Strict
from dovetail.placement.contract import Request

MEASURABLE = frozenset({CPU, MEMORY, DISK})


class ResourcesSettings(Strict):
    basis: Literal["allocated", "observed"] = "allocated"


class ResourcesFilter:
    name: ClassVar[str] = "resources"
    reason: ClassVar[str] = Outcome.INSUFFICIENT_RESOURCES.value
    reads: ClassVar[frozenset[str]] = frozenset({RESOURCES})
    Settings: ClassVar[type[Strict]] = ResourcesSettings

    def __init__(self, settings: ResourcesSettings) -> None:
        self.by_observation = settings.basis == "observed"

    def free(self, view: View, resource: str) -> F8 | None:
        """What the filter compares with, for one resource."""
        return view.free_observed(resource) if self.by_observation and resource in MEASURABLE else view.free(resource)

    def mask(self, request: Request, view: View) -> B1 | bool:
        found: B1 | bool = True
        free_of = partial(self.free, view) if self.by_observation else view.free
        for resource, needed in request.needs.items():
            if view.all_have(resource, needed):
                continue
            free = free_of(resource)
            if free is None:
                return False
            enough: B1 = free >= needed
            found = enough if found is True else found & enough
        return found

    def refuse(self, request: Request, view: View, position: int) -> Refused:
        worst: Refused | None = None
        for resource, needed in request.needs.items():
            free = self.free(view, resource)
            have = 0.0 if free is None else float(free[position])
            if have >= needed:
                continue
            refused = self._word(view, resource, needed, have, position)
            # Something that no eviction can mend outranks something that one could.
            if worst is None or (refused.eviction is Eviction.NEVER and worst.eviction is Eviction.HELPS):
                worst = refused
        assert worst is not None, "refuse() asked of a node that has room"
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
