"""Scores of a domain: free capacity, room for the whole job, utilisation, and how tasks fared there before.

All nodes of a domain get the same points, so these scores choose the domain; others then choose the node in it. A
domain is chosen for the whole job: what its own tasks hold there counts as free, or the job would be driven away by
itself. These scores are not local (`local = False`), so no ranking is cached under their profiles.
"""

from typing import ClassVar

import numpy as np

from dovetail.cluster.arrays import F8
from dovetail.cluster.change_log import LABELS, PLACEMENTS, RESOURCES, STATUS
from dovetail.cluster.views.view import View
from dovetail.model.resources import GPU
from dovetail.model.text.strict import Strict
from dovetail.model.workloads.selection import LabelKey
from dovetail.placement.contract import Request, Score
from dovetail.placement.scores.shares import requested


class DomainSettings(Strict):
    """The same for `topology_alignment`, `domain_utilisation` and `domain_history`."""

    level: LabelKey = "leaf"
    """The node label that names the domain."""


class _DomainScore(Score):
    local = False
    reads = frozenset({LABELS, PLACEMENTS, RESOURCES, STATUS})
    Settings: ClassVar[type[Strict]] = DomainSettings

    def __init__(self, settings: DomainSettings) -> None:
        self.level = settings.level

    def _there(self, request: Request, view: View) -> F8 | float:
        """The job's own tasks on each node."""
        return view.whole.task_counts(*request.siblings) if request.siblings is not None else 0.0

    def _share(self, view: View, part: F8, whole: F8) -> F8:
        """The part's share of the domain's total; 0 where the total is 0."""
        total = view.domain_sum(self.level, whole)
        return np.divide(view.domain_sum(self.level, part), total, out=np.zeros_like(total), where=total > 0)


class DomainAvailabilityScore(_DomainScore):
    """The free share of the domain, for the scarcest of the resources that the task asks for."""

    name = "domain_availability"

    def points(self, request: Request, view: View) -> F8 | float:
        lowest: F8 | float = 1.0
        there = self._there(request, view)
        for resource in requested(request):
            free, capacity = view.whole.free(resource), view.whole.capacity(resource)
            if free is None or capacity is None:
                return 0.0
            open_to_it = np.maximum(free, 0.0) + there * request.needs[resource]
            lowest = np.minimum(lowest, self._share(view, open_to_it, capacity))
        return lowest


class TopologyAlignmentScore(_DomainScore):
    """How much of the job the domain could hold: its tasks that run there and those that still fit."""

    name = "topology_alignment"

    def points(self, request: Request, view: View) -> F8 | float:
        whole = view.whole
        fits = np.where(whole.ready, np.inf, 0.0)
        for resource, needed in request.needs.items():
            free = whole.free(resource)
            if free is None:
                return 0.0
            fits = np.minimum(fits, np.floor(np.maximum(free, 0.0) / needed))
        replicas = request.siblings[1] if request.siblings is not None else 1
        return np.minimum(view.domain_sum(self.level, fits + self._there(request, view)) / replicas, 1.0)


class DomainUtilisationScore(_DomainScore):
    """The share of the domain that others use: of equals the fuller is better, so that whole domains stay free for
    large jobs."""

    name = "domain_utilisation"

    def points(self, request: Request, view: View) -> F8 | float:
        highest: F8 | float = 0.0
        there = self._there(request, view)
        for resource in requested(request):
            allocated, capacity = view.whole.allocated(resource), view.whole.capacity(resource)
            if allocated is not None and capacity is not None:
                others = allocated - there * request.needs[resource]
                highest = np.maximum(highest, self._share(view, others, capacity))
        return highest


class DomainHistoryScore(_DomainScore):
    """How tasks fared in the domain before: how many succeeded, and how quickly."""

    name = "domain_history"

    def __init__(self, settings: DomainSettings) -> None:
        super().__init__(settings)
        self._as_of: tuple[int, int, int] | None = None
        self._of_node: F8 = np.ones(0)

    def points(self, request: Request, view: View) -> F8 | float:  # noqa: ARG002 (the same for every request)
        if self._as_of != view.outcomes_as_of:
            whole = view.whole
            columns = (whole.succeeded, whole.failed, whole.pace_sum, whole.pace_weight)
            self._of_node = success_rate(*[whole.domain_sum(self.level, column) for column in columns])
            self._as_of = view.outcomes_as_of
        return self._of_node[view.rows]


class DomainPackingSettings(Strict):
    level: LabelKey | None = None
    """The node label that names the domain; by default the narrowest level that nodes share."""


class DomainPackingScore(Score):
    """Against fragmentation of the network: the share of GPUs in use in the node's domain, so that whole domains stay
    free for gangs.

    The domain is that of the narrowest level that nodes share, unless a level is given; without a topology all nodes
    are equal. A domain without GPUs is as good as a full one. With a small weight beside `gpu_packing` it decides
    between nodes that are equally full.
    """

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


def success_rate(succeeded: F8, failed: F8, pace_sum: F8, pace_weight: F8) -> F8:
    """float64[domain], from sums over each domain: share of tasks that succeeded × min(1, 1 / mean slowdown). It is 1
    where nothing is known, and where nothing failed and nothing was slower than usual (`Cluster.note_pace`)."""
    ended = succeeded + failed
    well = np.divide(succeeded, ended, out=np.ones_like(ended), where=ended > 0)
    # Slowdowns are above 0, so where one was noted the sum is, too.
    quick = np.divide(pace_weight, pace_sum, out=np.ones_like(pace_sum), where=pace_sum > 0)
    found: F8 = well * np.minimum(quick, 1.0)
    return found
