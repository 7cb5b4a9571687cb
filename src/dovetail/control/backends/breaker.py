"""A circuit breaker: a backend in trouble is left alone, asked now and then, and used again when it answers.

    closed ──── failures, or very slow answers, in a row ────► open ◄──── the trial fails ────────┐
       ▲                                                        │ a probe succeeds                │
       │ any call succeeds in good time                         ▼                                 │
       └──────────────────────────────────────────────────── half-open: one call at a time ───────┘

A call fails because the backend is in trouble, or because it cannot do this one thing: something in what is asked
makes it fail, again and again, and others must not wait for that. The answers look alike (a 500, no answer), so
what counts is whose calls fail. Every call has a subject, the workload it is about; a probe, which changes nothing, has
none.

- Failures of several subjects in a row, or of probes, open it. Where all are of one subject, the backend itself is
  asked: no answer opens it; with an answer the subject is blamed.
- What a blamed subject fails at says nothing about the backend, until a call about it succeeds.
- Half-open, those that had not failed before go first, and one of them that fails opens it again. If all that is left
  to try had failed before and fails again, though the backend answers probes, it closes, and those are blamed.

While open nothing is sent but probes, which come more and more seldom. Who wants to send waits at `enter`. Half-open
with nothing to send closes at once: there is nothing that could be tried. The breaker keeps no commands and makes no
calls itself.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from enum import StrEnum

from dovetail.asyncio_tasks import cancel
from dovetail.model.backoff import Backoff

FAILURES_UNTIL_OPEN = 3
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 10.0

Subject = int | None
"""The id of a workload; None: the backend itself."""


class Circuit(StrEnum):
    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half-open"


class Breaker:
    """`probe` asks the backend something harmless and says whether it answered in good time; `waiting` names the
    subjects of what is to be sent; `changed` is told whether the backend counts as available, and why."""

    def __init__(
        self,
        probe: Callable[[], Awaitable[bool]],
        waiting: Callable[[], Iterable[Subject]],
        changed: Callable[[bool, str], None],
        slow_s: float,
    ) -> None:
        self.circuit = Circuit.CLOSED
        self._probe, self._waiting, self._changed = probe, waiting, changed
        self._slow_s = slow_s
        self._failures = 0
        self._failing: set[Subject] = set()  # whose failures those are; while not closed, of this outage
        self._tried: set[Subject] = set()  # those that had their trial since it is half-open, in vain
        self._blamed: set[Subject] = set()
        self._backoff = Backoff(FIRST_PAUSE_S, LONGEST_PAUSE_S)
        self._trying = False
        self._moved = asyncio.Event()
        self._probing: asyncio.Task[None] | None = None
        self._asking: asyncio.Task[None] | None = None

    def doubts(self, subject: Subject) -> bool:
        """Whether others go first while it is half-open."""
        return self.circuit is not Circuit.CLOSED and (subject in self._failing or subject in self._blamed)

    async def enter(self) -> bool:
        """Returns when a call may be made, and whether that is a trial; whoever was let in says `succeeded`, `failed`
        or `withdrew` afterwards."""
        while True:
            if self.circuit is Circuit.CLOSED:
                return False
            if self.circuit is Circuit.HALF_OPEN and not self._trying:
                self._trying = True
                return True
            self._moved.clear()
            await self._moved.wait()

    def admits(self, trial: bool) -> bool:
        """Whether who was let in, as a trial or not, may still make a call."""
        return self.circuit is Circuit.CLOSED or (trial and self.circuit is Circuit.HALF_OPEN)

    def withdrew(self) -> None:
        """Whoever was let in made no call after all."""
        if self.circuit is Circuit.HALF_OPEN:
            self._next()

    def succeeded(self, subject: Subject, took_s: float) -> None:
        if took_s > self._slow_s:
            self.failed(subject, f"answers take {took_s:.0f} s")
            return
        self._backoff = Backoff(FIRST_PAUSE_S, LONGEST_PAUSE_S)
        self._blamed.discard(subject)
        self._forgive()
        self._close()

    def failed(self, subject: Subject, reason: str) -> None:
        if self.circuit is Circuit.HALF_OPEN:
            self._failed_trial(subject, reason)
        elif subject not in self._blamed:
            self._failures += 1
            self._failing.add(subject)
            if self.circuit is Circuit.CLOSED and self._failures >= FAILURES_UNTIL_OPEN:
                if None in self._failing or len(self._failing) > 1:
                    self._open(reason)
                elif self._asking is None:
                    self._asking = asyncio.create_task(self._ask_itself(subject, reason))

    async def end(self) -> None:
        await cancel(self._probing, self._asking)

    # --- whose fault it is -------------------------------------------------------------------------------------

    async def _ask_itself(self, subject: Subject, reason: str) -> None:
        answers = await self._probe()
        self._asking = None
        if self.circuit is not Circuit.CLOSED or subject not in self._failing:
            return  # that was settled meanwhile
        if answers:
            self._blamed.add(subject)
            self._forgive()
        else:
            self._failing.add(None)
            self._open(reason)

    def _failed_trial(self, subject: Subject, reason: str) -> None:
        if subject is not None and (subject in self._failing or subject in self._blamed):
            self._tried.add(subject)
            self._next()
        else:
            self._failing.add(subject)
            self._open(reason)

    def _forgive(self) -> None:
        self._failures = 0
        self._failing.clear()

    # --- from one state to the next ----------------------------------------------------------------------------

    def _next(self) -> None:
        """The next trial, unless all that is left was tried in vain."""
        if all(subject in self._tried for subject in self._waiting()):
            self._blamed |= self._tried
            self._forgive()
            self._close()
        self._move()

    def _close(self) -> None:
        if self.circuit is not Circuit.CLOSED:
            self.circuit = Circuit.CLOSED
            self._changed(True, "answers again")
            self._move()

    def _open(self, reason: str) -> None:
        if self.circuit is Circuit.CLOSED:
            self._changed(False, reason)
        self.circuit = Circuit.OPEN
        self._move()
        if self._probing is not None:
            self._probing.cancel()
        self._probing = asyncio.create_task(self._ask_now_and_then())

    def _move(self) -> None:
        self._trying = False
        self._moved.set()

    async def _ask_now_and_then(self) -> None:
        while self.circuit is Circuit.OPEN:
            await asyncio.sleep(self._backoff.next_s())
            if await self._probe() and self.circuit is Circuit.OPEN:
                self.circuit = Circuit.HALF_OPEN
                self._tried.clear()
                self._next()
