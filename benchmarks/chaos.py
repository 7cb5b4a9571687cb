"""One backend in trouble beside others under load: what the others' decisions feel of it, and what an audit finds.

Each backend is in turn slow (30 s a call), failing (half of all calls), lying (forgets, repeats, reorders) and silent,
while a steady stream of work goes to all of them. A decision's latency is the time from the submission until the bind
reaches its backend. Each round has a time with the trouble and one without, and the figure is the median of the rounds'
ratios of the others' p99. Each backend has two rounds, one of which begins with the trouble: the database grows, which
would otherwise count as trouble. What a trouble leaves behind (calls to repeat, reports that come late) is in neither.
"""

import asyncio
import logging
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from random import Random

import structlog

from benchmarks.harness import Bench, Measured, at_most, benchmark
from benchmarks.measuring import middle, once, quantile, quiet
from dovetail.backends import registry
from dovetail.backends.contract import Backend
from dovetail.backends.registry import BackendKind
from dovetail.backends.simulated.backend import SimulatedBackend
from dovetail.backends.simulated.settings import SimulatedSettings
from dovetail.cli.program.loop import server_runner
from dovetail.control.loop.garbage import ServerCollector
from dovetail.control.plane import WARM_UP_AFTER_S, ControlPlane
from dovetail.control.settings import Settings
from dovetail.model.command import task_of_key
from dovetail.model.workloads.workload import Workload
from dovetail.testing.faulty_backend import Fault, FaultyBackend

BACKENDS = ("east", "west", "north", "south")
FAULTS = [fault for fault in Fault if fault is not Fault.NONE]
P99 = {fault: at_most(f"chaos.{fault.value}.p99", 1.1, "×") for fault in FAULTS}
AUDIT = {fault: at_most(f"chaos.{fault.value}.audit", 0.0, "faults") for fault in FAULTS}
PER_SECOND, TIME_S, RECOVERY_S = 100, 8.0, 2.0
WARM_UP_S = WARM_UP_AFTER_S + 3.0  # by then a server has loaded its solvers
ROUNDS = 2 * len(BACKENDS)
ENDS_WITHIN_S = 180.0


class _Trial:
    def __init__(self, folder: Path) -> None:
        self.made: dict[str, FaultyBackend] = {}
        registry.KINDS["faulty"] = BackendKind(SimulatedSettings, self._build)
        entries = {
            name: {"kind": "faulty", "groups": [{"count": 50, "prefix": name, "capacity": {"cpu": 64}}]}
            for name in BACKENDS
        }
        given = {"data": str(folder), "backends": entries, "logging": {"level": "error"}, "loop": {"relist": "2s"}}
        self.plane = ControlPlane(Settings.model_validate(given), ServerCollector())
        self.submitted: dict[int, float] = {}
        self._number = 0

    def _build(self, name: str, given: SimulatedSettings, _folder: Path) -> Backend:
        self.made[name] = FaultyBackend(SimulatedBackend(name, given), Random(name))
        return self.made[name]

    async def load(self, seconds: float) -> dict[str, list[float]]:
        """Submit at a steady rate; the latencies of decisions by backend, in milliseconds."""
        pending = set[asyncio.Task[None]]()
        began, ids = time.monotonic(), dict[int, str]()  # the event loop's own time is in whole milliseconds

        async def submit(backend: str) -> None:
            self._number += 1
            spec = Workload.model_validate(
                {
                    "name": f"job-{self._number}",
                    "backends": {"allow": [backend]},
                    "resources": {"cpu": "100m"},
                    "retries": 20,
                    "run": {"simulate": {"run_time": "200ms"}},
                }
            )
            at = time.monotonic()
            (accepted,) = await self.plane.submit([spec])
            self.submitted[accepted.id] = at
            ids[accepted.id] = backend

        for number in range(int(PER_SECOND * seconds)):
            await asyncio.sleep(max(0.0, began + number / PER_SECOND - time.monotonic()))
            pending.add(asyncio.create_task(submit(BACKENDS[number % len(BACKENDS)])))
        await asyncio.gather(*pending)
        await asyncio.sleep(0.5)
        found: dict[str, list[float]] = {name: [] for name in BACKENDS}
        for name, backend in self.made.items():
            for key, at in backend.bound_at.items():
                task = task_of_key(key)
                if ids.get(task.workload) == name and key.endswith(".1"):
                    found[name].append((at - self.submitted[task.workload]) * 1000)
        return found

    async def settle(self) -> bool:
        """Whether all work ends in time."""
        try:
            async with asyncio.timeout(ENDS_WITHIN_S):
                while any(id_ in self.plane.questions.workloads for id_ in self.submitted):  # noqa: ASYNC110
                    await asyncio.sleep(0.1)
        except TimeoutError:
            return False
        return True

    def faults_found(self) -> int:
        """Work that was lost, run twice at a time, or runs and nobody knows of it."""
        truths = [backend.truth for backend in self.made.values()]
        lost = len(self.submitted) - len(set().union(*(truth.succeeded() for truth in truths)))
        rows = [self.plane.store.workload(id_) for id_ in self.submitted]
        failed = sum(1 for row in rows if row is None or row["state"] != "succeeded")
        return lost + failed + sum(len(truth.orphans()) + len(truth.doubled()) for truth in truths)


def _say_nothing() -> None:
    """Thousands of calls fail here, and each would be a line of the log."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))


@benchmark(*P99.values(), *AUDIT.values())
def chaos(_: Bench) -> Iterator[tuple[str, Measured]]:
    for fault in FAULTS:
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:  # what one trial leaves would count for the next
            well, ill, faults = pool.submit(_run, fault).result()
        ratios = [beside / before for before, beside in zip(well, ill, strict=True)]
        yield P99[fault].name, middle(ratios, "rounds")
        yield AUDIT[fault].name, once(faults, "lost, doubled and orphaned work after the trouble")


def _run(fault: Fault) -> tuple[list[float], list[float], int]:
    _say_nothing()
    with tempfile.TemporaryDirectory() as folder, quiet(), server_runner() as runner:
        return runner.run(_trial(Path(folder), fault))


async def _trial(folder: Path, fault: Fault) -> tuple[list[float], list[float], int]:
    """The p99 of the others in rounds without and with the trouble, and what the audit finds."""
    trial = _Trial(folder)
    await trial.plane.start()
    try:
        await trial.load(WARM_UP_S)
        p99: tuple[list[float], list[float]] = [], []
        for number in range(ROUNDS):
            bad, times = BACKENDS[number % len(BACKENDS)], [Fault.NONE, fault]
            for now in times if number < len(BACKENDS) else reversed(times):
                await trial.made[bad].become(now)
                found = await trial.load(TIME_S)
                others = [one for name in BACKENDS if name != bad for one in found[name]]
                p99[now is fault].append(quantile(others, 0.99))
                if now is fault:
                    await trial.made[bad].become(Fault.NONE)
                    await trial.load(RECOVERY_S)
            print(f"  {fault}: {bad}: p99 of the others {p99[0][-1]:.1f} ms, beside it {p99[1][-1]:.1f} ms")
        done = await trial.settle()
        return *p99, trial.faults_found() if done else len(trial.submitted)
    finally:
        await trial.plane.stop()
