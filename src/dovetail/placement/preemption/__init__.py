"""Preemption: who must give way so that a task, or a whole gang, fits.

Guarantees: the cheapest victims by the order in `cost`, exactly for one task and for small cases; nobody goes in vain.
"""

from dovetail.placement.preemption.cost import FREE, Cost
from dovetail.placement.preemption.search import Victims, find_victims
from dovetail.placement.preemption.victim_table import VictimArrays, VictimTable

__all__ = ["FREE", "Cost", "VictimArrays", "VictimTable", "Victims", "find_victims"]
