"""The simulated world on the wall clock, behind the contract of all backends.

One task plays everything and makes every report, so reports of a key are in order and binding costs no task of its
own. Calls never wait for a report: a caller who also empties the queue of reports cannot lock itself up.

The world lives in this process. `close` and `start` on the same object lose nothing: time has gone on meanwhile. A new
process finds an empty world, and `reconcile` takes every attempt it is told of to be running, with its run time begun
anew; the time it had run before the restart is not known to anybody.
"""

import asyncio
import contextlib
import logging
import math
import time
from collections import deque
from collections.abc import Callable, Mapping

from dovetail.backends.contract import Assignment, Capabilities, LogChunk, Price, Report, Status
from dovetail.backends.simulated.fleet import fleet
from dovetail.backends.simulated.settings import SimulatedSettings
from dovetail.backends.simulated.world import World
from dovetail.model.event import Event
from dovetail.model.node import Node

SLICE = 256  # things played before others on the event loop get their turn
REPORT_RETRY_S = 1.0

_log = logging.getLogger(__name__)


class SimulatedBackend:
    """Implements `dovetail.backends.contract.Backend`."""

    capabilities = Capabilities(processes=True, containers=True, gpus=True, logs=True, observes=True)

    def __init__(
        self, name: str, settings: SimulatedSettings, monotonic_s: Callable[[], float] = time.monotonic
    ) -> None:
        self.name = name
        self._speed = settings.speed
        self._monotonic_s = monotonic_s
        self._born_monotonic_s = monotonic_s()
        self._born_at = time.time()
        self._fleet = fleet(settings, name)
        self._settings = settings
        self._world = World(settings, self._fleet, self._now())
        self._unsaid: deque[Event] = deque()  # a report leaves here only when it was delivered, whatever is cancelled
        self._player: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()
        self._asleep_until = -math.inf

    async def start(self, report: Report) -> None:
        if self._player is not None:
            raise RuntimeError(f"backend {self.name} is started already; close it first")
        for event in self._world.introduce():
            await report(event)
        self._player = asyncio.create_task(self._play(report), name=f"simulated backend {self.name}")

    async def nodes(self) -> list[Node]:
        return list(self._fleet)

    async def prices(self) -> Mapping[str, Price]:
        return self._settings.prices_of(node.name for node in self._fleet)

    async def status(self, key: str) -> Status:
        return self._world.status(key, self._now())

    async def bind(self, assignment: Assignment) -> None:
        now = self._now()
        accepted_at = self._world.bind(assignment, now)
        self._stir()
        if accepted_at > now:
            await asyncio.sleep((accepted_at - now) / self._speed)

    async def stop(self, key: str, reason: str) -> None:
        self._world.stop(key, reason, self._now())
        self._stir()

    async def reconcile(self, assignments: list[Assignment]) -> None:
        self._world.reconcile(assignments, self._now())
        self._stir()

    async def logs(self, key: str, offset: int, limit: int) -> LogChunk:
        return self._world.logs(key, self._now(), offset, limit)

    async def close(self) -> None:
        player, self._player = self._player, None
        if player is not None:
            player.cancel()
            await asyncio.wait([player])

    def _now(self) -> float:
        """Virtual seconds since the epoch: the wall clock at the beginning, `speed` times as fast from then on."""
        return self._born_at + (self._monotonic_s() - self._born_monotonic_s) * self._speed

    def _stir(self) -> None:
        """Wake the player if something is due before the moment it sleeps until."""
        if self._world.next_due() < self._asleep_until:
            self._wake.set()

    async def _play(self, report: Report) -> None:
        while True:
            self._asleep_until = -math.inf
            self._unsaid.extend(self._world.advance(self._now(), SLICE))
            for _ in range(min(SLICE, len(self._unsaid))):
                await self._deliver(self._unsaid[0], report)
                self._unsaid.popleft()
            await self._sleep_until(-math.inf if self._unsaid else self._world.next_due())

    async def _sleep_until(self, due: float) -> None:
        wait_s = (due - self._now()) / self._speed
        if wait_s <= 0:
            await asyncio.sleep(0)
            return
        self._wake.clear()
        self._asleep_until = due
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(None if math.isinf(wait_s) else wait_s):
                await self._wake.wait()

    async def _deliver(self, event: Event, report: Report) -> None:
        """Reports are repeated rather than lost: what cannot be delivered is tried again, and the rest waits."""
        while True:
            try:
                await report(event)
            except Exception:
                _log.exception("backend %s could not report %r; trying again", self.name, event)
                await asyncio.sleep(REPORT_RETRY_S)
            else:
                return
