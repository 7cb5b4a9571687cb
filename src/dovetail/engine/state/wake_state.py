"""Signals that parked work may fit now, collected since it was last tried.

The scheduler reads them before each cycle (`scheduling.waking`) and clears what it has handled.
"""

from dataclasses import dataclass, field

from dovetail.cluster.placements import VictimInfo
from dovetail.engine.state.pending_work import EquivalenceClass, Watch


@dataclass(slots=True)
class WakeState:
    #: Grows with every event, timer and placement. Promises do not count: two of them could wake each other for ever.
    event_count: int = 0
    dirty_rows: set[int] = field(default_factory=set)  # nodes where more may fit than before
    freed: dict[int, list[VictimInfo]] = field(default_factory=dict)  # by row: the tasks that no longer hold capacity
    queues_freed: set[int] = field(default_factory=set)  # queues that hold less than before
    watches: dict[EquivalenceClass, Watch] = field(default_factory=dict)  # what parked classes wait for beside capacity
    watched: int = 0  # the event count at which the watches were last checked
    savings_due: float = 0.0  # when to look again for preemptions that save money
    #: By scheduler with a dynamic ordering: the earliest event count at which work with watches was parked.
    unsettled: dict[str, int] = field(default_factory=dict)
