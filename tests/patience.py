"""Waiting for what goes on beside a test, on a machine that may be busy with ten other things.

Patience costs nothing where what is waited for comes; it is not a bound on how long things may take.
"""

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

PATIENCE_S = 60.0

T = TypeVar("T")


#: The longer something takes, the less often it is asked for: most questions are requests to a server that is busy.
LONGEST_PAUSE_S = 0.25
PAUSE_OF_ELAPSED = 1 / 8


async def until(holds: Callable[[], bool], what: str, every_s: float = 0.01) -> None:
    began = time.monotonic()
    while not holds():
        pause = pause_s(began, what, every_s)
        await asyncio.sleep(pause)


def wait_for(question: Callable[[], T | None], what: str = "an answer", every_s: float = 0.01) -> T:
    """The first answer that is not None or False. The test's own loop, if there is one, stands still meanwhile."""
    began = time.monotonic()
    while not (found := question()):
        time.sleep(pause_s(began, what, every_s))
    return found


def pause_s(began: float, what: str, every_s: float) -> float:
    """How long to wait until the next question; at least `every_s`, and no time at all if that is 0."""
    elapsed_s = time.monotonic() - began
    if elapsed_s > PATIENCE_S:
        raise AssertionError(f"waited {PATIENCE_S:.0f} s in vain for this: {what}")
    return max(every_s, min(elapsed_s * PAUSE_OF_ELAPSED, LONGEST_PAUSE_S)) if every_s else 0.0
