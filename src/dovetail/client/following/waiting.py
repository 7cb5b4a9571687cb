"""Waiting for workloads to end. `Waiting` has no clock and asks nobody, so that both clients can use it."""

import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from dovetail.client.calls.workloads import WorkloadCalls

if TYPE_CHECKING:
    from dovetail.responses.workloads import WorkloadDetail

ENDED = frozenset({"succeeded", "failed", "cancelled"})
_FIRST_PAUSE_S = 0.05
_LONGEST_PAUSE_S = 2.0


class Waiting:
    """What is known about the workloads that somebody waits for. `left`: those that have not ended."""

    def __init__(self, refs: Iterable[str | int], timeout_s: float | None, now: float) -> None:
        from dovetail.model.backoff import Backoff

        self.refs = list(refs)
        self.left = list(dict.fromkeys(self.refs))
        self._found: dict[str | int, WorkloadDetail] = {}
        self._timeout_s = timeout_s
        self._begun = now
        self._backoff = Backoff(_FIRST_PAUSE_S, _LONGEST_PAUSE_S, factor=1.3)

    def take(self, rows: "Iterable[WorkloadDetail]") -> None:
        """The answers about `left`, in its order."""
        self._found.update(zip(self.left, rows, strict=True))
        self.left = [ref for ref in self.left if self._found[ref]["state"] not in ENDED]

    def pause_s(self, now: float) -> float:
        """How long to pause before asking again. Raises TimeoutError if the time is over."""
        pause_s = self._backoff.next_s()
        if self._timeout_s is None:
            return pause_s
        remaining_s = self._begun + self._timeout_s - now
        if remaining_s <= 0:
            words = ", ".join(f"{self._found[ref]['name']} is {self._found[ref]['state']}" for ref in self.left[:3])
            words += f" and {len(self.left) - 3} more have not ended" if len(self.left) > 3 else ""
            raise TimeoutError(f"after {self._timeout_s:g} s: {words}")
        return min(pause_s, remaining_s)

    def rows(self) -> "list[WorkloadDetail]":
        """When `left` is empty: the last answer about each, in the order given."""
        return [self._found[ref] for ref in self.refs]


class WaitCalls(WorkloadCalls):
    def wait(
        self,
        *refs: str | int,
        namespace: str | None = None,
        timeout_s: float | None = None,
        told: "Callable[[WorkloadDetail], None] | None" = None,
    ) -> "list[WorkloadDetail]":
        """The workloads when all have ended, in the order given. `told` is called with each answer on the way.

        Raises TimeoutError after `timeout_s`; the work goes on.
        """
        waiting = Waiting(refs, timeout_s, time.monotonic())
        while True:
            rows = [self.workload(ref, namespace) for ref in waiting.left]
            if told is not None:
                for row in rows:
                    told(row)
            waiting.take(rows)
            if not waiting.left:
                return waiting.rows()
            time.sleep(waiting.pause_s(time.monotonic()))
