"""Requests that are answered when there is something new."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from fastapi import Request

from dovetail.api.protocol.problems import HttpProblem

LONGEST_WAIT_S = 60.0

T = TypeVar("T")


async def answer_or_closing(request: Request, answer: Coroutine[Any, Any, T]) -> T:
    """The answer, however long it takes. Raises HttpProblem when the server stops before."""
    wait = asyncio.create_task(answer)
    closing = asyncio.create_task(request.app.state.closing.wait())
    try:
        await asyncio.wait({wait, closing}, return_when=asyncio.FIRST_COMPLETED)
        if not wait.done():
            raise HttpProblem(503, "the server is stopping; ask again", headers={"Retry-After": "1"})
        return wait.result()
    finally:
        for task in (wait, closing):
            task.cancel()
