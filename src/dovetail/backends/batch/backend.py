"""What backends of batch systems do alike: it puts the pieces of this package together.

Every method may be repeated. Calls about one key are serialized; calls about different keys never wait for each other.
Files are read and written on threads, never in the event loop.
"""

import asyncio
import contextlib
import logging
import secrets
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import ClassVar, Generic, NamedTuple
from weakref import WeakValueDictionary

from dovetail.asyncio_tasks import cancel
from dovetail.backends.batch.announcer import Announcer
from dovetail.backends.batch.bundling import Bundler, S, SharedJob
from dovetail.backends.batch.description import Description
from dovetail.backends.batch.driver import JobDriver
from dovetail.backends.batch.ends import End
from dovetail.backends.batch.jobs import Jobs
from dovetail.backends.batch.naming import JobNames
from dovetail.backends.batch.record import JobProgress
from dovetail.backends.batch.run_folder import JobRunFolder, JobRunStatus
from dovetail.backends.batch.settings import BatchSettings
from dovetail.backends.batch.watcher import JobWatcher
from dovetail.backends.contract import Assignment, Capabilities, LogChunk, Phase, Price, Refusal, Report, Status
from dovetail.backends.failure_rules import FailureRules
from dovetail.backends.run_folder import prune, prune_regularly
from dovetail.model.failure_cause import FailureCause
from dovetail.model.node import Node
from dovetail.model.resources import Amounts
from dovetail.model.workloads.workload import Workload

_log = logging.getLogger(__name__)


class _Parts(NamedTuple, Generic[S]):
    """What exists while the backend is started."""

    driver: JobDriver
    jobs: Jobs[S]
    watcher: JobWatcher
    announcer: Announcer


class BatchBackend(ABC, Generic[S]):
    """Implements `dovetail.backends.contract.Backend`, except for what differs between systems."""

    system: ClassVar[str]
    """Its name in reports."""
    submission_errors: ClassVar[FailureRules]

    def __init__(self, name: str, settings: BatchSettings, folder: Path) -> None:
        self.name = name
        # The system allocates as many GPUs as were chosen, but picks the devices itself.
        self.capabilities = Capabilities(
            processes=True, gpus=True, logs=True, observes=True, gang=True, stale_for_s=settings.jobs_interval_s
        )
        self._common = settings
        self._folder = Path(settings.folder or folder).absolute()
        self._parts: _Parts[S] | None = None
        self._known: dict[str, Description] = {}
        self._names = JobNames("")
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()  # of keys with a call in progress
        self._tasks: list[asyncio.Task[None]] = []

    @abstractmethod
    def _open(self) -> tuple[JobDriver, Callable[[S], Awaitable[int]]]:
        """A new driver, and its call that submits a job and returns its id. That raises Rejected, BatchFault."""

    @abstractmethod
    async def _describe(self, held: Mapping[str, Amounts]) -> dict[str, Description]:
        """The current nodes. `held`: by node, what our tasks that hold a part of it request. Raises BatchFault."""

    @abstractmethod
    def _refuse_what_cannot_run(self, spec: Workload) -> None:
        """Raises Refusal for what no node of the backend can run."""

    @abstractmethod
    def _submission(self, assignment: Assignment, there: Description, run: JobRunFolder) -> S:
        """Its job. Raises Refusal if the node cannot run it."""

    @abstractmethod
    def _shared(self, assignment: Assignment, alone: S, run: JobRunFolder) -> SharedJob[S] | None:
        """How its job may become one with others."""

    async def start(self, report: Report) -> None:
        await self.close()
        found = await asyncio.to_thread(self._prepare)
        driver, submit = self._open()
        watcher = JobWatcher(self.system, driver, report, self._names, self._common, self._is_lost)
        memory = self._folder / "told.json"
        announcer = Announcer(self.system, self._look, report, memory, self._common.nodes_interval_s)
        bundler = Bundler(submit, self._common.array_within_s)
        jobs = Jobs(self.system, self.submission_errors, driver, bundler, self._names, self._recent_look)
        self._parts = _Parts(driver, jobs, watcher, announcer)
        for run, look in found:
            watcher.watch(run, look)
        await watcher.look_once()
        await announcer.introduce(await self._look())
        self._tasks = [
            asyncio.create_task(watcher.run(), name=f"{self.name}: jobs"),
            asyncio.create_task(announcer.run(), name=f"{self.name}: nodes"),
            asyncio.create_task(prune_regularly(self.name, self._prune), name=f"{self.name}: tidy"),
        ]

    async def nodes(self) -> list[Node]:
        return [each.node for each in (await self._look()).values()]

    async def prices(self) -> Mapping[str, Price]:
        return self._common.prices_of(self._known)

    async def status(self, key: str) -> Status:
        look = await asyncio.to_thread(self._run(key).look)
        if look.end is not None:
            return Status(Phase.ENDED, look.end.exit_code, look.end.reason)
        if not look.known:
            raise KeyError(key)
        record = None if look.job is None else await self._started.jobs.record(key, look.job)
        if record is None or record.progress is JobProgress.WAITING:
            return Status(Phase.ACCEPTED, reason=record.in_words() if record is not None else "")
        if look.claim is not None and not look.has_begun:
            return Status(Phase.ACCEPTED, reason="waits for its gang")
        return Status(Phase.RUNNING, reason=record.in_words())

    async def bind(self, assignment: Assignment) -> None:
        self._refuse_what_cannot_run(assignment.spec)
        try:
            run = self._run(assignment.key)
        except ValueError as error:
            raise Refusal(str(error)) from None
        async with self._lock(assignment.key):
            look = await asyncio.to_thread(run.look)
            if look.end is not None and look.end.refused:
                raise Refusal(f"attempt {run.key} will not run: {look.end.reason}", look.end.cause)
            if look.end is None and look.job is None and look.stop_reason is not None:
                await self._end_unstarted(run, look.stop_reason)
                raise Refusal(f"attempt {run.key} will not run: {look.stop_reason}")
            if look.end is None:
                look = await self._started.jobs.find(run, look)
                if look.job is None:
                    look = await self._submit(assignment, run, look)
            self._started.watcher.watch(run, look)

    async def stop(self, key: str, reason: str) -> None:
        run = self._run(key)
        async with self._lock(key):
            look = await asyncio.to_thread(run.look)
            if look.end is None:
                await asyncio.to_thread(run.stop, reason)
                look = await self._started.jobs.find(run, look)
                if look.job is None:
                    await self._end_unstarted(run, reason)
                else:
                    await self._started.jobs.cancel(run, look.job)
            self._started.watcher.watch(run, await asyncio.to_thread(run.look))

    async def reconcile(self, assignments: list[Assignment]) -> None:
        for assignment in assignments:
            run = self._run(assignment.key)
            async with self._lock(run.key):
                look = await asyncio.to_thread(run.look)
                if look.end is None:
                    look = await self._started.jobs.find(run, look)
                if look.end is None and look.job is None:
                    await asyncio.to_thread(run.stop, "lost")
                    words = f"lost: no trace of it is left, neither here nor in {self.system}"
                    await self._end_unstarted(run, words, "")
                    look = await asyncio.to_thread(run.look)
                self._started.watcher.watch(run, look)

    async def logs(self, key: str, offset: int, limit: int) -> LogChunk:
        return await asyncio.to_thread(JobRunFolder.read_output, self._folder, key, offset, limit)

    async def log_tail(self, key: str, lines: int) -> int:
        return await asyncio.to_thread(JobRunFolder.find_tail, self._folder, key, lines)

    async def log_since(self, key: str, at: float) -> None:
        """Nobody records when output was written."""

    async def close(self) -> None:
        await cancel(*self._tasks)
        self._tasks = []
        parts, self._parts = self._parts, None
        if parts is not None:
            await parts.jobs.close()
            await parts.driver.close()

    # --- attempts ------------------------------------------------------------------------------------------------

    def _run(self, key: str) -> JobRunFolder:
        return JobRunFolder(self._folder, key)

    async def _submit(self, assignment: Assignment, run: JobRunFolder, look: JobRunStatus) -> JobRunStatus:
        there = self._known.get(assignment.node)
        if there is None:
            raise Refusal(f"{self.system} has no node {assignment.node!r} for this backend", FailureCause.BACKEND)
        alone = self._submission(assignment, there, run)
        try:
            return await self._started.jobs.submit(assignment, alone, self._shared(assignment, alone, run), run, look)
        except Refusal as refusal:
            if refusal.cause is FailureCause.BACKEND:  # report its node as it is before the task is placed again
                self._started.announcer.look_soon()
            raise

    async def _end_unstarted(self, run: JobRunFolder, reason: str, before: str = "stopped before it started: ") -> None:
        await asyncio.to_thread(run.end, End(None, f"{before}{reason}", refused=True))

    # --- the rest ------------------------------------------------------------------------------------------------

    async def _look(self) -> dict[str, Description]:
        """The current nodes."""
        self._known = await self._describe(self._started.watcher.held())
        return self._known

    async def _recent_look(self) -> dict[str, Description]:
        """Nodes for a job that was just submitted."""
        return await self._look()

    def _is_lost(self, node: str) -> bool:
        """As of the last look."""
        there = self._known.get(node)
        return there is None or there.is_lost

    def _prepare(self) -> list[tuple[JobRunFolder, JobRunStatus]]:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        own = self._folder / "id"
        with contextlib.suppress(FileExistsError), own.open("x") as file:
            file.write(secrets.token_hex(4))
        self._names = JobNames(f"dovetail-{own.read_text().strip()}-")
        looks = [(run, run.look()) for run in JobRunFolder.all_in(self._folder)]
        found = [(run, look) for run, look in looks if look.end is None and look.order is not None]
        _log.info("backend %s: runs in %s, %d attempts found again", self.name, self._folder, len(found))
        return found

    def _lock(self, key: str) -> asyncio.Lock:
        return self._locks.setdefault(key, asyncio.Lock())

    @property
    def _started(self) -> _Parts[S]:
        if self._parts is None:
            raise RuntimeError(f"backend {self.name!r} has not been started: call start() first")
        return self._parts

    def _prune(self) -> int:
        runs = JobRunFolder.all_in(self._folder)
        return prune(self._folder, runs, self._common.keep_runs, self._common.keep_for_s, time.time())
