"""Python's garbage collector beside a state of millions of lasting objects.

A collection looks at every object of its generations, and all threads wait meanwhile: 20 ms for 25,000 objects on a
busy machine, most of a second for a million. Left to itself Python collects in the middle of a decision. So the control
loop collects between two turns, while the last one is written. Nearly all that survives belongs to the state of the
cluster: what has survived twice is set aside (`gc.freeze`), and no collection looks at it again. It goes, as all that
is in no cycle, when nobody refers to it. Cycles that were set aside are found by a full collection, in a quiet
moment, when twice as much is set aside as after the last one.
"""

import gc

YOUNG = 25_000  # new objects until they are collected
COLLECTIONS = 4  # of young objects, until those that survived are collected once more and set aside
LEAST_FOR_FULL = 2_000_000
#: Python's own limits, for work that keeps the control loop from its turns.
_LATEST = 20 * YOUNG, 20, 50


class GarbageCollector:
    """Of this process. One at a time."""

    def __init__(self) -> None:
        self._full_at = LEAST_FOR_FULL

    def pause(self) -> None:
        """While lasting objects are made."""
        gc.disable()

    def start(self) -> None:
        """All that is there now is set aside."""
        gc.freeze()
        gc.set_threshold(*_LATEST)
        gc.enable()
        self._full_at = max(LEAST_FOR_FULL, 2 * gc.get_freeze_count())

    def collect(self) -> None:
        """Young objects, if there are many. Costs nothing otherwise."""
        young, collections, _ = gc.get_count()
        if young < YOUNG:
            return
        if collections < COLLECTIONS:
            gc.collect(0)
        else:
            gc.collect(1)
            gc.freeze()

    def collect_all(self) -> None:
        """Everything, if much was set aside since the last time. Call it when nobody waits."""
        if gc.get_freeze_count() >= self._full_at:
            gc.unfreeze()
            gc.collect()
            self.start()
