"""The inbox of the control loop: submissions and events, each with a future that its sender may wait for."""

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from dovetail.control.loop.idempotency import AcceptedSubmission, IdempotencyKey
from dovetail.engine.admission.admission import Ended
from dovetail.model.event import Event
from dovetail.model.record import HistoryLine, RequestTrace, spec_text
from dovetail.model.requests.terms import Terms, terms_json
from dovetail.model.workloads.workload import Workload

#: Hands events to the engine and returns when they are durable.
Apply = Callable[[list[Event]], Awaitable[None]]
#: Hands events to the engine and waits for nothing.
Put = Callable[[list[Event]], None]


@dataclass(frozen=True, slots=True)
class PreparedWorkload:
    """Everything that can be computed of a workload before its turn: a turn takes a large submission whole."""

    spec: Workload
    terms: Terms
    spec_json: str
    terms_json: str

    @staticmethod
    def of(spec: Workload, terms: Terms) -> "PreparedWorkload":
        return PreparedWorkload(spec, terms, spec_text(spec), terms_json(terms))


@dataclass(slots=True)
class PendingSubmission:
    """`ended`: dependencies of these workloads that have ended, as the store knew them. `trace`: of the request."""

    workloads: list[PreparedWorkload]
    key: IdempotencyKey | None
    promise: "asyncio.Future[list[AcceptedSubmission]]"
    ended: Ended = field(default_factory=dict)
    trace: RequestTrace | None = None


@dataclass(slots=True)
class InboxEvents:
    """Events, with the outbox commands that they confirm (kind, key), announcements of nodes (name, JSON; see
    `backends.announcements`), and lines of the history."""

    events: list[Event]
    done: list[tuple[str, str]] = field(default_factory=list)
    promise: "asyncio.Future[None] | None" = None
    announced: list[tuple[str, str]] = field(default_factory=list)
    history: list[HistoryLine] = field(default_factory=list)


Item = TypeVar("Item", PendingSubmission, InboxEvents)


class Inbox:
    """Submissions do not wait for the reports of ten thousand tasks: the two are taken in turns, each in its order.
    Events keep their order among each other: a node must not leave before the task that ended there has."""

    def __init__(self) -> None:
        self._submissions: deque[PendingSubmission] = deque()
        self._events: deque[InboxEvents] = deque()
        self._arrived = asyncio.Event()

    def put(self, item: PendingSubmission | InboxEvents) -> None:
        if isinstance(item, PendingSubmission):
            self._submissions.append(item)
        else:
            self._events.append(item)
        self._arrived.set()

    def taken(self) -> Iterator[PendingSubmission | InboxEvents]:
        """Those that are there now; what is not asked for stays."""
        submissions, events = len(self._submissions), len(self._events)
        while submissions or events:
            if submissions:
                submissions -= 1
                yield self._take(self._submissions)
            if events:
                events -= 1
                yield self._take(self._events)

    def _take(self, lane: deque[Item]) -> Item:
        item = lane.popleft()
        if not len(self):
            self._arrived.clear()
        return item

    async def wait(self, timeout_s: float | None) -> None:
        # Not wait_for: before Python 3.12 that may swallow a cancellation that comes along with an arrival.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._arrived.wait()

    def __len__(self) -> int:
        return len(self._submissions) + len(self._events)
