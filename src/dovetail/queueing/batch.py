"""The ordering `batch`: short and narrow work first, nobody for ever, and the machine never quite full of long work.

Its keys move with time, so the line is sorted anew before each pass: meant for queues of hundreds or thousands, not
millions. More urgent priorities go first. Left to others: the formula (`batch_order`), the yardstick (`shadow`).
"""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from dovetail.queueing.batch_order import BatchOrder
from dovetail.queueing.entry import QueueEntry
from dovetail.queueing.fcfs_simulation import FcfsSimulation

#: Work that says nothing about its run time is taken to run for a day.
UNDECLARED_RUN_S = 86_400.0


class BatchOrdering:
    name: ClassVar[str] = "batch"
    by_tenant: ClassVar[bool] = False

    def __init__(self, ageing_s: float | None = None) -> None:
        self.ageing_s = ageing_s  # its age counts by itself
        self._order = BatchOrder()
        self._fcfs = FcfsSimulation()
        self._keys: dict[int, tuple[float, ...]] = {}

    def key(self, entry: QueueEntry) -> tuple[float, ...]:
        """As of the last `rekey`; who has come since goes last in its class until the next."""
        return self._keys.get(entry.id, (entry.rank, np.inf))

    def arrived(self, entry: QueueEntry, now: float) -> None:
        self._order.arrived(now, _run_s(entry))
        self._fcfs.arrived(now, entry.id, entry.share, _run_s(entry))

    def ended(self, workload: int, now: float, ran_s: float | None) -> None:
        """It ended; `ran_s` None: before it ran."""
        self._keys.pop(workload, None)
        if ran_s is None:
            self._fcfs.withdrawn(now, workload)
        else:
            self._fcfs.ended(now, workload, ran_s)

    def rekey(self, entries: Sequence[QueueEntry], now: float) -> None:
        longest_s = self._fcfs.longest_wait_s(now)
        if not entries:
            return
        submitted = np.array([entry.submitted_at for entry in entries])
        runs = np.array([_run_s(entry) for entry in entries])
        shares = np.array([entry.share for entry in entries])
        keys = self._order.keys(now, submitted, runs, shares, longest_s).tolist()
        for entry, key in zip(entries, keys, strict=True):
            self._keys[entry.id] = (entry.rank, key)

    def free_share(self, entry: QueueEntry) -> float:
        """The share of the cluster that must stay free beside it."""
        share = np.array([entry.share])
        return float(self._order.needed_share(np.array([_run_s(entry)]), share)[0] - entry.share)


def _run_s(entry: QueueEntry) -> float:
    expected_s = entry.expected_s if entry.expected_s is not None else entry.run_s
    return UNDECLARED_RUN_S if expected_s is None else max(1.0, expected_s)
