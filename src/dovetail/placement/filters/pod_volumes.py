"""Filters on the volumes of a pod: usable from the node, and not too many of them."""

import numpy as np

from dovetail.cluster.arrays import B1, F8
from dovetail.cluster.change_log import LABELS, PLACEMENTS
from dovetail.cluster.views.view import View
from dovetail.model.reason import Eviction, Refused
from dovetail.model.requests.asks import Match, Term
from dovetail.model.requests.pod_ask import NODE_NAME, VOLUME_LIMIT, VolumeAsk, VolumeClaim
from dovetail.model.workloads.selection import Operator
from dovetail.placement.contract import OWN_NODE, Concern, EvictionHelps, Filter, Request
from dovetail.placement.filters.node_labels import any_of

ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
#: Labels that say where a node or a volume is; what an older one is called now.
PLACES = {
    "failure-domain.beta.kubernetes.io/zone": ZONE,
    "failure-domain.beta.kubernetes.io/region": REGION,
    ZONE: ZONE,
    REGION: REGION,
}
ELSEWHERE, NO_VOLUME, OTHER_ZONE = "volume_elsewhere", "no_volume_to_bind", "volume_in_other_zone"


def reachable(places: tuple[tuple[Term, ...], ...], view: View) -> B1 | bool:
    """Where everything can be used that is usable in these places: any one of the terms for each thing."""
    found: B1 | bool = True
    for terms in places:
        found = found & any_of(terms, view)
    return found


def in_zone(ask: VolumeAsk, view: View) -> B1 | bool:
    """Nodes whose zone and region match the labels of the volumes; a node without such labels matches."""
    if not ask.zones:
        return True
    found: B1 | bool = True
    for key, values in ask.zones:
        here = view.matches(Match(key, Operator.IN, values))
        if PLACES[key] != key:
            called = view.matches(Match(key, Operator.DOES_NOT_EXIST, ()))
            here = here | (called & view.matches(Match(PLACES[key], Operator.IN, values)))
        found = found & here
    unplaced = view.satisfies(tuple([Match(key, Operator.DOES_NOT_EXIST, ()) for key in PLACES]))
    return found | unplaced


def bindable(ask: VolumeAsk, view: View) -> B1 | bool:
    """Where every claim gets a volume."""
    if not ask.claims:
        return True
    found = np.ones(view.size, dtype=np.bool_)
    left: dict[str, B1] = {}  # by volume: where no claim before has taken it
    for claim in ask.claims:
        found &= _gets_one(claim, left, view)
    return found


def _why_not_bindable(ask: VolumeAsk, here: View) -> str:
    anywhere = ask._replace(claims=tuple([claim._replace(fits_at=None) for claim in ask.claims]))
    if np.all(bindable(anywhere, here)):
        return "no volume is left for a claim of the pod, and its driver has no space here for a new one of that size"
    return "no volume is left for a claim of the pod, and none can be made here"


def _gets_one(claim: VolumeClaim, left: dict[str, B1], view: View) -> B1:
    wants = np.ones(view.size, dtype=np.bool_)
    for volume in claim.volumes:
        usable = True if volume.nodes is None else any_of(volume.nodes, view)
        free = left.setdefault(volume.name, np.ones(view.size, dtype=np.bool_))
        takes = wants & free & usable
        left[volume.name] = free & ~takes
        wants &= ~takes
    if claim.made_at is None:
        made: B1 | bool = False
    else:
        made = any_of(claim.made_at, view) if claim.made_at else True
    if claim.fits_at is not None:
        made = made & any_of(claim.fits_at, view)
    if claim.selected_node:
        made = made & view.matches(Match(NODE_NAME, Operator.IN, (claim.selected_node,)))
    return ~wants | made


class PodVolumesFilter(Filter):
    """Every volume of the pod is usable from the node, and every claim of the pod can be bound there.

    Unbound claims get volumes one claim after the other: each gets the first volume that is left and usable from the
    node, or a newly provisioned one where its class allows that.
    """

    name = "pod_volumes"
    reason = ELSEWHERE
    reads = frozenset({LABELS})
    concern = Concern.SCHEDULER
    wakes_on = OWN_NODE

    def applies(self, request: Request) -> bool:
        pod = request.shape.kubernetes
        return pod is not None and pod.volumes is not None

    def mask(self, request: Request, view: View) -> B1 | bool:
        ask = request.pod.volumes
        assert ask is not None
        if ask.refused[0]:
            return False
        return reachable(ask.bound, view) & in_zone(ask, view) & bindable(ask, view)

    def refuse(self, request: Request, view: View, position: int) -> Refused:
        assert request.pod.volumes is not None
        ask, here = request.pod.volumes, view.subset(np.array([position], dtype=np.intp))
        if ask.refused[0]:
            return Refused(self.name, NO_VOLUME, ask.refused[1])
        if not np.all(reachable(ask.bound, here)):
            return Refused(self.name, ELSEWHERE, "a volume of the pod cannot be used from this node")
        if not np.all(bindable(ask, here)):
            return Refused(self.name, NO_VOLUME, _why_not_bindable(ask, here))
        return Refused(self.name, OTHER_ZONE, "a volume of the pod is in another zone or region")


def _limits(view: View, driver: str) -> F8 | None:
    """float64[node]: infinite where the node states no limit; None where no node states one."""
    found = view.label_codes(VOLUME_LIMIT + driver)
    if found is None:
        return None
    codes, column = found
    by_code: F8 = np.array([np.inf, *map(float, column.vocabulary)])
    limits: F8 = by_code.take(codes)
    return limits


def _wanted(request: Request) -> dict[str, list[str]]:
    pod = request.shape.kubernetes
    found: dict[str, list[str]] = {}
    for driver, volume in () if pod is None or pod.volumes is None else pod.volumes.attached:
        found.setdefault(driver, []).append(volume)
    return found


class PodAttachmentsFilter(Filter):
    """The node can attach the pod's volumes beside those it has, within the driver's limit. A volume that is attached
    already counts once.
    """

    name = "pod_attachments"
    reason = "too_many_volumes"
    reads = frozenset({LABELS, PLACEMENTS})
    eviction_helps = EvictionHelps.BY_TRIAL
    concern = Concern.SCHEDULER
    wakes_on = OWN_NODE

    def applies(self, request: Request) -> bool:
        pod = request.shape.kubernetes
        return pod is not None and pod.volumes is not None and bool(pod.volumes.attached)

    def mask(self, request: Request, view: View) -> B1 | bool:
        found: B1 | bool = True
        for driver, volumes in _wanted(request).items():
            limits = _limits(view, driver)
            if limits is not None:
                more = sum([1.0 - view.has_volume(driver, volume) for volume in volumes], start=np.zeros(view.size))
                found = found & ((view.attached_volumes(driver) + more <= limits) | (more <= 0))
        return found

    def refuse(self, request: Request, view: View, position: int) -> Refused:
        here = view.subset(np.array([position], dtype=np.intp))
        for driver in _wanted(request):
            limits, attached = _limits(here, driver), here.attached_volumes(driver)
            if limits is not None and np.isfinite(limits[0]):
                words = f"has attached {attached[0]:g} of at most {limits[0]:g} volumes of {driver}"
                return Refused(self.name, self.reason, words, Eviction.HELPS)
        raise AssertionError("refuse() asked of a node without limits")
