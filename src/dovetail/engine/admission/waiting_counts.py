"""How many workloads wait in each queue, kept up to date from what each step changed.

Guarantees: a count is a lookup, however many wait; a queue counts those of its children. A workload counts while any
of its tasks is pending, also where it waits for another workload or for a retry. Left to others: refusing more than a
queue takes (`queueing.quota`, `admission`).
"""

from collections.abc import Iterable

from dovetail.engine.state.engine_state import EngineState
from dovetail.engine.state.work import Work
from dovetail.model.record import WorkloadRecord


class WaitingCounts:
    def __init__(self, state: EngineState) -> None:
        """Counts what waits now."""
        self._state = state
        self._queue_of: dict[int, int] = {}
        self._counts = [0] * len(state.router.queues)
        for work in state.work.values():
            if work.waiting or work.delayed:
                self._join(work)

    def joined(self, workload: int) -> None:
        """A live workload waits from now on."""
        self._join(self._state.work[workload])

    def _join(self, work: Work) -> None:
        if work.id not in self._queue_of:
            self._queue_of[work.id] = work.queue
            self._add(work.queue, 1)

    def update(self, records: Iterable[WorkloadRecord]) -> None:
        """Workloads changed in one step."""
        for record in records:
            if not record.pending:
                queue = self._queue_of.pop(record.id, None)
                if queue is not None:
                    self._add(queue, -1)
            elif record.id not in self._queue_of and record.id in self._state.work:
                self.joined(record.id)

    def waiting(self, queue: int) -> int:
        return self._counts[queue]

    def _add(self, queue: int, number: int) -> None:
        for level in self._state.router.queues[queue].lineage:
            self._counts[level] += number
