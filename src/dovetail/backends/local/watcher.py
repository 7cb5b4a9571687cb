"""Watches the unfinished attempts and reports their states, in order for each attempt.

One task serves all attempts: it looks at a run folder when its doorbell rings, and at all of them every second, in case
a ring was lost or a supervisor was killed. It repeats a report that fails, and watches an attempt until its end was
reported.
"""

import asyncio
import logging
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dovetail.backends.contract import Report
from dovetail.backends.local.failures import FAILURES
from dovetail.backends.local.launch import Launcher
from dovetail.backends.local.run_folder import LocalRunFolder, RunPhase, RunStatus
from dovetail.backends.local.supervisor.run_files import DOORBELL
from dovetail.model.event import TaskFinished, TaskStarted

LOOK_INTERVAL_S = 1.0
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class WatchedRun:
    run: LocalRunFolder
    child: int | None = None  # the pid of the supervisor that this process started for it
    start_reported: bool = False


class RunWatcher:
    def __init__(self, launcher: Launcher, report: Report) -> None:
        self._launcher = launcher
        self._report = report
        self._watched: dict[str, WatchedRun] = {}
        self._due: set[str] = set()
        self._wake = asyncio.Event()

    def watch(self, run: LocalRunFolder, child: int | None = None) -> None:
        """Watch it from now on, and report again what may have been reported before."""
        watched = self._watched.setdefault(run.key, WatchedRun(run))
        watched.child = child or watched.child
        watched.start_reported = False
        self.ring([run.key])

    def ring(self, keys: list[str]) -> None:
        self._due.update(keys)
        self._wake.set()

    def runs(self) -> list[LocalRunFolder]:
        """Those that have not ended, as far as is known."""
        return [watched.run for watched in self._watched.values()]

    def watches(self, key: str) -> bool:
        return key in self._watched

    async def run(self) -> None:
        """Until cancelled."""
        loop = asyncio.get_running_loop()
        look_at_all = loop.time()
        while True:
            try:
                async with asyncio.timeout_at(look_at_all):
                    await self._wake.wait()
            except TimeoutError:
                self._due.update(self._watched)
                look_at_all = loop.time() + LOOK_INTERVAL_S
            self._wake.clear()
            due = [self._watched[key] for key in self._due if key in self._watched]
            self._due.clear()
            for watched, look in await asyncio.to_thread(self._look_at, due):
                try:
                    await self._report_status(watched, look)
                except Exception:  # an error of the receiver must not end the watching; the next look reports again
                    _log.exception("report about attempt %s failed; it will be made again", watched.run.key)

    def _look_at(self, due: list[WatchedRun]) -> list[tuple[WatchedRun, RunStatus]]:
        self._launcher.reap()
        found = []
        for watched in due:
            try:
                found.append((watched, self._look(watched)))
            except OSError as error:
                _log.error("cannot look at attempt %s, will try again: %s", watched.run.key, error)
        return found

    def _look(self, watched: WatchedRun) -> RunStatus:
        # Checked before looking, so that the look sees what the supervisor wrote before it ended.
        ended = watched.child is not None and not self._launcher.is_running(watched.child)
        look = watched.run.look()
        if look.phase is RunPhase.LOST:
            return watched.run.end_lost()
        if look.phase is RunPhase.ORDERED and ended:
            said = watched.run.supervisor_log()
            watched.run.refuse(f"lost: its supervisor could not start{': ' + said if said else ''}")
            return watched.run.look()
        return look

    async def _report_status(self, watched: WatchedRun, look: RunStatus) -> None:
        run = watched.run
        if look.phase in (RunPhase.RUNNING, RunPhase.FINISHED) and not watched.start_reported:
            if look.phase is RunPhase.RUNNING or run.was_started():
                await self._report(TaskStarted(run.task, run.key))
            watched.start_reported = True
        if look.phase is RunPhase.FINISHED:
            words, cause = FAILURES.advised(look.reason), FAILURES.cause(look.reason)
            await self._report(TaskFinished(run.task, run.key, look.exit_code, words, cause))
            if self._watched.get(run.key) is watched and run.key not in self._due:
                del self._watched[run.key]


class Doorbell:
    """A named pipe through which supervisors, also those of an earlier start, ask the backend to look at their folder.

    A ring is a hint: it may be repeated or lost (no listener, pipe full).
    """

    def __init__(self, folder: Path, ring: Callable[[list[str]], None]) -> None:
        self._path = folder / DOORBELL
        self._ring = ring
        self._file: int | None = None
        self._rest = b""

    def open(self) -> None:
        """Needs a running event loop."""
        if not self._path.exists() or not stat.S_ISFIFO(self._path.stat().st_mode):
            self._path.unlink(missing_ok=True)
            os.mkfifo(self._path, 0o600)
        # Open for reading and writing: it then never reports end of file when the last supervisor closes it.
        self._file = os.open(self._path, os.O_RDWR | os.O_NONBLOCK)
        asyncio.get_running_loop().add_reader(self._file, self._read)

    def close(self) -> None:
        if self._file is not None:
            asyncio.get_running_loop().remove_reader(self._file)
            os.close(self._file)
            self._file = None

    def _read(self) -> None:
        assert self._file is not None
        try:
            received = os.read(self._file, 65536)
        except BlockingIOError:
            return
        *keys, self._rest = (self._rest + received).split(b"\n")
        self._ring([key.decode(errors="replace") for key in keys])
