"""What the rebalancer saw and did last, for every thread of the server."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field

from dovetail.rebalancing.spreading_load import BalancePolicy, BalancingMove
from dovetail.store.subsystem_tables import SubsystemTables

MOVES_KEPT = 100


@dataclass(frozen=True, slots=True)
class DoneMove:
    at: float
    move: BalancingMove


@dataclass(frozen=True, slots=True)
class BalanceReport:
    """`success_rate`: decisions that placed a task, of all; None before the first. `distance`: mean distance between
    tasks that exchange traffic, None if none do."""

    at: float = 0.0
    enabled: bool = False
    every_s: float = 0.0
    policy: BalancePolicy = field(default_factory=BalancePolicy)
    spread: float = 0.0
    deviation: float = 0.0
    distance: float | None = None
    success_rate: float | None = None
    moves_per_hour: float = 0.0
    proposed: tuple[BalancingMove, ...] = ()
    done: tuple[DoneMove, ...] = ()


@dataclass(frozen=True, slots=True)
class LookRequest:
    """A request to look for moves now. `move`: also to make those that pay."""

    move: bool
    seen: "Future[BalanceReport]" = field(default_factory=Future)


class BalanceBoard:
    def __init__(self, _tables: SubsystemTables | None = None) -> None:
        self._lock = threading.Lock()
        self._report = BalanceReport()
        self._take: Callable[[LookRequest], None] | None = None

    @property
    def report(self) -> BalanceReport:
        with self._lock:
            return self._report

    def show(self, report: BalanceReport) -> None:
        with self._lock:
            self._report = report

    def on_request(self, take: Callable[[LookRequest], None]) -> None:
        """`take` is called from any thread, and must not wait."""
        self._take = take

    def look(self, *, move: bool) -> "Future[BalanceReport]":
        """What a look now sees. Where nobody looks, what was seen last."""
        request = LookRequest(move)
        if self._take is None:
            request.seen.set_result(self.report)
        else:
            self._take(request)
        return request.seen
