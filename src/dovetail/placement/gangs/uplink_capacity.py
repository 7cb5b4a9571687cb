"""How many tasks of a new gang each domain can take if others of the gang are outside: what its uplinks can carry.

`topology.bandwidth` is what every task can send to the others at once. With k tasks inside a domain and others outside,
its uplinks carry k times that; with all tasks inside, they carry nothing. So the uplinks of a domain allow a number of
tasks there, or all of them.
Left to others: where the gang goes (`arranging`), and one more task of a gang that runs already (`filters.bandwidth`).
"""

import numpy as np

from dovetail.cluster.arrays import F8
from dovetail.cluster.labels import ABSENT
from dovetail.cluster.network.uplinks import limited_uplinks
from dovetail.cluster.state import Cluster
from dovetail.model.workloads.affinity import HOST
from dovetail.placement.gangs.tiers import Tiers


class UplinkCapacity:
    """`tasks` is, by tier, float64[domain]: how many tasks the uplinks of each domain have bandwidth for, infinite
    where their bandwidth is unknown. `left_mbps` likewise: what those uplinks have left."""

    def __init__(self, cluster: Cluster, tiers: Tiers, mbps: int) -> None:
        self.left_mbps: list[F8] = [np.full(tier.count, np.inf) for tier in tiers]
        self.is_whole = True  # every level at which links set a limit is among the tiers
        for uplinks in limited_uplinks(cluster):
            if uplinks.level != HOST and not tiers.is_carried(uplinks.level):
                self.is_whole = False
                continue
            at = tiers.at(uplinks.level)
            codes = uplinks.codes[tiers[at].first]
            left = np.maximum(uplinks.left_mbps[codes], 0.0)
            if uplinks.level != HOST:
                # A label that is carried in two wider domains is two domains here; they share what is known of one.
                sharing = np.bincount(codes)[codes]
                left = np.where(codes == ABSENT, np.inf, left / sharing)
            self.left_mbps[at] = np.minimum(self.left_mbps[at], left)
        self.tasks: list[F8] = [np.floor(left / mbps) for left in self.left_mbps]
        self.sets_limits = any(np.isfinite(tasks).any() for tasks in self.tasks)
