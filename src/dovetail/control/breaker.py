"""A circuit breaker: a backend in trouble is left alone, asked now and then, and used again when it answers.

    closed ──── several failures, or very slow answers, in a row ────► open ◄──── the trial fails ──┐
       ▲                                                                │ a probe succeeds          │
       │ any call succeeds in good time                                 ▼                           │
       └─────────────────────────────────────────────────────────── half-open: one call at a time ──┘

While open nothing is sent but probes, which change nothing at the backend and come more and more seldom. What waits to
be sent waits at `enter`. Half-open with nothing to send closes at once: there is nothing that could be tried. The
breaker keeps no commands and makes no calls itself.
"""

import asyncio
from collections.abc import Awaitable, Callable
from enum import StrEnum

FAILURES_UNTIL_OPEN = 3
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 10.0


class Circuit(StrEnum):
    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half-open"


class Breaker:
    """`probe` asks the backend something harmless and says whether it answered in good time; `idle` says whether
    nothing waits to be sent; `changed` is told whether the backend counts as available, and why."""

    def __init__(
        self,
        probe: Callable[[], Awaitable[bool]],
        idle: Callable[[], bool],
        changed: Callable[[bool, str], None],
        slow_s: float,
    ) -> None:
        self.circuit = Circuit.CLOSED
        self._probe, self._idle, self._changed = probe, idle, changed
        self._slow_s = slow_s
        self._failures = 0
        self._pause_s = FIRST_PAUSE_S
        self._trying = False
        self._moved = asyncio.Event()
        self._probing: asyncio.Task[None] | None = None

    async def enter(self) -> None:
        """Returns when a call may be made; whoever was let in says `succeeded` or `failed` afterwards."""
        while True:
            if self.circuit is Circuit.CLOSED:
                return
            if self.circuit is Circuit.HALF_OPEN and not self._trying:
                self._trying = True
                return
            self._moved.clear()
            await self._moved.wait()

    def withdrew(self) -> None:
        """Whoever was let in made no call after all."""
        if self.circuit is Circuit.HALF_OPEN:
            self._move()

    def succeeded(self, took_s: float) -> None:
        if took_s > self._slow_s:
            self.failed(f"answers take {took_s:.0f} s")
            return
        self._failures = 0
        self._close()

    def failed(self, reason: str) -> None:
        self._failures += 1
        if self.circuit is Circuit.HALF_OPEN or self._failures >= FAILURES_UNTIL_OPEN:
            self._open(reason)

    async def end(self) -> None:
        if self._probing is not None:
            self._probing.cancel()
            await asyncio.gather(self._probing, return_exceptions=True)

    def _close(self) -> None:
        if self.circuit is not Circuit.CLOSED:
            self.circuit = Circuit.CLOSED
            self._pause_s = FIRST_PAUSE_S
            self._changed(True, "answers again")
            self._move()

    def _open(self, reason: str) -> None:
        if self.circuit is Circuit.CLOSED:
            self._changed(False, reason)
        if self.circuit is not Circuit.OPEN:
            self.circuit = Circuit.OPEN
            self._move()
            self._probing = asyncio.create_task(self._ask_now_and_then())

    def _move(self) -> None:
        self._trying = False
        self._moved.set()

    async def _ask_now_and_then(self) -> None:
        while self.circuit is Circuit.OPEN:
            await asyncio.sleep(self._pause_s)
            self._pause_s = min(2 * self._pause_s, LONGEST_PAUSE_S)
            if await self._probe() and self.circuit is Circuit.OPEN:
                self.circuit = Circuit.HALF_OPEN
                if self._idle():
                    self._failures = 0
                    self._close()
                self._move()
