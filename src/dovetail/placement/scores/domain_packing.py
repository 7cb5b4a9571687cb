"""Against fragmentation of the network: the share of GPUs in use in the node's domain, so that whole domains stay free
for gangs.

The domain is that of the narrowest level that nodes share, unless a level is given; without a topology all nodes are
equal. A domain without GPUs is as good as a full one. With a small weight beside `gpu_packing` it decides between nodes
that are equally full.
"""

from typing import ClassVar

import numpy as np
from pydantic import Field

from dovetail.cluster.arrays import F8
from dovetail.cluster.state import LABELS, RESOURCES
from dovetail.cluster.views.view import View
from dovetail.model.resources import GPU
from dovetail.model.text.strict import Strict
from dovetail.model.workloads.selection import LabelKey
from dovetail.placement.contract import Request, Score


class DomainPackingSettings(Strict):
    level: LabelKey | None = Field(default=None, description="the narrowest that nodes share unless given")


class DomainPackingScore(Score):
    name = "domain_packing"
    local = False
    reads = frozenset({LABELS, RESOURCES})
    Settings: ClassVar[type[Strict]] = DomainPackingSettings

    def __init__(self, settings: DomainPackingSettings) -> None:
        self._level = settings.level

    def points(self, request: Request, view: View) -> F8 | float:  # noqa: ARG002 (the same for every request)
        level = self._level or view.narrowest_level
        capacity, allocated = view.whole.capacity(GPU), view.whole.allocated(GPU)
        if level is None or capacity is None or allocated is None:
            return 0.0
        total = view.domain_sum(level, capacity)
        return np.divide(view.domain_sum(level, allocated), total, out=np.ones_like(total), where=total > 0)
