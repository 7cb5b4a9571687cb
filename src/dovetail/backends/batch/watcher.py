"""Watches the attempts that have not ended and reports their states, in order for each.

One task serves all attempts: every few seconds it asks for their jobs and reads their run folders; `lifecycle` decides
what follows. A report that fails is repeated.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from typing import NamedTuple

from dovetail.backends.batch.driver import BatchFault, JobDriver
from dovetail.backends.batch.lifecycle import JobLifecycle
from dovetail.backends.batch.naming import JobNames
from dovetail.backends.batch.record import BatchRecord, JobId
from dovetail.backends.batch.run_folder import JobRunFolder, JobRunStatus
from dovetail.backends.batch.settings import BatchSettings
from dovetail.backends.batch.watched import WatchedJob
from dovetail.backends.contract import Report
from dovetail.model.resources import Amounts

_log = logging.getLogger(__name__)


class _Asked(NamedTuple):
    """The record for an attempt, and the job that it was asked for."""

    watched: WatchedJob
    job: JobId | None
    record: BatchRecord | None

    @property
    def is_over(self) -> bool:
        return self.record is None or self.record.progress.has_ended


class JobWatcher:
    """`system`: its name in reports. `is_lost`: whether a node takes no jobs and does not return by itself."""

    def __init__(
        self,
        system: str,
        driver: JobDriver,
        report: Report,
        names: JobNames,
        settings: BatchSettings,
        is_lost: Callable[[str], bool],
    ) -> None:
        self._system, self._driver, self._names = system, driver, names
        self._interval_s = settings.jobs_interval_s
        self._watched: dict[str, WatchedJob] = {}
        self._wake = asyncio.Event()
        self._lifecycle = JobLifecycle(system, driver, report, names, settings, is_lost, self._wake.set)

    def watch(self, run: JobRunFolder, look: JobRunStatus) -> None:
        """Watch it from now on, and report again what may have been reported before."""
        order = look.order
        watched = self._watched.get(run.key)
        if watched is None:
            watched = self._watched[run.key] = WatchedJob(run, None, "", {})
        if order is not None:
            watched.job, watched.node, watched.asked = order.batch_job, order.node, order.asked
            watched.in_gang = order.gang is not None
        watched.start_reported, watched.fresh, watched.reported_wait = False, True, ""
        self._wake.set()

    def held(self) -> dict[str, Amounts]:
        """By node, the requests of attempts that hold resources there, as of the last look."""
        found: dict[str, Amounts] = {}
        for watched in self._watched.values():
            if watched.holds:
                amounts = found.setdefault(watched.node, {})
                for name, amount in watched.asked.items():
                    amounts[name] = amounts.get(name, 0) + amount
        return found

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await self._rest()
            try:
                await self._look_at_all()
            except BatchFault as fault:
                _log.warning("cannot ask %s for jobs, will try again: %s", self._system, fault)
            except Exception:  # ending the task would end all reports
                _log.exception("looking at jobs failed, will try again")

    async def look_once(self) -> None:
        """Find out which attempts hold resources. Nothing is reported."""
        await self._ask_about(list(self._watched.values()))

    async def _rest(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._interval_s if self._watched else None):
                await self._wake.wait()
                self._wake.clear()

    async def _look_at_all(self) -> None:
        """The system is asked before the folders are read, so that they show what a job wrote before it ended."""
        asked = await self._ask_about(list(self._watched.values()))
        now_s = time.monotonic()
        due = [one for one in asked if not self._lifecycle.is_quiet(one.watched, one.record, now_s)]
        for one in due:
            one.watched.fresh = False
        looks = await asyncio.to_thread(lambda: [one.watched.run.look(certain=one.is_over) for one in due])
        for (watched, job, record), look in zip(due, looks, strict=True):
            if watched.job != job:  # it got its job meanwhile, which was not asked for yet
                watched.fresh = True
                continue
            try:
                await self._lifecycle.decide(watched, look, record)
            except BatchFault as fault:
                _log.warning("attempt %s: %s; will try again", watched.run.key, fault)
                watched.fresh = True
            except Exception:  # an error with one attempt must not delay the others
                _log.exception("attempt %s: nothing could be reported; will try again", watched.run.key)
                watched.fresh = True
            if watched.over and self._watched.get(watched.run.key) is watched:
                del self._watched[watched.run.key]

    async def _ask_about(self, all_of_them: list[WatchedJob]) -> list[_Asked]:
        """A controller that lost its state reuses ids: a record with another name belongs to another job."""
        jobs = [watched.job for watched in all_of_them]
        ids = {job for job in jobs if job is not None}
        records = await self._driver.find(ids) if ids else {}
        found = []
        for watched, job in zip(all_of_them, jobs, strict=True):
            record = None if job is None else self._names.own(watched.run.key, records.get(job))
            watched.note(record)
            found.append(_Asked(watched, job, record))
        return found
