"""Preemption: which running tasks must be evicted so that a task, or a whole gang, fits.

There are two searches. `search` finds the cheapest victims by the order in `cost`, exactly for one task and for small
cases. `nominating` finds those that kube-scheduler would choose. `cheapest` compares several places. Guarantees: no
victim is evicted without need; nothing here changes the cluster. Leaves to others: who may preempt whom, and stopping
them.
"""

from dovetail.placement.preemption.cost import FREE, Cost
from dovetail.placement.preemption.search import Victims, find_victims
from dovetail.placement.preemption.victim_table import VictimArrays, VictimTable

__all__ = ["FREE", "Cost", "VictimArrays", "VictimTable", "Victims", "find_victims"]
