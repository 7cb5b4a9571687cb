"""Python's garbage collector beside a state of millions of lasting objects.

A collection looks at every object of its generations, and all threads wait meanwhile: 20 ms for 25,000 objects on a
busy machine, most of a second for a million. Left to itself Python collects in the middle of a decision. So the control
loop collects when a step was written and handed over, and few objects at a time. Nearly all that survives
belongs to the state of the cluster, and hardly any garbage here has cycles. So what has survived is set aside
(`gc.freeze`), and no collection looks at it again; it goes, as all that is in no cycle, when nobody refers to it.
Cycles that were set aside are found by a full collection, in a quiet moment, when as much was set aside since the last
one as there was then.

All this is for a process that is one server. A control plane that shares its process with other work, such as the many
of a test run, leaves collections to Python: what it set aside would stay there after its end.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

YOUNG = 1_500  # new objects until they are collected, which takes a part of a millisecond
TOO_MANY = 12_000  # so many of one turn are tasks: they are set aside without a look at each
COLLECTIONS = 16  # of young objects, until all that survived them are set aside
LEAST_FOR_FULL = 2_000_000
#: Python's own limits, for work that keeps the control loop from its turns.
_LATEST = 600_000, 20, 50


class PythonCollector:
    """Python's own, which only waits for lasting objects to be made."""

    @contextmanager
    def paused(self) -> Iterator[None]:
        """While lasting objects are made."""
        gc.disable()
        try:
            yield
            self.settle()
        finally:
            gc.enable()

    def settle(self) -> None:
        """All that is there now lasts."""

    def collect(self) -> None:
        """Between two turns of the control loop."""

    def collect_all(self) -> None:
        """When nobody waits."""


class ServerCollector(PythonCollector):
    """Of a process that is one server."""

    def __init__(self) -> None:
        self._set_aside = 0  # objects since the last full collection; some have gone since
        self._frozen_before: int | None = None  # set aside until that collection; counted late, as it takes time

    def settle(self) -> None:
        """Sets it aside."""
        gc.freeze()
        gc.set_threshold(*_LATEST)
        self._set_aside, self._frozen_before = 0, None

    def collect(self) -> None:
        """Young objects, if there are many. Costs nothing otherwise."""
        young, collections, _ = gc.get_count()
        if young < YOUNG:
            return
        self._set_aside += young
        if young < TOO_MANY:
            gc.collect(0)
        if young >= TOO_MANY or collections >= COLLECTIONS:
            gc.freeze()

    def collect_all(self) -> None:
        """Everything, if much was set aside since the last time."""
        if self._set_aside < LEAST_FOR_FULL:
            return
        if self._frozen_before is None:
            self._frozen_before = gc.get_freeze_count() - self._set_aside
        if self._set_aside >= self._frozen_before:
            gc.unfreeze()
            gc.collect()
            self.settle()
