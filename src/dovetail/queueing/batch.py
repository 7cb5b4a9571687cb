"""The ordering `batch`: short and small work first, without starvation, and some capacity kept free of long work.

Its keys change with time, so the queue is sorted before each cycle: for hundreds or thousands of pending workloads, not
millions. Priority classes come first. The formula is in `batch_order`, the wait limit comes from `fcfs_simulation`.
"""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from dovetail.queueing.batch_order import BatchOrder
from dovetail.queueing.entry import QueueEntry
from dovetail.queueing.fcfs_simulation import FcfsSimulation

#: The assumed run time of work that declares none: one day.
UNDECLARED_RUN_S = 86_400.0


class BatchOrdering:
    name: ClassVar[str] = "batch"
    by_tenant: ClassVar[bool] = False

    def __init__(self, ageing_s: float | None = None) -> None:
        self.ageing_s = ageing_s  # unused: age is part of the formula
        self._order = BatchOrder()
        self._fcfs = FcfsSimulation()
        self._keys: dict[int, tuple[float, ...]] = {}

    def key(self, entry: QueueEntry) -> tuple[float, ...]:
        """The key of the last `rekey`. Newer entries are last in their priority class until the next one."""
        return self._keys.get(entry.id, (entry.rank, np.inf))

    def arrived(self, entry: QueueEntry, now: float) -> None:
        self._order.arrived(now, _run_s(entry))
        self._fcfs.arrived(now, entry.id, entry.share, _run_s(entry))

    def ended(self, workload: int, now: float, ran_s: float | None) -> None:
        """`ran_s` None: it ended before it ran."""
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
        """The share of the cluster that must stay free when it starts."""
        share = np.array([entry.share])
        return float(self._order.needed_share(np.array([_run_s(entry)]), share)[0] - entry.share)


def _run_s(entry: QueueEntry) -> float:
    expected_s = entry.expected_s if entry.expected_s is not None else entry.run_s
    return UNDECLARED_RUN_S if expected_s is None else max(1.0, expected_s)
