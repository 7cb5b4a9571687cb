"""What the engine has to think of later: by when, about whom. The loop is asked for a Tick at the earliest.

A timer is set again by setting it; one whose moment has come is handed out once. Nothing here is remembered across a
restart: restoring sets what the restored state still needs.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from heapq import heappop, heappush
from typing import NamedTuple

from dovetail.model.command import Wake


class TimerKind(StrEnum):
    DEADLINE = "deadline"  # a workload must have been scheduled by now
    PROMOTION = "promotion"  # a workload has waited long enough for a higher priority
    RETRY = "retry"  # a task may be tried again
    EVICTION = "eviction"  # a task has borne a NoExecute taint as long as it said it would
    PROBE = "probe"  # a quarantined node gets another chance
    WINDOW = "window"  # an advance reservation begins or ends
    LOOK = "look"  # a workload that gave up displacing others for a while
    RECOVERY = "recovery"  # a broken gang has kept its nodes long enough, or may be looked at again
    LOSS = "loss"  # a node has been silent for so long that its work is lost
    ADJUSTMENT = "adjustment"  # conditions of policies are to be looked at


class Timer(NamedTuple):
    about: TimerKind
    key: object = None


@dataclass(slots=True)
class Timers:
    _heap: list[tuple[float, int, Timer]] = field(default_factory=list)
    _set: dict[Timer, float] = field(default_factory=dict)
    _count: int = 0
    _asked: float | None = None  # the moment for which a Tick was asked

    def set(self, about: TimerKind, key: object, at: float) -> None:
        timer = Timer(about, key)
        if self._set.get(timer) != at:
            self._set[timer] = at
            self._count += 1
            heappush(self._heap, (at, self._count, timer))

    def clear(self, about: TimerKind, key: object) -> None:
        self._set.pop(Timer(about, key), None)

    def at(self, about: TimerKind, key: object) -> float | None:
        return self._set.get(Timer(about, key))

    def due(self, now: float) -> list[Timer]:
        """Those whose moment has come, in order."""
        found = []
        while self._heap and self._heap[0][0] <= now:
            at, _, timer = heappop(self._heap)
            if self._set.get(timer) == at:
                del self._set[timer]
                found.append(timer)
        return found

    @property
    def next(self) -> float | None:
        """When the earliest is due."""
        while self._heap and self._set.get(self._heap[0][2]) != self._heap[0][0]:
            heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def wake(self, now: float) -> list[Wake]:
        """A Tick for the earliest timer, unless one was asked for already."""
        first = self.next
        if first is None or (self._asked is not None and now < self._asked <= first):
            return []
        self._asked = first
        return [Wake(first)]
