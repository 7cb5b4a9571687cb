"""The uplinks have enough bandwidth left for what the task and the others of its gang send to each other.

This filter is for tasks that join a running gang or replace one of its tasks. Tasks that start together are arranged as
a whole (`tiers.UplinkCapacity`, `arranger`); the first of them sends to none yet.
"""

from dovetail.cluster.arrays import B1
from dovetail.cluster.change_log import LABELS, PLACEMENTS
from dovetail.cluster.views.view import View
from dovetail.model.reason import Eviction, Refused
from dovetail.model.text.quantity import format_bandwidth
from dovetail.model.workloads.affinity import HOST
from dovetail.placement.contract import ANYTHING, Concern, CopyEffect, EvictionHelps, Filter, Request

NO_BANDWIDTH = "insufficient_bandwidth"


class BandwidthFilter(Filter):
    name = "bandwidth"
    reason = NO_BANDWIDTH
    reads = frozenset({LABELS, PLACEMENTS})
    eviction_helps = EvictionHelps.BY_TRIAL
    copy_effect = CopyEffect.BY_RULES
    concern = Concern.SCHEDULER
    wakes_on = ANYTHING  # a task that leaves any node may have used a link that it needs

    def applies(self, request: Request) -> bool:
        layout = request.shape.layout
        return layout is not None and layout.bandwidth_mbps > 0

    def mask(self, request: Request, view: View) -> B1 | bool:
        mbps = request.shape.bandwidth_mbps
        return True if request.identity is None else view.room_to_join(request.identity.gang, mbps)

    def refuse(self, request: Request, view: View, position: int) -> Refused:
        mbps = request.shape.bandwidth_mbps
        assert request.identity is not None, "a task without an identity is not refused"
        short = view.uplink_shortage(request.identity.gang, mbps, position)
        level = "node" if short.level == HOST else short.level
        words = f"needs {format_bandwidth(mbps)} to the others of its gang; the uplink of {level} {short.domain} "
        words += f"would have to carry {_speed(short.needed_mbps)} more and has {_speed(short.left_mbps)} left"
        return Refused(self.name, self.reason, words, Eviction.HELPS)


def _speed(mbps: float) -> str:
    return format_bandwidth(round(max(mbps, 0.0)))
