"""The jobs of attempts: submits a job, finds it again if the reply was lost, and asks for its state.

An attempt's order is written to its run folder before its job is submitted, and again with the job id. An order without
an id belongs to a submission whose outcome is unknown: before it is submitted again, `find` looks for its job in the
run folder and in Slurm.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import NoReturn

from dovetail.backends.contract import Assignment, Refusal
from dovetail.backends.slurm.bundling import Bundler
from dovetail.backends.slurm.driver import Driver, JobRecord, JobSubmission, Rejected, SlurmJob
from dovetail.backends.slurm.inventory import Description
from dovetail.backends.slurm.naming import JobNames
from dovetail.backends.slurm.reasons import CAUSES, SUBMISSION_ERRORS, StartOutlook, outlook_of
from dovetail.backends.slurm.request import element_of
from dovetail.backends.slurm.run_folder import JobOrder, JobRunFolder, JobRunStatus
from dovetail.backends.slurm.settings import SlurmSettings
from dovetail.backends.slurm.states import End, in_words
from dovetail.model.failure_cause import FailureCause


class Jobs:
    """`look` returns the nodes as they are now."""

    def __init__(
        self,
        driver: Driver,
        names: JobNames,
        settings: SlurmSettings,
        look: Callable[[], Awaitable[Mapping[str, Description]]],
    ) -> None:
        self._driver, self._names, self._settings, self._look = driver, names, settings, look
        self._sending = Bundler(driver.submit, settings.array_within_s)

    async def close(self) -> None:
        """Cancel what was not submitted. The caller closes the driver."""
        await self._sending.close()

    async def submit(
        self, assignment: Assignment, alone: JobSubmission, run: JobRunFolder, look: JobRunStatus
    ) -> JobRunStatus:
        """The attempt's state with its job id. Similar jobs may be submitted with it as an array. Raises Refusal, for
        ever, if Slurm rejects it or would not start it there; what passes by itself is no reason to refuse it."""
        order = JobOrder(assignment.node, assignment.spec.resources.amounts(), gang=assignment.gang)
        together = None
        if assignment.spec.replicas > 1:
            together = element_of(assignment, alone, self._settings, run.path, self._names.together(run.key))
        await asyncio.to_thread(run.order, order)
        try:
            job = await self._sending.send(alone, together, run.task.replica)
        except Rejected as rejected:
            words = SUBMISSION_ERRORS.advised(str(rejected))
            await _refuse(run, f"Slurm does not take it: {words}", SUBMISSION_ERRORS.cause(words))
        order = order.as_job(job)
        await asyncio.to_thread(run.order, order)
        if job.element is not None:  # the watcher's next look at all jobs finds out whether Slurm would start it
            return replace(look, order=order)
        record = (await self._driver.find([job])).get(job)
        if record is not None:
            await self._refuse_if_hopeless(assignment.node, run, job, record)
        return replace(look, order=order)

    async def _refuse_if_hopeless(self, node: str, run: JobRunFolder, job: SlurmJob, record: JobRecord) -> None:
        if outlook_of(record, node_is_lost=True) is StartOutlook.WAIT:
            return
        there = (await self._look()).get(node)
        outlook = outlook_of(record, node_is_lost=there is None or there.is_lost)
        if outlook is not StartOutlook.WAIT:
            await asyncio.to_thread(run.stop, in_words(record))
            await self._driver.cancel(job)
            await _refuse(run, f"Slurm would not start it on {node}: {in_words(record)}", CAUSES[outlook])

    async def find(self, run: JobRunFolder, look: JobRunStatus) -> JobRunStatus:
        """The state with the job id, if it is not known yet and Slurm or the run folder has it."""
        if look.order is None or look.order.job is not None:
            return look
        job = look.claim.job if look.claim is not None else None
        if job is None:
            found = (self._names.job_of(run.key, record) for record in await self._driver.jobs())
            job = max((one for one in found if one is not None), key=lambda one: one.id, default=None)
        if job is None:
            return look
        order = look.order.as_job(job)
        await asyncio.to_thread(run.order, order)
        return replace(look, order=order)

    async def record(self, key: str, job: SlurmJob) -> JobRecord | None:
        """Slurm's record of the job; None if the id belongs to another job by now."""
        return self._names.own(key, (await self._driver.find([job])).get(job))

    async def cancel(self, key: str, job: SlurmJob) -> None:
        """Cancel it, if Slurm has it."""
        if await self.record(key, job) is not None:
            await self._driver.cancel(job)


async def _refuse(run: JobRunFolder, why: str, cause: FailureCause) -> NoReturn:
    await asyncio.to_thread(run.stop, why)
    await asyncio.to_thread(run.end, End(None, why, refused=True, cause=cause))
    raise Refusal(why, cause)
