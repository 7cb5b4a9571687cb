"""Waiting for what goes on beside a test, on a machine that may be busy with ten other things.

Patience costs nothing where what is waited for comes; it is not a bound on how long things may take.
"""

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

PATIENCE_S = 60.0

T = TypeVar("T")


async def until(holds: Callable[[], bool], what: str, every_s: float = 0.01) -> None:
    gives_up_at = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > gives_up_at:
            raise AssertionError(f"waited {PATIENCE_S:.0f} s in vain for this: {what}")
        await asyncio.sleep(every_s)


def wait_for(question: Callable[[], T | None], what: str = "an answer", every_s: float = 0.01) -> T:
    """The first answer that is not None or False. The test's own loop, if there is one, stands still meanwhile."""
    gives_up_at = time.monotonic() + PATIENCE_S
    while not (found := question()):
        if time.monotonic() > gives_up_at:
            raise AssertionError(f"waited {PATIENCE_S:.0f} s in vain for this: {what}")
        time.sleep(every_s)
    return found
