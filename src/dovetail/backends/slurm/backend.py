"""A Slurm cluster as a backend: puts the pieces of this package together.

Every method may be repeated. Calls about one key are serialized; calls about different keys never wait for each other.
Files are read and written on threads, never in the event loop.
"""

import asyncio
import contextlib
import logging
import secrets
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple
from weakref import WeakValueDictionary

from dovetail.backends.contract import Assignment, Capabilities, LogChunk, Phase, Price, Refusal, Report, Status
from dovetail.backends.run_folder import prune, prune_regularly
from dovetail.backends.slurm.announcer import Announcer
from dovetail.backends.slurm.driver import Driver, JobSubmission, SlurmReservation
from dovetail.backends.slurm.inventory import Description, Survey, labels_by_node
from dovetail.backends.slurm.jobs import Jobs
from dovetail.backends.slurm.naming import JobNames
from dovetail.backends.slurm.request import job_of, refuse_what_cannot_run, refuse_what_takes_too_long
from dovetail.backends.slurm.run_folder import JobRunFolder, JobRunStatus
from dovetail.backends.slurm.settings import SlurmSettings
from dovetail.backends.slurm.states import End, JobProgress, in_words, progress_of
from dovetail.backends.slurm.watcher import JobWatcher
from dovetail.model.failure_cause import FailureCause
from dovetail.model.node import Node

_log = logging.getLogger(__name__)


class _Parts(NamedTuple):
    """What exists while the backend is started."""

    driver: Driver
    jobs: Jobs
    watcher: JobWatcher
    announcer: Announcer


class SlurmBackend:
    """Implements `dovetail.backends.contract.Backend`."""

    def __init__(self, name: str, settings: SlurmSettings, folder: Path) -> None:
        self.name = name
        # Slurm allocates as many GPUs of each model as were chosen, but picks the devices itself.
        self.capabilities = Capabilities(
            processes=True, gpus=True, logs=True, observes=True, gang=True, stale_for_s=settings.jobs_interval_s
        )
        self._settings = settings
        self._folder = Path(settings.folder or folder).absolute()
        self._parts: _Parts | None = None
        self._places: dict[str, dict[str, str]] = {}
        self._reservations: list[SlurmReservation] = []
        self._known: dict[str, Description] = {}
        self._names = JobNames("")
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()  # of keys with a call in progress
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self, report: Report) -> None:
        await self.close()
        found = await asyncio.to_thread(self._prepare)
        driver = _driver(self._settings)
        watcher = JobWatcher(driver, report, self._names, self._settings, self._is_lost)
        announcer = Announcer(self._look, report, self._folder / "told.json", self._settings.nodes_interval_s)
        self._parts = _Parts(driver, Jobs(driver, self._names, self._settings, self._look), watcher, announcer)
        for run, look in found:
            watcher.watch(run, look)
        await watcher.look_once()
        self._places = labels_by_node(await driver.topology())
        await announcer.introduce(await self._look())
        self._tasks = [
            asyncio.create_task(watcher.run(), name=f"{self.name}: jobs"),
            asyncio.create_task(announcer.run(), name=f"{self.name}: nodes"),
            asyncio.create_task(prune_regularly(self.name, self._prune), name=f"{self.name}: tidy"),
        ]

    async def nodes(self) -> list[Node]:
        return [each.node for each in (await self._look()).values()]

    async def prices(self) -> Mapping[str, Price]:
        return self._settings.prices_of(self._known)

    async def status(self, key: str) -> Status:
        look = await asyncio.to_thread(self._run(key).look)
        if look.end is not None:
            return Status(Phase.ENDED, look.end.exit_code, look.end.reason)
        if not look.known:
            raise KeyError(key)
        record = None if look.job is None else await self._started.jobs.record(key, look.job)
        if record is None or progress_of(record) is JobProgress.WAITING:
            return Status(Phase.ACCEPTED, reason=in_words(record) if record is not None else "")
        if look.claim is not None and not look.has_begun:
            return Status(Phase.ACCEPTED, reason="waits for its gang")
        return Status(Phase.RUNNING, reason=in_words(record))

    async def bind(self, assignment: Assignment) -> None:
        refuse_what_cannot_run(assignment.spec)
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
                    await self._started.jobs.cancel(key, look.job)
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
                    await self._end_unstarted(run, "lost: no trace of it is left, neither here nor in Slurm", "")
                    look = await asyncio.to_thread(run.look)
                self._started.watcher.watch(run, look)

    async def logs(self, key: str, offset: int, limit: int) -> LogChunk:
        return await asyncio.to_thread(JobRunFolder.read_output, self._folder, key, offset, limit)

    async def log_tail(self, key: str, lines: int) -> int:
        return await asyncio.to_thread(JobRunFolder.find_tail, self._folder, key, lines)

    async def log_since(self, key: str, at: float) -> None:
        """Slurm does not record when output was written."""

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []
        parts, self._parts = self._parts, None
        if parts is not None:
            await parts.jobs.close()
            await parts.driver.close()

    # --- attempts ------------------------------------------------------------------------------------------------

    def _run(self, key: str) -> JobRunFolder:
        return JobRunFolder(self._folder, key)

    async def _submit(self, assignment: Assignment, run: JobRunFolder, look: JobRunStatus) -> JobRunStatus:
        submission = self._submission(assignment, run)
        try:
            return await self._started.jobs.submit(assignment, submission, run, look)
        except Refusal as refusal:
            if refusal.cause is FailureCause.BACKEND:  # report its node as it is before the task is placed again
                self._started.announcer.look_soon()
            raise

    def _submission(self, assignment: Assignment, run: JobRunFolder) -> JobSubmission:
        """Raises Refusal if the node cannot run it."""
        there = self._known.get(assignment.node)
        if there is None:
            raise Refusal(f"Slurm has no node {assignment.node!r} for this backend", FailureCause.BACKEND)
        refuse_what_takes_too_long(assignment.spec, there, self._reservations, self._settings, time.time())
        return job_of(assignment, there, self._settings, run.path, self._names.alone(run.key))

    async def _end_unstarted(self, run: JobRunFolder, reason: str, before: str = "stopped before it started: ") -> None:
        await asyncio.to_thread(run.end, End(None, f"{before}{reason}", refused=True))

    # --- the rest ------------------------------------------------------------------------------------------------

    async def _look(self) -> dict[str, Description]:
        """The current nodes."""
        driver = self._started.driver
        asked = (
            asyncio.ensure_future(driver.nodes()),
            asyncio.ensure_future(driver.partitions()),
            asyncio.ensure_future(driver.reservations()),
        )
        try:
            nodes, partitions, reservations = await asyncio.gather(*asked)
        finally:  # if one fails or the caller is cancelled, the others end first
            for one in asked:
                one.cancel()
            await asyncio.gather(*asked, return_exceptions=True)
        self._reservations = reservations
        held = self._started.watcher.held()
        survey = Survey(self._settings, self.name, time.time(), nodes, partitions, reservations, self._places, held)
        self._known = await asyncio.to_thread(survey.describe)
        return self._known

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
    def _started(self) -> _Parts:
        if self._parts is None:
            raise RuntimeError(f"backend {self.name!r} has not been started: call start() first")
        return self._parts

    def _prune(self) -> int:
        runs = JobRunFolder.all_in(self._folder)
        return prune(self._folder, runs, self._settings.keep_runs, self._settings.keep_for_s, time.time())


def _driver(settings: SlurmSettings) -> Driver:
    if settings.url is not None:
        from dovetail.backends.slurm.rest import RestDriver

        return RestDriver(settings)
    from dovetail.backends.slurm.cli import CliDriver

    return CliDriver(settings)
