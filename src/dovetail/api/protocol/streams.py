"""Ends streams when the server stops, so that a client that never hangs up cannot keep the server from stopping.

Whoever runs the server sets `app.state.closing` when it begins to stop; every stream then ends by itself.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import TypeVar

from fastapi import Request

T = TypeVar("T")


def closing_of(request: Request) -> asyncio.Event:
    found = request.app.state.closing
    assert isinstance(found, asyncio.Event)
    return found


async def until_closing(items: AsyncIterator[T], closing: asyncio.Event) -> AsyncIterator[T]:
    """The items as they come, until there are no more or the server closes."""
    closed = asyncio.ensure_future(closing.wait())
    following: asyncio.Future[T] | None = None
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
                waiting.cancel()
                await asyncio.wait({waiting})
