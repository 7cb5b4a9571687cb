"""How many replicas a measured signal asks for, without flapping.

The number grows at once, to twice as many at most, and shrinks only to the largest number that was asked for within
`calm`. A signal near its target changes nothing.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from dovetail.model.services.service import Autoscale


class Recommended(NamedTuple):
    at: float
    replicas: int


def recommend(policy: Autoscale, current: int, per_replica: float) -> int:
    """So many replicas that each has the target, if `current` ones have `per_replica` each now."""
    ratio = per_replica / policy.target
    wanted = current if abs(ratio - 1.0) <= policy.tolerance else math.ceil(current * ratio - 1e-9)
    wanted = min(wanted, 2 * max(current, 1))
    return max(policy.min, min(policy.max, wanted))


def replicas_wanted(policy: Autoscale, current: int, recent: Sequence[Recommended], now: float) -> int:
    """What to scale to, from the recommendations of the past, the last of them from now."""
    if not recent:
        return max(policy.min, min(policy.max, current))
    latest = recent[-1].replicas
    if latest >= current:
        return latest
    kept = [one.replicas for one in recent if now - one.at <= policy.calm]
    return max(latest, min(current, max(kept)))
