"""The event loop that long-running commands run on: uvloop where there is one, which is about twice as fast."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any


def fast_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:  # not made for this platform
        return None
    return uvloop.new_event_loop


def run_fast(whole: Coroutine[Any, Any, None]) -> None:
    with asyncio.Runner(loop_factory=fast_loop()) as runner:
        runner.run(whole)
