"""Submits jobs to Slurm: replicas of one workload that are bound at about the same time become one array.

An array costs Slurm one submission and is one line in its queue. Its elements differ only in their index, which is the
number of the replica. So only jobs for the same place are bundled: one partition if Slurm chooses the node, one node if
Dovetail does. A single job is submitted on its own.

Guarantees: every caller gets the job of its attempt, or the error. If Slurm rejects the array (an index above its
MaxArraySize, a limit that only some elements exceed), each job is submitted on its own.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

from dovetail.backends.slurm.driver import JobSubmission, Rejected, SlurmJob
from dovetail.backends.slurm.naming import listed


@dataclass(slots=True)
class _Bundle:
    together: JobSubmission
    alone: dict[int, JobSubmission] = field(default_factory=dict)
    sending: asyncio.Task[dict[int, SlurmJob | BaseException]] = field(init=False)  # what became of each element


class Bundler:
    """`submit` returns the id of a new job. A bundle is submitted `within_s` after its first job; 0: no bundles."""

    def __init__(self, submit: Callable[[JobSubmission], Awaitable[int]], within_s: float) -> None:
        self._submit, self._within_s = submit, within_s
        self._open: list[_Bundle] = []
        self._sending: set[asyncio.Task[dict[int, SlurmJob | BaseException]]] = set()

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
            bundle.sending = asyncio.create_task(self._send_soon(bundle))
            self._sending.add(bundle.sending)
            bundle.sending.add_done_callback(self._sending.discard)
        bundle.alone[element] = alone
        try:
            outcome = (await asyncio.shield(bundle.sending))[element]
        except asyncio.CancelledError:
            bundle.alone.pop(element, None)  # a caller that is cancelled in time gets no job
            raise
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    async def close(self) -> None:
        """Cancel what was not submitted. A job that was submitted meanwhile is found by its name."""
        tasks = list(self._sending)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _send_soon(self, bundle: _Bundle) -> dict[int, SlurmJob | BaseException]:
        await asyncio.sleep(self._within_s)
        self._open.remove(bundle)
        alone = dict(bundle.alone)
        if len(alone) > 1:
            with contextlib.suppress(Rejected):
                array = await self._submit(replace(bundle.together, array=listed(alone)))
                return {element: SlurmJob(array, element) for element in alone}
        sent = await asyncio.gather(*map(self._submit, alone.values()), return_exceptions=True)
        return {
            element: outcome if isinstance(outcome, BaseException) else SlurmJob(outcome)
            for element, outcome in zip(alone, sent, strict=True)
        }
