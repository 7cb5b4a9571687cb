"""A query to a backend for a user who waits, such as the logs of a task.

Guarantees: every failure has a message for that user. `KeyError` means "not found" and passes through; anything else
(out of reach, too slow, starting, breaker open, whatever its client raises) becomes `Unavailable`, without the
secrets of its settings. Queries count for its health but not for its breaker: a failing query says little of commands.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

import structlog

from dovetail.backends.contract import Backend
from dovetail.control.backends.execution import Circuit, said
from dovetail.control.backends.roster import Member
from dovetail.control.errors import Unavailable

T = TypeVar("T")

log = structlog.get_logger()


async def ask(member: Member, call: str, question: Callable[[Backend], Awaitable[T]], timeout_s: float) -> T:
    """Raises Unavailable, or KeyError where the backend does."""
    executor = member.executor
    if executor is None or (executor.circuit is Circuit.OPEN and member.problem) or _has_not_started(member):
        raise Unavailable(f"backend {member.name} cannot be asked now: {member.problem}; try again later")
    began = time.monotonic()
    try:
        async with asyncio.timeout(timeout_s):
            answer = await question(executor.backend)
    except KeyError:
        executor.health.succeeded(call, time.monotonic() - began)
        raise
    except Exception as error:  # a backend's client may raise anything
        took_s = time.monotonic() - began
        words = executor.cleaned(said(error, took_s))
        log.warning("backend call failed", backend=member.name, call=call, error=words)
        executor.health.failed(call, took_s, words)
        raise Unavailable(f"backend {member.name} did not answer: {words}; try again later") from None
    executor.health.succeeded(call, time.monotonic() - began)
    return answer


def _has_not_started(member: Member) -> bool:
    return member.adoption is not None and bool(member.adoption.trouble)
