"""The engine's timers. A `Wake` command asks the control loop for a Tick at the earliest one.

Setting a timer again moves it. A timer that is due is returned once. Timers are not persisted: `restore` sets those
that the restored state needs.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from heapq import heappop, heappush
from typing import NamedTuple

from dovetail.model.command import Wake


class TimerKind(StrEnum):
    DEADLINE = "deadline"  # a workload must be scheduled by then
    PROMOTION = "promotion"  # a workload has waited long enough for a higher priority
    RETRY = "retry"  # the backoff of a task is over
    EVICTION = "eviction"  # the toleration time of a task is over
    PROBE = "probe"  # a quarantined node gets another chance
    WINDOW = "window"  # a window of a reservation begins or ends
    PREEMPTION_PAUSE = "preemption_pause"  # a workload may preempt again
    RECOVERY = "recovery"  # the hold time of a broken gang is over, or a search is due
    LOSS = "loss"  # a node has been silent for too long
    LATEST_START = "latest_start"  # work that waited for cheaper nodes has to start now, to end in time
    LAST_CHANCE = "last_chance"  # a task on an own node could still leave for another, for the last time
    PLANNED_START = "planned_start"  # the next start in the timetable of own nodes
    ADJUSTMENT = "adjustment"  # conditions of policies are due for evaluation


class Timer(NamedTuple):
    kind: TimerKind
    key: object = None


@dataclass(slots=True)
class Timers:
    _heap: list[tuple[float, int, Timer]] = field(default_factory=list)
    _set: dict[Timer, float] = field(default_factory=dict)
    _count: int = 0
    _asked: float | None = None  # the time for which a Tick was requested

    def set(self, kind: TimerKind, key: object, at: float) -> None:
        timer = Timer(kind, key)
        if self._set.get(timer) != at:
            self._set[timer] = at
            self._count += 1
            heappush(self._heap, (at, self._count, timer))

    def clear(self, kind: TimerKind, key: object) -> None:
        self._set.pop(Timer(kind, key), None)

    def at(self, kind: TimerKind, key: object) -> float | None:
        return self._set.get(Timer(kind, key))

    def due(self, now: float) -> list[Timer]:
        """Timers that are due, in order."""
        found = []
        while self._heap and self._heap[0][0] <= now:
            at, _, timer = heappop(self._heap)
            if self._set.get(timer) == at:
                del self._set[timer]
                found.append(timer)
        return found

    @property
    def next(self) -> float | None:
        """The time of the earliest timer."""
        while self._heap and self._set.get(self._heap[0][2]) != self._heap[0][0]:
            heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def wake(self, now: float) -> list[Wake]:
        """A Wake for the earliest timer, unless one was sent before."""
        first = self.next
        if first is None or (self._asked is not None and now < self._asked <= first):
            return []
        self._asked = first
        return [Wake(first)]
