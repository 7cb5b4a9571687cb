"""Recovery search: the fewest moves that complete gangs again after they lost tasks. Pure array code."""

from dovetail.placement.recovery.problem import (
    LOST,
    BrokenGang,
    Movables,
    RecoveryGroup,
    RecoveryPlan,
    RecoveryProblem,
    no_movables,
)
from dovetail.placement.recovery.search import most_urgent_only, recover

__all__ = [
    "LOST",
    "BrokenGang",
    "Movables",
    "RecoveryGroup",
    "RecoveryPlan",
    "RecoveryProblem",
    "most_urgent_only",
    "no_movables",
    "recover",
]
