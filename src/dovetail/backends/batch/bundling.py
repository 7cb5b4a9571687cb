"""Submits jobs: those that are bound at about the same time, and may share one job, become one.

Replicas of one workload for the same place become an array, whose elements differ only in their index, the number of
the replica. It costs the system one submission and is one line in its queue. Where a system starts a gang as one job,
its members become one. A job that is alone is submitted on its own.

Guarantees: every caller gets the job of its attempt, or the error. If the system rejects the shared job (an index above
its limit, a limit that only some elements exceed), or a gang is not complete in time, each job is submitted on its own.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from dovetail.asyncio_tasks import cancel
from dovetail.backends.batch.driver import BatchSubmission, Rejected
from dovetail.backends.batch.naming import listed
from dovetail.backends.batch.record import JobId

S = TypeVar("S", bound=BatchSubmission)
GANG_WITHIN_S = 2.0  # the members of a gang are bound one after the other, a limited number at a time
Member = int | str  # the index of an element, or the key of a gang's member
Outcomes = dict[Member, JobId | BaseException]


def all_together(members: Collection[Member]) -> list[list[Member]]:
    return [list(members)]


def in_ranges(members: Collection[Member]) -> list[list[Member]]:
    """For systems whose arrays are ranges."""
    found: list[list[Member]] = []
    last = -2
    for element in sorted(map(int, members)):
        if element == last + 1:
            found[-1].append(element)
        else:
            found.append([element])
        last = element
    return found


@dataclass(frozen=True, slots=True)
class SharedJob(Generic[S]):
    """How several jobs become one. `identity`: jobs with an equal one may share. `split`: which of them do. `size`: how
    many a gang has; None: it is an array, of any number."""

    identity: object
    join: Callable[[Mapping[Member, S]], S] = field(compare=False)
    split: Callable[[Collection[Member]], list[list[Member]]] = field(default=all_together, compare=False)
    size: int | None = None


def array_of(together: S, split: Callable[[Collection[Member]], list[list[Member]]] = all_together) -> SharedJob[S]:
    """`together`: the job as an array element, the same for all that may share the array."""
    return SharedJob(together, lambda members: replace(together, array=listed(map(int, members))), split)


@dataclass(slots=True)
class _Bundle(Generic[S]):
    shared: SharedJob[S]
    alone: dict[Member, S] = field(default_factory=dict)
    complete: asyncio.Event = field(default_factory=asyncio.Event)
    sending: asyncio.Task[Outcomes] = field(init=False)


class Bundler(Generic[S]):
    """`submit` returns the id of a new job. An array is submitted `within_s` after its first job; 0: no arrays."""

    def __init__(self, submit: Callable[[S], Awaitable[int]], within_s: float) -> None:
        self._submit, self._within_s = submit, within_s
        self._open: list[_Bundle[S]] = []
        self._sending: set[asyncio.Task[Outcomes]] = set()

    async def send(self, alone: S, shared: SharedJob[S] | None, member: Member) -> JobId:
        """`shared`: how it may become one job with others; None if there are no others. Raises Rejected, BatchFault."""
        if shared is None or (shared.size is None and not self._within_s):
            return JobId(await self._submit(alone))
        for bundle in self._open:
            if bundle.shared == shared and member not in bundle.alone:
                break
        else:
            bundle = _Bundle(shared)
            self._open.append(bundle)
            bundle.sending = asyncio.create_task(self._send_soon(bundle))
            self._sending.add(bundle.sending)
            bundle.sending.add_done_callback(self._sending.discard)
        bundle.alone[member] = alone
        if len(bundle.alone) == shared.size:
            bundle.complete.set()
        try:
            outcome = (await asyncio.shield(bundle.sending))[member]
        except asyncio.CancelledError:
            bundle.alone.pop(member, None)  # a caller that is cancelled in time gets no job
            raise
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    async def close(self) -> None:
        """Cancel what was not submitted. A job that was submitted meanwhile is found by its name."""
        await cancel(*self._sending)

    async def _send_soon(self, bundle: _Bundle[S]) -> Outcomes:
        shared = bundle.shared
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._within_s if shared.size is None else GANG_WITHIN_S):
                await bundle.complete.wait()
        self._open.remove(bundle)
        waiting = dict(bundle.alone)
        if shared.size is not None and len(waiting) != shared.size:
            return await self._send_each(waiting)
        parts = [{member: waiting[member] for member in part} for part in shared.split(waiting)]
        sent: Outcomes = {}
        for outcomes in await asyncio.gather(*(self._send_part(shared, part) for part in parts)):
            sent |= outcomes
        return sent

    async def _send_part(self, shared: SharedJob[S], part: dict[Member, S]) -> Outcomes:
        if len(part) > 1:
            try:
                job = await self._submit(shared.join(part))
            except Rejected:
                pass
            except Exception as error:
                return dict.fromkeys(part, error)
            else:
                return {member: JobId(job, int(member) if shared.size is None else None) for member in part}
        return await self._send_each(part)

    async def _send_each(self, alone: dict[Member, S]) -> Outcomes:
        sent = await asyncio.gather(*map(self._submit, alone.values()), return_exceptions=True)
        return {
            member: outcome if isinstance(outcome, BaseException) else JobId(outcome)
            for member, outcome in zip(alone, sent, strict=True)
        }
