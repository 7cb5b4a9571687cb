"""What a gang needs of the links between its tasks, as the arrangement of all of them sees it, and the words for it.

Where all tasks are placed together, the links up from each domain allow so many tasks there (`placement.uplink_room`).
Tasks that join others of their gang, or of their group, are looked at one by one (`placement.filters.bandwidth`).
"""

from collections.abc import Callable, Sequence

from dovetail.cluster.arrays import F8
from dovetail.cluster.network.uplinks import unlimited_levels
from dovetail.cluster.state import Cluster
from dovetail.model.requests.task_identity import TaskIdentity
from dovetail.model.text.quantity import format_bandwidth
from dovetail.placement.gangs.arranger import Arranger
from dovetail.placement.gangs.tiers import Tiers
from dovetail.placement.gangs.uplink_room import UplinkRoom


class GangBandwidth:
    """`allowed`: for the arranger; None where links set no limit, or others of the gang have nodes."""

    def __init__(self, cluster: Cluster, tiers: Tiers, mbps: int, identity: TaskIdentity) -> None:
        self._cluster, self._tiers, self._mbps = cluster, tiers, mbps
        begun = bool(mbps) and len(cluster.placements.flows.members(identity.gang).rows) > 0
        self._room = UplinkRoom(cluster, tiers, mbps) if mbps and not begun else None

    @property
    def allowed(self) -> Sequence[F8] | None:
        return self._room.tasks if self._room is not None and self._room.sets_limits else None

    @property
    def is_settled(self) -> bool:
        """Does the arrangement as a whole keep to what links carry?"""
        return not self._mbps or (self._room is not None and self._room.is_whole)

    def too_narrow(self, arranger: Arranger, named: Callable[[int, int], str]) -> str:
        """Of a gang that fits nowhere and would if links carried more: which keep most of it away from the domain with
        most room. `named`: a tier and a domain, in words."""
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
        """Levels of which nobody says what their links carry: there bandwidth is not looked at."""
        levels = unlimited_levels(self._cluster) if self._mbps else []
        if not levels:
            return ()
        named = " and ".join(filter(None, (", ".join(levels[:-1]), levels[-1])))
        return (f"bandwidth sets no limit across {named} uplinks: the topology does not say what they carry",)
