"""The simulated world on the wall clock, behind the contract of all backends.

One task runs the world and sends every report, so reports of a key are in order and a bind needs no task. Calls never
wait for a report: a caller that also consumes the reports cannot deadlock.

The world lives in this process. `close` and `start` on the same object lose nothing: time goes on meanwhile. A new
process has an empty world, and `reconcile` assumes that every attempt is running and restarts its run time.
"""

import asyncio
import contextlib
import logging
import math
import time
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path

from dovetail.backends.contract import Assignment, Capabilities, LogChunk, Price, Report, Status
from dovetail.backends.simulated.fleet import fleet
from dovetail.backends.simulated.machines import SimulatedMachines
from dovetail.backends.simulated.settings import SimulatedSettings
from dovetail.backends.simulated.world import World
from dovetail.backends.vm_control import MachinePower, MachineSeen, MachineSnapshot, MigrationProgress
from dovetail.model.event import Event
from dovetail.model.node import Node

SLICE = 256  # steps before other tasks of the event loop get their turn
REPORT_RETRY_S = 1.0

_log = logging.getLogger(__name__)


class SimulatedBackend:
    """Implements `Backend`, `MachineControl` and, if the settings say so, `MigratingBackend`."""

    def __init__(self, name: str, settings: SimulatedSettings, _folder: Path | None = None) -> None:
        """It keeps nothing on disk."""
        self.name = name
        self.capabilities = Capabilities(
            processes=True,
            containers=True,
            gpus=True,
            logs=True,
            observes=True,
            machines=True,
            migrate=settings.migrates,
        )
        self._speed = settings.speed
        self._born_monotonic_s = time.monotonic()
        self._born_at = time.time()
        self._fleet = fleet(settings, name)
        self._settings = settings
        self._world = World(settings, self._fleet, self._now())
        first = self._fleet[0].name if self._fleet else ""
        self._machines = SimulatedMachines(self._world, self._now, dict.fromkeys(settings.vms_of_others, first))
        self._undelivered: deque[Event] = deque()  # a report is removed only once it was delivered
        self._task: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()
        self._asleep_until = -math.inf

    async def start(self, report: Report) -> None:
        if self._task is not None:
            raise RuntimeError(f"backend {self.name} is started already; close it first")
        for event in self._world.introduce():
            await report(event)
        self._task = asyncio.create_task(self._run_world(report), name=f"simulated backend {self.name}")

    async def nodes(self) -> list[Node]:
        return list(self._fleet)

    async def prices(self) -> Mapping[str, Price]:
        return self._settings.prices_of(node.name for node in self._fleet)

    async def status(self, key: str) -> Status:
        return self._world.status(key, self._now())

    async def bind(self, assignment: Assignment) -> None:
        now = self._now()
        accepted_at = self._world.bind(assignment, now)
        self._machines.take(assignment)
        self._wake_if_due()
        if accepted_at > now:
            await asyncio.sleep((accepted_at - now) / self._speed)

    async def stop(self, key: str, reason: str) -> None:
        self._world.stop(key, reason, self._now())
        self._wake_if_due()

    async def reconcile(self, assignments: list[Assignment]) -> None:
        self._world.reconcile(assignments, self._now())
        for assignment in assignments:
            self._machines.take(assignment)
        self._wake_if_due()

    async def logs(self, key: str, offset: int, limit: int) -> LogChunk:
        return self._world.logs(key, self._now(), offset, limit)

    async def log_tail(self, key: str, lines: int) -> int:
        starts = [offset for _, offset in self._world.log_lines(key, self._now())]
        return starts[max(0, len(starts) - 1 - lines)]

    async def log_since(self, key: str, at: float) -> int:
        since = self._born_at + (at - self._born_at) * self._speed
        lines = self._world.log_lines(key, self._now())
        return next((offset for written_at, offset in lines if written_at >= since), lines[-1][1])

    async def check_migration(self, key: str, node: str) -> None:
        """Every node takes in every task."""

    async def migrate(self, key: str, node: str) -> None:
        self._world.move(key, node)
        self._machines.moved(key, node)

    async def machines(self, nodes: Sequence[str]) -> list[MachineSeen]:
        asked = set(nodes)
        return [one for one in self._machines.all() if one.node in asked]

    async def set_power(self, key: str, power: MachinePower) -> None:
        self._machines.set_power(key, power)

    async def migration(self, key: str) -> MigrationProgress | None:
        return self._machines.get(key).migration

    async def snapshots(self, key: str) -> list[MachineSnapshot]:
        return list(self._machines.get(key).snapshots.values())

    async def take_snapshot(self, key: str, name: str) -> None:
        self._machines.take_snapshot(key, name)

    async def revert_to_snapshot(self, key: str, name: str) -> None:
        self._machines.revert(key, name)

    async def remove_snapshot(self, key: str, name: str) -> None:
        self._machines.get(key).snapshots.pop(name, None)

    async def offer_for_adoption(self, node: str, name: str) -> MachineSeen:
        return self._machines.offer(node, name)

    async def close(self) -> None:
        player, self._task = self._task, None
        if player is not None:
            player.cancel()
            await asyncio.wait([player])

    def _now(self) -> float:
        """Virtual seconds since the epoch: the wall clock at the beginning, then `speed` times as fast."""
        return self._born_at + (time.monotonic() - self._born_monotonic_s) * self._speed

    def _wake_if_due(self) -> None:
        """Wake the task if something is due before it would wake."""
        if self._world.next_due() < self._asleep_until:
            self._wake.set()

    async def _run_world(self, report: Report) -> None:
        while True:
            self._asleep_until = -math.inf
            self._undelivered.extend(self._world.advance(self._now(), SLICE))
            for _ in range(min(SLICE, len(self._undelivered))):
                await self._deliver(self._undelivered[0], report)
                self._undelivered.popleft()
            await self._sleep_until(-math.inf if self._undelivered else self._world.next_due())

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
        """Reports are repeated rather than lost: a failed one is retried, and the rest waits."""
        while True:
            try:
                await report(event)
            except Exception:
                _log.exception("backend %s could not report %r; trying again", self.name, event)
                await asyncio.sleep(REPORT_RETRY_S)
            else:
                return
