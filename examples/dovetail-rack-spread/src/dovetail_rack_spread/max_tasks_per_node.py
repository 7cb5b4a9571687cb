"""At most so many tasks a node: a filter with typed settings that takes part in everything a built-in one does.

Beside `mask` and `refuse` it declares: it is about capacity and evictions help, so urgent work may displace less urgent
work (`stage`, `eviction_helps`); only what happens on a node can make it accept that node, so a waiting task is not
tried again after every event (`wakes_on`); and what suggestions call its limit (`requirement`).
"""

from typing import Annotated, ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from dovetail.cluster.change_log import RESOURCES
from dovetail.cluster.views.view import View
from dovetail.model.reason import Eviction, Refused
from dovetail.model.text.strict import Strict
from dovetail.placement.contract import OWN_NODE, EvictionHelps, Filter, FilterStage, Request, WakeSignals


class MaxTasksPerNodeSettings(Strict):
    most: Annotated[int, Field(ge=1)]


class MaxTasksPerNode(Filter):
    name: ClassVar[str] = "max_tasks_per_node"
    reason: ClassVar[str] = "too_many_tasks"
    reads: ClassVar[frozenset[str]] = frozenset({RESOURCES})
    Settings: ClassVar[type[Strict]] = MaxTasksPerNodeSettings
    stage: ClassVar[FilterStage] = FilterStage.CAPACITY
    eviction_helps: ClassVar[EvictionHelps] = EvictionHelps.BY_TRIAL
    wakes_on: ClassVar[WakeSignals] = OWN_NODE

    def __init__(self, settings: MaxTasksPerNodeSettings) -> None:
        self._most = settings.most

    def mask(self, request: Request, view: View) -> npt.NDArray[np.bool_]:  # noqa: ARG002 (the same for every request)
        return self._running(view) < self._most

    def refuse(self, request: Request, view: View, position: int) -> Refused:  # noqa: ARG002
        running = int(self._running(view)[position])
        message = f"runs {running} tasks and may run {self._most}"
        return Refused(self.name, self.reason, message, Eviction.HELPS)

    def requirement(self, request: Request) -> str:  # noqa: ARG002 (the same for every request)
        return f"fewer than {self._most} tasks on the node"

    def _running(self, view: View) -> npt.NDArray[np.float64]:
        """Every task takes one slot of its node, so allocated slots are running tasks."""
        slots = view.allocated("slots")
        assert slots is not None, "every cluster has slots"
        return slots
