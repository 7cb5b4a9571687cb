"""What follows from a look at one attempt: from the record of its job, and from its run folder.

An end is written to disk before it is reported, so it never changes.

A run that may or may not go on is fenced first: its node failed, or its job was restarted or forgotten. Its run
folder tells its script to stop. The end is reported when the script has stopped, or has had the time to: a node that
cannot see the folder may still run it, and the report says so.

A job that is pending too long on its node, or that would never be started there, is cancelled. It is reported as not
bound when the system has confirmed that it never ran: the task is placed elsewhere, and no failure is counted. A job
that depends on a failed job would be cancelled everywhere: it has failed.
"""

import asyncio
import time
from collections.abc import Callable

from dovetail.backends.batch.driver import JobDriver
from dovetail.backends.batch.ends import End, blamed, end_of_result, not_started
from dovetail.backends.batch.naming import JobNames
from dovetail.backends.batch.record import CAUSES, BatchRecord, JobId, JobProgress, StartOutlook
from dovetail.backends.batch.run_folder import JobRunStatus, RunClaim
from dovetail.backends.batch.settings import BatchSettings
from dovetail.backends.batch.watched import WatchedJob, taken_back
from dovetail.backends.contract import Report
from dovetail.model.event import BindFailed, TaskFinished, TaskStarted, TaskWaiting
from dovetail.model.failure_cause import FailureCause


class JobLifecycle:
    """`system`: its name in reports. `is_lost`: whether a node takes no jobs and does not return by itself.
    `look_soon`: something changed that should be looked at again at once."""

    def __init__(
        self,
        system: str,
        driver: JobDriver,
        report: Report,
        names: JobNames,
        settings: BatchSettings,
        is_lost: Callable[[str], bool],
        look_soon: Callable[[], None],
    ) -> None:
        self._system, self._driver, self._report = system, driver, report
        self._names, self._is_lost, self._look_soon = names, is_lost, look_soon
        self._fence_s = 2 * settings.notice_s + settings.grace_s
        self._patience_s = settings.patience_s

    def is_quiet(self, watched: WatchedJob, record: BatchRecord | None, now_s: float) -> bool:
        """Nothing has changed, and nothing is overdue."""
        outlook = StartOutlook.WAIT if record is None else self._outlook(watched, record)
        return watched.is_quiet(record, outlook, now_s, self._patience_s)

    def _outlook(self, watched: WatchedJob, record: BatchRecord) -> StartOutlook:
        return record.outlook(node_is_lost=self._is_lost(watched.node))

    async def decide(self, watched: WatchedJob, look: JobRunStatus, record: BatchRecord | None) -> None:
        if look.end is not None:
            await self._report_end(watched, look, look.end)
            return
        if watched.job is None:  # its bind is in progress, or its outcome is unknown and the caller repeats it
            return
        if watched.fence is not None:
            await self._continue_fencing(watched, look)
        elif look.claim is not None and look.claim.job is None and look.result is None and watched.may_be_writing():
            return
        elif look.claim is not None and look.claim.job is not None and look.claim.job != watched.job:
            await self._follow(watched, look, record, look.claim.job)
        elif look.broken_start is not None:
            await self._leave_gang(watched, look, record, look.broken_start)
        elif look.claim is not None and not look.has_begun and _is_lost(record, look.claim):
            await self._break_gang(watched, record)
        elif record is None:
            await self._forgotten(watched, look)
        else:
            await self._decide_by_record(watched, look, record)

    async def _decide_by_record(self, watched: WatchedJob, look: JobRunStatus, record: BatchRecord) -> None:
        assert watched.job is not None
        progress = record.progress
        if look.claim is not None and record.restarts > look.claim.restarts and progress is not JobProgress.OVER:
            await self._driver.cancel(watched.job)
            again = f"{self._system} began the job anew ({record.in_words()}, restart {record.restarts})"
            await self._fence(watched, look, f"lost: {again}")
        elif progress is JobProgress.LOST and look.claim is not None:
            await self._fence(watched, look, f"{record.in_words()}: lost with node {look.claim.node or watched.node}")
        elif progress is JobProgress.ENDED_UNSAID and look.claim is not None and look.result is None:
            await self._fence(watched, look, f"{record.in_words()}: lost: its script did not say how it ended")
        elif progress.has_ended:
            await self._over(watched, look, record)
        elif record.keys and look.result is not None:  # the others of its gang run on
            await self._end(watched, look, end_of_result(look.result, look.stop_reason, record.in_words()))
        elif progress is JobProgress.RUNNING and look.claim is not None and not look.has_begun:
            await self._hold(watched, look)
        elif progress is JobProgress.RUNNING and look.claim is not None:
            watched.restarts = look.claim.restarts
            await self._report_started(watched)
        elif progress is JobProgress.WAITING and (look.stop_reason is None or watched.taken_back is not None):
            await self._wait(watched, record)

    async def _follow(self, watched: WatchedJob, look: JobRunStatus, surplus: BatchRecord | None, job: JobId) -> None:
        """The submission without a reply is the one that runs; the later job has found that out and ended."""
        assert look.order is not None
        assert watched.job is not None
        await asyncio.to_thread(watched.run.order, look.order.as_job(job))
        later, watched.job = watched.job, job
        if surplus is not None:
            await self._driver.cancel(later)
        self._look_soon()

    async def _forgotten(self, watched: WatchedJob, look: JobRunStatus) -> None:
        assert watched.job is not None
        recorded = self._names.own(watched.run.key, await self._driver.recorded(watched.job))
        if recorded is not None and recorded.progress is JobProgress.OVER:
            await self._over(watched, look, recorded)
        elif look.result is not None:
            await self._end(watched, look, end_of_result(look.result, look.stop_reason))
        elif look.claim is not None:
            await self._fence(watched, look, f"lost: {self._system} has no job {watched.job} any more")
        elif watched.taken_back is not None:  # an array element that never started leaves no record
            await self._end(watched, look, watched.taken_back)
        else:
            words = f"{self._system} has no job {watched.job}, and nothing was started"
            before, stopped = "stopped before it started", look.stop_reason
            await asyncio.to_thread(watched.run.stop, f"{self._system} had forgotten its job")
            if stopped is not None:
                await self._end(watched, look, End(None, f"{before}: {stopped}: {words}"))
            else:  # a controller that is killed forgets what was submitted in its last seconds
                await self._end(watched, look, not_started(f"lost: {words}", FailureCause.BACKEND))

    async def _wait(self, watched: WatchedJob, record: BatchRecord) -> None:
        assert watched.job is not None
        if watched.taken_back is None:
            now_s, outlook = time.monotonic(), self._outlook(watched, record)
            if not watched.gives_up(record, outlook, now_s, self._patience_s):
                why = watched.wait_to_report(record, now_s)
                if why:
                    await self._report_waiting(watched, f"in {self._system} on {watched.node}: {why}", why)
                return
            watched.taken_back = taken_back(
                record, self._system, watched.node, watched.waited_s(now_s), CAUSES[outlook]
            )
            await asyncio.to_thread(watched.run.stop, watched.taken_back.reason)
        await self._driver.cancel(watched.job)

    async def _over(self, watched: WatchedJob, look: JobRunStatus, record: BatchRecord) -> None:
        end = record.end(
            claimed=look.claim is not None,
            result=look.result,
            stop_reason=look.stop_reason,
            folder=str(watched.run.path.parent),
        )
        if look.claim is None:  # in case it is restarted after all
            await asyncio.to_thread(watched.run.stop, end.reason)
            if watched.taken_back is not None and end.exit_code is None:
                end = watched.taken_back
        await self._end(watched, look, end)

    # --- gangs ---------------------------------------------------------------------------------------------------

    async def _hold(self, watched: WatchedJob, look: JobRunStatus) -> None:
        """Its script waits for the others."""
        assert look.gang is not None
        why = look.gang.in_words()
        if watched.is_held_long(time.monotonic()) and why != watched.reported_wait:
            await self._report_waiting(watched, f"on {watched.node} for its gang: {why}", why)

    async def _break_gang(self, watched: WatchedJob, record: BatchRecord | None) -> None:
        """Its node failed, or its job was restarted or forgotten, before its gang began. The next look sees
        whether the gang is broken, or began at the same moment."""
        said = f"{self._system} has forgotten its job" if record is None else record.in_words()
        why = f"lost on {watched.node} before it began: {said}"
        watched.taken_back = not_started(why, FailureCause.BACKEND)
        await asyncio.to_thread(watched.run.stop, why)
        watched.fresh = True
        self._look_soon()

    async def _leave_gang(
        self, watched: WatchedJob, look: JobRunStatus, record: BatchRecord | None, broken: str
    ) -> None:
        """Its gang will not begin, and so its script never does, wherever it is: there is nothing to fence."""
        assert watched.job is not None
        if watched.taken_back is None and look.stop_reason is None:
            watched.taken_back = not_started(f"its gang did not start: {broken}", FailureCause.BACKEND)
            await asyncio.to_thread(watched.run.stop, watched.taken_back.reason)
        if record is not None and record.progress in (JobProgress.WAITING, JobProgress.RUNNING):
            await self._driver.cancel(watched.job)
        else:
            stopped = End(None, f"stopped before it started: {look.stop_reason}")
            await self._end(watched, look, watched.taken_back or stopped)

    # --- fencing -------------------------------------------------------------------------------------------------

    async def _fence(self, watched: WatchedJob, look: JobRunStatus, why: str) -> None:
        stopped = f"stopped: {look.stop_reason}; " if look.stop_reason is not None else ""
        await asyncio.to_thread(watched.run.stop, why)
        watched.fence, watched.fenced_at_s = f"{stopped}{why}", time.monotonic()
        await self._continue_fencing(watched, look)

    async def _continue_fencing(self, watched: WatchedJob, look: JobRunStatus) -> None:
        if look.result is not None:
            await self._end(watched, look, End(None, f"{watched.fence}; what ran there has ended"))
        elif time.monotonic() >= watched.fenced_at_s + self._fence_s:
            said = f"it may still run there until {self._system} ends it"
            words = f"it was told to stop and did not say that it has: {said}"
            await self._end(watched, look, End(None, f"{watched.fence}; {words}"))

    # --- reports -------------------------------------------------------------------------------------------------

    async def _end(self, watched: WatchedJob, look: JobRunStatus, end: End) -> None:
        watched.holds, end = False, blamed(end)
        await asyncio.to_thread(watched.run.end, end)
        await self._report_end(watched, look, end)

    async def _report_started(self, watched: WatchedJob) -> None:
        if not watched.start_reported:
            await self._report(TaskStarted(watched.run.task, watched.run.key))
            watched.start_reported = True

    async def _report_waiting(self, watched: WatchedJob, words: str, why: str) -> None:
        limit = "" if self._patience_s is None else f"; placed again if that takes {self._patience_s:.0f} s"
        await self._report(TaskWaiting(watched.run.task, watched.run.key, f"waits {words}{limit}"))
        watched.reported_wait = why

    async def _report_end(self, watched: WatchedJob, look: JobRunStatus, end: End) -> None:
        if look.has_begun:
            await self._report_started(watched)
        task, key = watched.run.task, watched.run.key
        if end.taken_back:
            await self._report(BindFailed(task, key, end.reason, end.cause))
        else:
            await self._report(TaskFinished(task, key, end.exit_code, end.reason, end.cause))
        watched.over = True


def _is_lost(record: BatchRecord | None, claim: RunClaim) -> bool:
    """Whether what the claim belongs to may be gone."""
    lost = (JobProgress.LOST, JobProgress.ENDED_UNSAID)
    return record is None or record.restarts > claim.restarts or record.progress in lost
