"""This machine as a backend with one node: puts the pieces of this package together.

Every method may be repeated. Blocking work (files, starting processes) runs on threads, never in the event loop.
"""

import asyncio
import contextlib
import hashlib
import logging
import os
import shutil
import sys
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from functools import partial
from pathlib import Path

from dovetail.asyncio_tasks import cancel
from dovetail.backends.contract import (
    Assignment,
    Capabilities,
    CommandInput,
    LogChunk,
    MeasuredTask,
    Phase,
    Price,
    Refusal,
    Report,
    Status,
    TerminalSize,
)
from dovetail.backends.local.attachment import attach_to
from dovetail.backends.local.enforcement import Enforcement, find_enforcement
from dovetail.backends.local.execution import execute_in
from dovetail.backends.local.isolation import TaskUsers, find_isolation, usable_uids
from dovetail.backends.local.launch import Launcher
from dovetail.backends.local.machine import measure_capacity, measure_labels, measure_use
from dovetail.backends.local.order import Surroundings, refuse_what_cannot_run, write_order
from dovetail.backends.local.run_folder import LocalRunFolder, RunPhase
from dovetail.backends.local.settings import LocalSettings
from dovetail.backends.local.task_use import TaskMeter
from dovetail.backends.local.watcher import Doorbell, RunWatcher
from dovetail.backends.run_folder import prune, prune_regularly
from dovetail.model.device import devices_of
from dovetail.model.event import NodeJoined, NodeObserved
from dovetail.model.node import Node
from dovetail.model.workloads.workload import WorkloadKind

_log = logging.getLogger(__name__)


class LocalBackend:
    """Implements `Backend`, `ExecutingBackend`, `AttachingBackend` and `MeasuringBackend` of the contract."""

    capabilities = Capabilities(processes=True, gpus=True, logs=True, observes=True, executes=True, attaches=True)

    def __init__(self, name: str, settings: LocalSettings, folder: Path) -> None:
        self.name = name
        self._settings = settings
        self._folder = Path(settings.folder or folder).absolute()
        self._node = settings.node_name()
        self._devices = devices_of(settings.gpus, 0)
        self._around = Surroundings(Enforcement("rlimit"), settings.grace_s, self._devices)
        self._users: TaskUsers | None = None
        self._meter = TaskMeter()
        self._launcher = Launcher(self._folder)
        self._watcher: RunWatcher | None = None
        self._doorbell: Doorbell | None = None
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self, report: Report) -> None:
        if not hasattr(os, "pidfd_open"):
            raise RuntimeError(f"the local backend needs Linux 5.3 or newer, this is {sys.platform}")
        adopted = await asyncio.to_thread(self._prepare)
        self._watcher = RunWatcher(self._launcher, report)
        self._doorbell = Doorbell(self._folder, self._watcher.ring)
        self._doorbell.open()
        await report(NodeJoined(await asyncio.to_thread(self._describe)))
        for run in adopted:
            self._watcher.watch(run)
        self._tasks = [
            asyncio.create_task(self._watcher.run(), name=f"{self.name}: watch"),
            asyncio.create_task(self._observe(report), name=f"{self.name}: observe"),
            asyncio.create_task(prune_regularly(self.name, self._prune), name=f"{self.name}: tidy"),
        ]

    async def nodes(self) -> list[Node]:
        """Raises OSError if nothing can be started: the disk with the run folders is gone or read-only."""
        await asyncio.to_thread(self._launcher.check)
        return [await asyncio.to_thread(self._describe)]

    async def prices(self) -> Mapping[str, Price]:
        return self._settings.prices_of([self._node])

    async def status(self, key: str) -> Status:
        look = await asyncio.to_thread(LocalRunFolder(self._folder, key).look)
        if look.phase is RunPhase.ABSENT:
            raise KeyError(key)
        ended = look.phase in (RunPhase.FINISHED, RunPhase.LOST) or look.refused
        phase = Phase.ENDED if ended else Phase.RUNNING if look.phase is RunPhase.RUNNING else Phase.ACCEPTED
        return Status(phase, look.exit_code, look.reason)

    async def bind(self, assignment: Assignment) -> None:
        refuse_what_cannot_run(assignment, self._node)
        try:
            run = LocalRunFolder(self._folder, assignment.key)
        except ValueError as error:
            raise Refusal(str(error)) from None
        child = await asyncio.to_thread(self._bind, run, assignment)
        self._watching.watch(run, child)

    async def stop(self, key: str, reason: str) -> None:
        await self._stop(key, reason, force=False)

    async def kill(self, key: str, reason: str) -> None:
        await self._stop(key, reason, force=True)

    async def _stop(self, key: str, reason: str, *, force: bool) -> None:
        run = LocalRunFolder(self._folder, key)
        await asyncio.to_thread(partial(run.stop, reason, force=force))
        self._watching.watch(run)

    async def reconcile(self, assignments: list[Assignment]) -> None:
        runs = [LocalRunFolder(self._folder, assignment.key) for assignment in assignments]
        children = await asyncio.to_thread(lambda: [self._adopt(run) for run in runs])
        for run, child in zip(runs, children, strict=True):
            self._watching.watch(run, child)

    async def logs(self, key: str, offset: int, limit: int) -> LogChunk:
        return await asyncio.to_thread(LocalRunFolder.read_output, self._folder, key, offset, limit)

    async def execute(
        self, key: str, command: Sequence[str], given: CommandInput | None = None, terminal: TerminalSize | None = None
    ) -> AsyncGenerator[bytes | int]:
        run = LocalRunFolder(self._folder, key)
        if (await asyncio.to_thread(run.look)).phase is not RunPhase.RUNNING:
            raise KeyError(key)
        async with contextlib.aclosing(
            execute_in(run.path, command, given, terminal, self._launcher.program)
        ) as blocks:
            async for block in blocks:
                yield block

    async def attach(self, key: str, given: CommandInput | None = None) -> AsyncGenerator[bytes | int]:
        run = LocalRunFolder(self._folder, key)
        if (await asyncio.to_thread(run.look)).phase is not RunPhase.RUNNING:
            raise KeyError(key)
        async with contextlib.aclosing(attach_to(run, given)) as blocks:
            async for block in blocks:
                yield block

    async def measure(self) -> Mapping[str, MeasuredTask]:
        return await asyncio.to_thread(self._measure, self._watching.runs())

    def _measure(self, runs: list[LocalRunFolder]) -> dict[str, MeasuredTask]:
        return self._meter.measure(found for run in runs if (found := run.measured()) is not None)

    async def log_tail(self, key: str, lines: int) -> int:
        return await asyncio.to_thread(LocalRunFolder.find_tail, self._folder, key, lines)

    async def log_since(self, key: str, at: float) -> int:
        return await asyncio.to_thread(LocalRunFolder.find_since, self._folder, key, at)

    async def close(self) -> None:
        await cancel(*self._tasks)
        self._tasks = []
        if self._doorbell is not None:
            self._doorbell.close()
        await asyncio.to_thread(self._launcher.reap)

    @property
    def _watching(self) -> RunWatcher:
        if self._watcher is None:
            raise RuntimeError(f"backend {self.name!r} has not been started: call start() first")
        return self._watcher

    def _prepare(self) -> list[LocalRunFolder]:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._launcher.compile()
        self._around = self._find_surroundings()
        left_running = (RunPhase.CLAIMED, RunPhase.RUNNING, RunPhase.LOST)
        unended = [run for run in LocalRunFolder.all_in(self._folder) if run.ended_at() is None]
        adopted = [run for run in unended if run.look().phase in left_running]
        _log.info(
            "backend %s: node %s, runs in %s, limits by %s, isolation %s, %d attempts found again",
            self.name, self._node, self._folder, self._around.enforcement.kind, self._around.isolation.words(),
            len(adopted),
        )  # fmt: skip
        if unenforced := self._around.unenforced():
            words = "; ".join(f"{what}: {why}" for what, why in unenforced.items())
            _log.warning("backend %s: this machine does not enforce everything for commands: %s", self.name, words)
        return adopted

    def _find_surroundings(self) -> Surroundings:
        settings = self._settings
        if settings.limits == "auto":
            owner = hashlib.sha256(str(self._folder.resolve()).encode()).hexdigest()[:12]
            enforcement = find_enforcement(settings.cgroup_parent, owner, processes=settings.processes)
        else:
            enforcement = Enforcement("rlimit", processes=settings.processes)
        hide = [_data_folder(self._folder), self._folder, *map(Path, settings.hide)]
        topmost = [str(path) for path in dict.fromkeys(hide) if not any(other in path.parents for other in hide)]
        isolation = find_isolation(settings, self._launcher.program.with_name("probe.pyc"), topmost)
        self._users = TaskUsers(self._folder, settings, usable_uids(settings)) if isolation.users else None
        folder_limit = settings.folder_limit
        if folder_limit is None:
            folder_limit = shutil.disk_usage(self._folder).total // 4
        return Surroundings(
            enforcement, settings.grace_s, self._devices, isolation, settings.output_limit, folder_limit
        )

    def _describe(self) -> Node:
        return Node(
            name=self._node,
            backend=self.name,
            address=self._settings.address,
            capacity=measure_capacity(self._folder, self._settings.capacity),
            labels=measure_labels() | self._settings.labels | self._around.labels(),
            kinds=[WorkloadKind.JOB],
            gpus=self._settings.gpus,
        )

    def _bind(self, run: LocalRunFolder, assignment: Assignment) -> int | None:
        look = run.look()
        if look.refused:
            raise Refusal(f"attempt {run.key} will not run: {look.reason}")
        if look.phase is RunPhase.ABSENT:
            user = None if self._users is None else self._users.of(assignment.spec.namespace)
            run.order(write_order(assignment, run.path, self._around, user))
        return self._launcher.launch(run)

    def _adopt(self, run: LocalRunFolder) -> int | None:
        """Continue an attempt that was bound. One without a supervisor has not been started: start it now."""
        if run.look().phase is RunPhase.ABSENT:
            run.refuse("lost: no trace of it is left on this machine")
        return self._launcher.launch(run)

    async def _observe(self, report: Report) -> None:
        await asyncio.to_thread(measure_use, self._folder)  # CPU use is measured between two calls
        while True:
            await asyncio.sleep(self._settings.observe_interval_s)
            try:
                await report(NodeObserved(self._node, await asyncio.to_thread(measure_use, self._folder)))
            except Exception:  # a lost measurement does no harm; ending the task would
                _log.exception("cannot report the use of node %s, will try again", self._node)

    def _prune(self) -> int:
        runs = [run for run in LocalRunFolder.all_in(self._folder) if not self._watching.watches(run.key)]
        return prune(self._folder, runs, self._settings.keep_runs, self._settings.keep_for_s, time.time())


def _data_folder(folder: Path) -> Path:
    """The data of the server, which keeps the folder of a backend at `backends/NAME` in it."""
    return folder.parent.parent if folder.parent.name == "backends" else folder
