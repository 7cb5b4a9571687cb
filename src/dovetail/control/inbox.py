"""What waits for the loop's next turn: submissions and news, each with the promise to whoever brought it."""

import asyncio
import contextlib
from collections import deque
from dataclasses import dataclass, field

from dovetail.engine.lifecycle.dependencies import Ended
from dovetail.model.event import Event
from dovetail.model.workloads.workload import Workload


@dataclass(frozen=True, slots=True)
class Accepted:
    id: int
    namespace: str
    name: str


@dataclass(slots=True)
class Submission:
    """`ended`: workloads that these wait for and that have ended, as the store knew them."""

    specs: list[Workload]
    idempotency_key: str | None
    promise: "asyncio.Future[list[Accepted]]"
    ended: Ended = field(default_factory=dict)


@dataclass(slots=True)
class News:
    """Events, and with them commands of the outbox that are done (kind, key), and what a backend said of nodes (name,
    JSON; see `announcements`)."""

    events: list[Event]
    done: list[tuple[str, str]] = field(default_factory=list)
    promise: "asyncio.Future[None] | None" = None
    announced: list[tuple[str, str]] = field(default_factory=list)


class Inbox:
    def __init__(self) -> None:
        self._items: deque[Submission | News] = deque()
        self._arrived = asyncio.Event()

    def put(self, item: Submission | News) -> None:
        self._items.append(item)
        self._arrived.set()

    def take(self, most: int) -> list[Submission | News]:
        taken = [self._items.popleft() for _ in range(min(most, len(self._items)))]
        if not self._items:
            self._arrived.clear()
        return taken

    async def wait(self, timeout_s: float | None) -> None:
        # Not wait_for: before Python 3.12 that may swallow a cancellation that comes along with an arrival.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._arrived.wait()

    def __len__(self) -> int:
        return len(self._items)
