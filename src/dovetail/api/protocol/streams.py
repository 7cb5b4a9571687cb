"""What holds for all answers that go on: output of tasks, and events as they happen.

Streams end when the server stops, so that a client that never hangs up cannot keep it from stopping: whoever runs the
server sets `app.state.closing`, and every stream that goes through `until_closing` ends by itself. Each client address
may have a bounded number of them open, so that nobody can starve the others.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TypeVar

from fastapi import Request

from dovetail.api.protocol.problems import RETRY_AFTER_S, HttpProblem

T = TypeVar("T")


class StreamLimit:
    """How many streams each client address has open, and may have."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._open: Counter[str] = Counter()

    def check(self, address: str) -> None:
        """Raises if this address has as many streams as it may have."""
        if self._open[address] >= self._most:
            words = f"{address} has {self._most} streams open, and may not have more (limits.max_streams)"
            raise HttpProblem(429, f"{words}; close some", headers={"Retry-After": str(RETRY_AFTER_S)})

    @contextmanager
    def counted(self, address: str) -> Iterator[None]:
        self._open[address] += 1
        try:
            yield
        finally:
            self._open[address] -= 1
            if not self._open[address]:
                del self._open[address]


def until_closing(request: Request, items: AsyncGenerator[T, None]) -> AsyncGenerator[T, None]:
    """The items as they come, until there are no more or the server closes. Raises HttpProblem if the client has too
    many streams open."""
    limit: StreamLimit = request.app.state.streams
    address = request.client.host if request.client else ""
    limit.check(address)
    return _until_closing(request.app.state.closing, items, limit.counted(address))


async def _until_closing(
    closing: asyncio.Event, items: AsyncGenerator[T, None], counted: AbstractContextManager[None]
) -> AsyncGenerator[T, None]:
    closed = asyncio.ensure_future(closing.wait())
    following: asyncio.Future[T] | None = None
    with counted:
        try:
            while True:
                following = asyncio.ensure_future(anext(items))
                await asyncio.wait({following, closed}, return_when=asyncio.FIRST_COMPLETED)
                if not following.done():
                    return
                try:
                    item = following.result()
                except StopAsyncIteration:
                    return
                yield item
        finally:
            for waiting in (closed, following):
                if waiting is not None and not waiting.done():
                    waiting.cancel()  # inside of `items` this closes what it uses
                    await asyncio.wait({waiting})
            await items.aclose()
