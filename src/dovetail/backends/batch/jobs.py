"""The jobs of attempts: submits a job, finds it again if the reply was lost, and asks for its state.

An attempt's order is written to its run folder before its job is submitted, and again with the job id. An order without
an id belongs to a submission whose outcome is unknown: before it is submitted again, `find` looks for its job in the
run folder and in the batch system.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Generic, NoReturn

from dovetail.backends.batch.bundling import Bundler, S, SharedJob
from dovetail.backends.batch.description import Description
from dovetail.backends.batch.driver import JobDriver, Rejected
from dovetail.backends.batch.ends import End
from dovetail.backends.batch.naming import JobNames
from dovetail.backends.batch.record import CAUSES, BatchRecord, JobId, StartOutlook
from dovetail.backends.batch.run_folder import JobOrder, JobRunFolder, JobRunStatus
from dovetail.backends.contract import Assignment, Refusal
from dovetail.backends.failure_rules import FailureRules
from dovetail.model.failure_cause import FailureCause


@dataclass(frozen=True, slots=True)
class Jobs(Generic[S]):
    """`system`: its name in reports. `submission_errors`: what its rejections mean. `look` returns the nodes as they
    are now."""

    system: str
    submission_errors: FailureRules
    driver: JobDriver
    sending: Bundler[S]
    names: JobNames
    look: Callable[[], Awaitable[Mapping[str, Description]]]

    async def close(self) -> None:
        """Cancel what was not submitted. The caller closes the driver."""
        await self.sending.close()

    async def submit(
        self, assignment: Assignment, alone: S, shared: SharedJob[S] | None, run: JobRunFolder, look: JobRunStatus
    ) -> JobRunStatus:
        """The attempt's state with its job id. Raises Refusal, for ever, if the system rejects the job or would not
        start it there; what passes by itself is no reason to refuse it."""
        order = JobOrder(assignment.node, assignment.spec.resources.amounts(), gang=assignment.gang)
        await asyncio.to_thread(run.order, order)
        try:
            is_gang = shared is not None and shared.size is not None
            job = await self.sending.send(alone, shared, run.key if is_gang else run.task.replica)
        except Rejected as rejected:
            words, rules = str(rejected), self.submission_errors
            await _refuse(run, f"{self.system} does not take it: {rules.advised(words)}", rules.cause(words))
        order = order.as_job(job)
        await asyncio.to_thread(run.order, order)
        if job.element is not None:  # the watcher's next look at all jobs finds out whether it would be started
            return replace(look, order=order)
        record = (await self.driver.find([job])).get(job)
        if record is not None:
            await self._refuse_if_hopeless(assignment.node, run, job, record)
        return replace(look, order=order)

    async def _refuse_if_hopeless(self, node: str, run: JobRunFolder, job: JobId, record: BatchRecord) -> None:
        if record.outlook(node_is_lost=True) is StartOutlook.WAIT:
            return
        there = (await self.look()).get(node)
        outlook = record.outlook(node_is_lost=there is None or there.is_lost)
        if outlook is not StartOutlook.WAIT:
            await asyncio.to_thread(run.stop, record.in_words())
            await self.driver.cancel(job)
            await _refuse(run, f"{self.system} would not start it on {node}: {record.in_words()}", CAUSES[outlook])

    async def find(self, run: JobRunFolder, look: JobRunStatus) -> JobRunStatus:
        """The state with the job id, if it is not known yet and the system or the run folder has it."""
        if look.order is None or look.order.job is not None:
            return look
        job = look.claim.job if look.claim is not None else None
        if job is None:
            found = (self.names.job_of(run.key, record) for record in await self.driver.jobs())
            job = max((one for one in found if one is not None), key=lambda one: one.id, default=None)
        if job is None:
            return look
        order = look.order.as_job(job)
        await asyncio.to_thread(run.order, order)
        return replace(look, order=order)

    async def record(self, key: str, job: JobId) -> BatchRecord | None:
        """The record of the job; None if the id belongs to another job by now."""
        return self.names.own(key, (await self.driver.find([job])).get(job))

    async def cancel(self, run: JobRunFolder, job: JobId) -> None:
        """Cancel it, if the system has it. A job that runs several attempts is cancelled with the last of them: the
        script of each stops it when its run folder says so."""
        record = await self.record(run.key, job)
        if record is not None and await asyncio.to_thread(_all_stop, run.path.parent, record.keys):
            await self.driver.cancel(job)


def _all_stop(folder: Path, keys: tuple[str, ...]) -> bool:
    looks = [JobRunFolder(folder, key).look() for key in keys]
    started = any(look.gang is not None and look.gang.started for look in looks)
    return not started or all(look.stop_reason is not None or look.result is not None for look in looks)


async def _refuse(run: JobRunFolder, why: str, cause: FailureCause) -> NoReturn:
    await asyncio.to_thread(run.stop, why)
    await asyncio.to_thread(run.end, End(None, why, refused=True, cause=cause))
    raise Refusal(why, cause)
