"""How many tasks of a kind may be evicted at once, as a PodDisruptionBudget says it."""

from typing import NamedTuple

from dovetail.model.requests.asks import Selector
from dovetail.model.task import TaskId


class DisruptionBudget(NamedTuple):
    """`allowed`: how many more of the tasks that `whom` selects may be evicted. `exempt`: evictions that were allowed
    already and do not count again."""

    whom: Selector
    allowed: int
    exempt: frozenset[TaskId] = frozenset()
