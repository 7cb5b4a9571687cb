"""The bandwidth a gang needs between its tasks: how many tasks each domain's uplinks allow, and messages about it.

It applies where all tasks are placed together (`placement.gangs.uplink_capacity`). Tasks that join others of their gang
or group are checked one by one instead (`placement.filters.bandwidth`).
"""

from collections.abc import Callable, Sequence

from dovetail.cluster.arrays import F8
from dovetail.cluster.network.uplinks import unlimited_levels
from dovetail.cluster.state import Cluster
from dovetail.model.requests.task_identity import TaskIdentity
from dovetail.model.text.quantity import format_bandwidth
from dovetail.placement.gangs.arranger import Arranger
from dovetail.placement.gangs.tiers import Tiers, UplinkCapacity


class GangBandwidth:
    """`allowed`: for the arranger; None where links set no limit, or tasks of the gang have nodes already."""

    def __init__(self, cluster: Cluster, tiers: Tiers, mbps: int, identity: TaskIdentity) -> None:
        self._cluster, self._tiers, self._mbps = cluster, tiers, mbps
        begun = bool(mbps) and len(cluster.placements.flows.members(identity.gang).rows) > 0
        self._room = UplinkCapacity(cluster, tiers, mbps) if mbps and not begun else None

    @property
    def allowed(self) -> Sequence[F8] | None:
        return self._room.tasks if self._room is not None and self._room.sets_limits else None

    @property
    def is_settled(self) -> bool:
        """Does the arrangement by itself stay within what the links carry?"""
        return not self._mbps or (self._room is not None and self._room.is_whole)

    def too_narrow(self, arranger: Arranger, named: Callable[[int, int], str]) -> str:
        """For a gang that would fit if links carried more: the uplink that keeps most of it out of the domain with most
        capacity. `named`: the name of a domain of a tier."""
        if self._room is None:
            return ""
        unfit = arranger.unfit()
        tightest = arranger.tightest_uplink(unfit.tier, unfit.domain)
        asked = f"each needs {format_bandwidth(self._mbps)} to the others"
        if tightest is None:
            return asked
        tier, domain = tightest
        left, tasks = int(self._room.left_mbps[tier][domain]), int(self._room.tasks[tier][domain])
        enough = f"enough for {tasks} task{'' if tasks == 1 else 's'} there"
        where = f"across {self._tiers[tier].level} uplinks"
        return f"{asked} {where}, and {named(tier, domain)} has {format_bandwidth(left)} left, {enough}"

    def unlimited(self) -> tuple[str, ...]:
        """Levels whose link capacity the topology does not state: bandwidth is not checked there."""
        levels = unlimited_levels(self._cluster) if self._mbps else []
        if not levels:
            return ()
        named = " and ".join(filter(None, (", ".join(levels[:-1]), levels[-1])))
        return (f"bandwidth sets no limit across {named} uplinks: the topology does not say what they carry",)
