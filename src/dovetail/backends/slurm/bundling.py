"""Submits jobs to Slurm: replicas of one workload that are bound at about the same time become one array.

An array costs Slurm one submission and is one line in its queue. Its elements differ only in their index, which is the
number of the replica. So only jobs for the same place are bundled: one partition if Slurm chooses the node, one node if
Dovetail does. A single job is submitted on its own.

Guarantees: every caller gets the job of its attempt, or the error. If Slurm rejects the array (an index above its
MaxArraySize, a limit that only some elements exceed), each job is submitted on its own.

"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

from dovetail.backends.slurm.arrays import listed
from dovetail.backends.slurm.driver import Rejected
from dovetail.backends.slurm.records import JobSubmission, SlurmJob


@dataclass(slots=True)
class _Bundle:
    together: JobSubmission
    alone: dict[int, JobSubmission] = field(default_factory=dict)
    waiting: dict[int, asyncio.Future[SlurmJob]] = field(default_factory=dict)


class Bundler:
    """`submit` returns the id of a new job. A bundle is submitted `within_s` after its first job; 0: no bundles."""

    def __init__(self, submit: Callable[[JobSubmission], Awaitable[int]], within_s: float) -> None:
        self._submit, self._within_s = submit, within_s
        self._open: list[_Bundle] = []
        self._sending: set[asyncio.Task[None]] = set()

    async def send(self, alone: JobSubmission, together: JobSubmission | None, element: int) -> SlurmJob:
        """`together`: the same job as an array element; None if there are no others. Raises Rejected, SlurmFault."""
        if together is None or not self._within_s:
            return SlurmJob(await self._submit(alone))
        for bundle in self._open:
            if bundle.together == together and element not in bundle.alone:
                break
        else:
            bundle = _Bundle(together)
            self._open.append(bundle)
            task = asyncio.create_task(self._send_soon(bundle))
            self._sending.add(task)
            task.add_done_callback(self._sending.discard)
        bundle.alone[element] = alone
        future: asyncio.Future[SlurmJob] = asyncio.get_running_loop().create_future()
        bundle.waiting[element] = future
        return await future

    async def close(self) -> None:
        """Cancel what was not submitted. A job that was submitted meanwhile is found by its name."""
        tasks = list(self._sending)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for bundle in self._open:  # a task that is cancelled before it began has not cancelled its futures
            for future in bundle.waiting.values():
                future.cancel()

    async def _send_soon(self, bundle: _Bundle) -> None:
        try:
            await asyncio.sleep(self._within_s)
            self._open.remove(bundle)
            # Callers that were cancelled meanwhile get no job.
            elements = [element for element, future in bundle.waiting.items() if not future.done()]
            if len(elements) > 1:
                await self._send_array(bundle, elements)
            else:
                await self._send_each(bundle, elements)
        except asyncio.CancelledError:
            for future in bundle.waiting.values():
                future.cancel()
            raise
        except Exception as error:
            for future in bundle.waiting.values():
                if not future.done():
                    future.set_exception(error)

    async def _send_array(self, bundle: _Bundle, elements: list[int]) -> None:
        try:
            array = await self._submit(replace(bundle.together, array=listed(elements)))
        except Rejected:
            await self._send_each(bundle, elements)
            return
        for element in elements:
            if not bundle.waiting[element].done():
                bundle.waiting[element].set_result(SlurmJob(array, element))

    async def _send_each(self, bundle: _Bundle, elements: list[int]) -> None:
        sent = await asyncio.gather(*(self._submit(bundle.alone[one]) for one in elements), return_exceptions=True)
        for element, outcome in zip(elements, sent, strict=True):
            future = bundle.waiting[element]
            if future.done():
                continue
            if isinstance(outcome, BaseException):
                future.set_exception(outcome)
            else:
                future.set_result(SlurmJob(outcome))
