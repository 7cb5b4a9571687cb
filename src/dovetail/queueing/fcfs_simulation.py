"""Simulates first come, first served with backfilling beside the real cluster, to learn the longest wait it gives.

The same work arrives at a simulated machine of capacity 1.0 that serves strictly in order of arrival, with EASY
backfilling behind the head. `batch_order` derives its wait limit from the longest wait there, and sees how much of the
work has to wait at all.
Guarantees: only the past is used. The longest wait is that of this period of `PERIOD_S` and the one before: it falls
when an overload is over for long, and is never shorter than a wait there right now. Run times are predictions until
the real task ends.
A task is only its share of the machine: the simulation has no nodes.
"""

from collections import OrderedDict
from collections.abc import Hashable, Mapping
from dataclasses import astuple, dataclass, field
from itertools import islice
from typing import Any

import numpy as np

from dovetail.queueing.short_work import FadingSums

TOLERANCE = 1e-9
"""Shares are fractions: ten tenths must fit into 1.0."""
PERIOD_S = 60 * 86_400.0
"""The longest wait is that of the last 60 to 120 days."""
DEPTH = 500
"""Tasks tried at a time: backfilling from further back hardly changes the longest wait."""


@dataclass(slots=True)
class _Task:
    submitted_at: float
    share: float
    run_s: float
    started_at: float = 0.0

    @property
    def ends_at(self) -> float:
        return self.started_at + self.run_s

    @property
    def work_s(self) -> float:
        return self.share * self.run_s


@dataclass(slots=True)
class FcfsSimulation:
    """`now` must never decrease. Deterministic."""

    _waiting: OrderedDict[Hashable, _Task] = field(default_factory=OrderedDict)
    _running: dict[Hashable, _Task] = field(default_factory=dict)
    _free: float = 1.0
    _queued_s: float = 0.0
    """The sum of run time × share over all waiting tasks."""
    _longest_wait_s: float = 0.0
    """Of this period."""
    _longest_before_s: float = 0.0
    """Of the period before."""
    _period: int = 0
    _served: FadingSums = field(default_factory=lambda: FadingSums(np.zeros(2)))
    """Tasks that started here, and those of them that had waited."""
    _changed_at: float | None = None
    """The time of changes that were not served yet. All changes at one time are served together."""

    def arrived(self, now: float, task: Hashable, share: float, expected_s: float) -> None:
        self._advance(now)
        waiting = _Task(now, min(1.0, share), max(1.0, expected_s))
        self._waiting[task] = waiting
        self._queued_s += waiting.work_s
        self._changed_at = now

    def ended(self, now: float, task: Hashable, actual_s: float) -> None:
        """The real task ended: use its real run time, whether it waits or runs here."""
        self._advance(now)
        known = self._waiting.get(task)
        if known is not None:
            self._queued_s -= known.work_s
            known.run_s = actual_s
            self._queued_s += known.work_s
        running = self._running.get(task)
        if running is not None:
            running.run_s = max(now - running.started_at, actual_s)
        self._changed_at = now

    def withdrawn(self, now: float, task: Hashable) -> None:
        """The task was cancelled before it ran: remove it here too."""
        self._advance(now)
        never_started = self._waiting.pop(task, None)
        if never_started is not None:
            self._queued_s -= never_started.work_s
        gone = self._running.pop(task, None)
        if gone is not None:
            self._free += gone.share
        self._changed_at = now

    @property
    def has_waiting(self) -> bool:
        """Does any task wait, as of the last `longest_wait_s`?"""
        return bool(self._waiting)

    @property
    def waiting_share(self) -> float:
        """The share of tasks that had to wait. Old ones fade."""
        started, waited = self._served.sums
        return float(waited / started) if started > 0.0 else 0.0

    def to_json(self) -> dict[str, Any]:
        return {
            "waiting": [[id_, *astuple(task)] for id_, task in self._waiting.items()],
            "running": [[id_, *astuple(task)] for id_, task in self._running.items()],
            "free": self._free,
            "queued_s": self._queued_s,
            "longest_wait_s": self._longest_wait_s,
            "longest_before_s": self._longest_before_s,
            "period": self._period,
            "served": self._served.to_json(),
            "changed_at": self._changed_at,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "FcfsSimulation":
        return cls(
            OrderedDict((id_, _Task(*values)) for id_, *values in data["waiting"]),
            {id_: _Task(*values) for id_, *values in data["running"]},
            data["free"],
            data["queued_s"],
            data["longest_wait_s"],
            data["longest_before_s"],
            data["period"],
            FadingSums.from_json(data["served"]),
            data["changed_at"],
        )

    def longest_wait_s(self, now: float) -> float:
        """The longest recent wait, including tasks that still wait and the wait of a task that arrived now."""
        self._advance(now)
        self._serve(now)
        left = sum(task.share * max(0.0, task.ends_at - now) for task in self._running.values())
        self._has_waited(now, left + self._queued_s)
        return max(self._longest_wait_s, self._longest_before_s)

    def _has_waited(self, now: float, wait_s: float) -> None:
        period = int(now // PERIOD_S)
        if period != self._period:
            self._longest_before_s = self._longest_wait_s if period == self._period + 1 else 0.0
            self._period, self._longest_wait_s = period, 0.0
        self._longest_wait_s = max(self._longest_wait_s, wait_s)

    def _advance(self, now: float) -> None:
        if self._changed_at is not None and self._changed_at < now:
            self._serve(self._changed_at)
        while self._running:
            ends_at = min(task.ends_at for task in self._running.values())
            if ends_at > now:
                return
            for name in [name for name, task in self._running.items() if task.ends_at <= ends_at]:
                self._free += self._running.pop(name).share
            self._serve(ends_at)

    def _serve(self, now: float) -> None:
        self._changed_at = None
        head: _Task | None = None
        head_starts_at = now
        for name, task in list(islice(self._waiting.items(), DEPTH)):
            fits = task.share <= self._free + TOLERANCE
            if head is None and not fits:
                head = task
                head_starts_at = self._earliest_start(now, task.share)
                self._has_waited(now, now - task.submitted_at)
            elif fits and (head is None or now + task.run_s <= head_starts_at):
                self._start(now, name)
        if head is None and self._waiting:
            self._serve(now)

    def _start(self, now: float, name: Hashable) -> None:
        task = self._waiting.pop(name)
        self._queued_s = self._queued_s - task.work_s if self._waiting else 0.0  # no rounding error outlives the queue
        task.started_at = now
        self._running[name] = task
        self._free -= task.share
        self._has_waited(now, now - task.submitted_at)
        self._served.fade(now)
        self._served.sums += (1.0, now > task.submitted_at)

    def _earliest_start(self, now: float, share: float) -> float:
        free, starts_at = self._free, now
        for task in sorted(self._running.values(), key=lambda running: running.ends_at):
            free, starts_at = free + task.share, task.ends_at
            if share <= free + TOLERANCE:
                break
        return starts_at
