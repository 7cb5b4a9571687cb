"""Why parked work may fit now: what happened since it was last tried.

The scheduler reads these signals before each cycle (`scheduling.waking`), and clears what it has acted on.
"""

from dataclasses import dataclass, field

from dovetail.engine.state.pending_work import EquivalenceClass, Watch


@dataclass(slots=True)
class WakeState:
    #: Grows with every event, timer and placement. Promises do not count: two of them could wake each other for ever.
    event_count: int = 0
    dirty_rows: set[int] = field(default_factory=set)  # nodes where something may fit now that did not before
    queues_freed: set[int] = field(default_factory=set)  # queues that hold less than before
    watches: dict[EquivalenceClass, Watch] = field(default_factory=dict)  # what parked classes wait for beside room
    watched: int = 0  # the event count at which the watches were last checked
    #: For schedulers with a moving order: the earliest event count at which work was parked that other work may let in.
    unsettled: dict[str, int] = field(default_factory=dict)
