"""What long-running commands run on: uvloop where there is one, which is about twice as fast as asyncio's own loop, and
a collector of garbage that does not look at everything again and again."""

import asyncio
import gc
from collections.abc import Callable, Coroutine
from typing import Any

COLLECTED_AFTER = 20_000, 20, 20


def fast_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:  # not made for this platform
        return None
    return uvloop.new_event_loop


def run_fast(whole: Coroutine[Any, Any, None]) -> None:
    # What is kept of a cluster is much and lives long, and hardly anything here is garbage that has to be looked for.
    gc.set_threshold(*COLLECTED_AFTER)
    with asyncio.Runner(loop_factory=fast_loop()) as runner:
        runner.run(whole)
