"""Recovery: the fewest moves that make gangs whole again which lost some of their tasks."""

from dovetail.placement.recovery.portions import for_the_first
from dovetail.placement.recovery.problem import (
    LOST,
    Broken,
    Movables,
    RecoveryGroup,
    RecoveryPlan,
    RecoveryProblem,
    nobody,
)
from dovetail.placement.recovery.search import recover

__all__ = [
    "LOST",
    "Broken",
    "Movables",
    "RecoveryGroup",
    "RecoveryPlan",
    "RecoveryProblem",
    "for_the_first",
    "nobody",
    "recover",
]
