"""One subsystem at work: its queue of steps, its thread, and what happens when it fails or hangs.

    starting ──► running ──── stop ────► stopped
       ▲            │ raises, or hangs: its thread is left to itself
       └── paused ◄─┘ the pause doubles with each failure, and is short again after a calm time

Guarantees: nothing here waits for the subsystem; `feed`, `supervise` and `health` return at once. A thread cannot be
killed: one that hangs is abandoned and takes no more steps when it wakes up. With too many of those alive the subsystem
stays paused. Left to others: calling `supervise` now and then (`host`).
"""

import asyncio
import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import structlog

from dovetail.control.subsystems.contract import DurableStep, Subsystem

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class RunnerLimits:
    most_queued: int = 1000  # steps
    first_pause_s: float = 1.0
    longest_pause_s: float = 60.0
    calm_s: float = 300.0  # after so long without a failure the next pause is a short one
    beat_s: float = 0.5
    stop_s: float = 5.0
    most_abandoned: int = 3


class RunState(StrEnum):
    STARTING = "starting"
    RUNNING = "running"
    PAUSED = "paused"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class SubsystemHealth:
    """`problem`: what went wrong last, while it does not run. `failures` counts errors and hangs, `dropped` steps."""

    name: str
    state: RunState
    problem: str
    failures: int
    hangs: int
    dropped: int
    queued: int


class SubsystemRunner:
    """`build` makes the subsystem, on its thread; it may raise anything and take its time."""

    def __init__(
        self, name: str, build: Callable[[], Subsystem], hang_s: float, limits: RunnerLimits | None = None
    ) -> None:
        self.name = name
        self.steps: deque[DurableStep] = deque()
        self._build, self._hang_s, self._limits = build, hang_s, limits or RunnerLimits()
        self._life: _Life | None = None
        self._abandoned: list[_Life] = []
        self._pause_s = self._limits.first_pause_s
        self._resume_at = 0.0
        self._problem = ""
        self._failures = self._hangs = self._dropped = 0
        self._stopped = False

    def feed(self, step: DurableStep) -> None:
        if self._life is not None and not self._life.hears:
            return
        if len(self.steps) < self._limits.most_queued:
            self.steps.append(step)
            if self._life is not None:
                self._life.wake()
        else:
            if not self._dropped % 1000:
                log.warning("a subsystem is too slow; steps are dropped", subsystem=self.name, queued=len(self.steps))
            self._dropped += 1

    def health(self) -> SubsystemHealth:
        state = RunState.STOPPED if self._stopped else RunState.PAUSED if self._life is None else self._life.state
        counts = (self._failures, self._hangs, self._dropped, len(self.steps))
        return SubsystemHealth(self.name, state, "" if state is RunState.RUNNING else self._problem, *counts)

    def supervise(self) -> None:
        """Start it when that is due; note that it failed or hangs."""
        now, life = time.monotonic(), self._life
        self._abandoned = [one for one in self._abandoned if one.thread.is_alive()]
        if life is None:
            if now >= self._resume_at and len(self._abandoned) < self._limits.most_abandoned:
                self._life = _Life(self.name, self._build, self.steps, self._limits.beat_s)
        elif not life.thread.is_alive():
            self._failed(life, life.error or "ended by itself")
        elif (stuck_s := now - life.alive_at) > self._hang_s:
            self._hangs += 1
            self._abandoned.append(life)
            life.abandon()
            self._failed(life, f"hangs: no progress for {stuck_s:.3g} s")

    def _failed(self, life: "_Life", problem: str) -> None:
        now, limits = time.monotonic(), self._limits
        if now - life.began_at > limits.calm_s:
            self._pause_s = limits.first_pause_s
        log.error("subsystem failed; it starts again", subsystem=self.name, error=problem, pause_s=self._pause_s)
        self._failures += 1
        self._problem = problem
        self._resume_at, self._pause_s = now + self._pause_s, min(2 * self._pause_s, limits.longest_pause_s)
        self._life = None

    def request_stop(self) -> None:
        self._stopped = True
        if self._life is not None:
            self._life.stop()

    def join(self) -> None:
        """Waits, but not for long: what is queued is still taken, and a thread that hangs is left to itself."""
        if self._life is not None:
            self._life.thread.join(self._limits.stop_s)
            if self._life.thread.is_alive():
                log.warning("a subsystem did not stop in time", subsystem=self.name)
                self._life.abandon()


class _Life:
    """One instance of the subsystem on one thread, from its start to its end."""

    def __init__(self, name: str, build: Callable[[], Subsystem], steps: deque[DurableStep], beat_s: float) -> None:
        self.state = RunState.STARTING
        self.error = ""
        self.began_at = self.alive_at = time.monotonic()
        self._build, self._steps, self._beat_s = build, steps, beat_s
        self._abandoned = self._ending = self._asleep = False
        self.hears = True  # until it is built, and is found to have no use for steps
        self._busy = False  # with a step: then its event loop alone is no sign of life
        self._loop: asyncio.AbstractEventLoop | None = None
        self._wakened: asyncio.Event | None = None
        self.thread = threading.Thread(target=self._main, name=f"subsystem {name}", daemon=True)
        self.thread.start()

    # --- on the thread of the control loop ---------------------------------------------------------------------

    def wake(self) -> None:
        """Only one that waits: each call is a system call, and takes the interpreter's lock from this thread."""
        if self._asleep and self._loop is not None and self._wakened is not None:
            self._asleep = False
            with contextlib.suppress(RuntimeError):  # it has just ended
                self._loop.call_soon_threadsafe(self._wakened.set)

    def stop(self) -> None:
        self._ending = self._asleep = True
        self.wake()

    def abandon(self) -> None:
        self._abandoned = True
        self.stop()

    # --- on its own thread -------------------------------------------------------------------------------------

    def _main(self) -> None:
        try:
            asyncio.run(self._live())
        except BaseException as raised:  # whatever it raises ends this life alone
            error = raised.exceptions[0] if isinstance(raised, BaseExceptionGroup) else raised
            self.error = f"{type(error).__name__}: {error}"

    async def _live(self) -> None:
        self._wakened, self._loop = asyncio.Event(), asyncio.get_running_loop()
        beat = asyncio.create_task(self._beat())
        subsystem = await asyncio.to_thread(self._build)
        self.hears = type(subsystem).take is not Subsystem.take
        if not self.hears:
            self._steps.clear()
        try:
            await subsystem.start()
            self.state = RunState.RUNNING
            async with asyncio.TaskGroup() as both:
                own_work = both.create_task(subsystem.run())
                await self._feed(subsystem)
                own_work.cancel()
        finally:
            await subsystem.stop()
            beat.cancel()

    async def _feed(self, subsystem: Subsystem) -> None:
        """Until it is told to stop, and has taken what is queued."""
        assert self._wakened is not None
        while not self._abandoned:
            if self._steps:
                step = self._steps.popleft()
                self.alive_at, self._busy = time.monotonic(), True
                await subsystem.take(step)
                self._busy = False
            elif self._ending:
                return
            else:
                self._wakened.clear()
                self._asleep = True
                if not self._steps and not self._ending:
                    await self._wakened.wait()
                self._asleep = False

    async def _beat(self) -> None:
        while True:
            if not self._busy:
                self.alive_at = time.monotonic()
            await asyncio.sleep(self._beat_s)
