"""What waits for the loop's next turn: submissions and news, each with the promise to whoever brought it."""

import asyncio
from collections import deque
from dataclasses import dataclass, field

from dovetail.model.event import Event
from dovetail.model.workload import Workload


@dataclass(frozen=True, slots=True)
class Accepted:
    id: int
    namespace: str
    name: str


@dataclass(slots=True)
class Submission:
    specs: list[Workload]
    idempotency_key: str | None
    promise: "asyncio.Future[list[Accepted]]"


@dataclass(slots=True)
class News:
    """Events, and with them commands of the outbox that are done (kind, key)."""

    events: list[Event]
    done: list[tuple[str, str]] = field(default_factory=list)
    promise: "asyncio.Future[None] | None" = None


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
        try:
            await asyncio.wait_for(self._arrived.wait(), timeout_s)
        except TimeoutError:
            return

    def __len__(self) -> int:
        return len(self._items)
