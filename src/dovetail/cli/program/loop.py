"""The event loop of long-running commands: uvloop where available (about twice as fast as asyncio's), and a garbage
collector that runs seldom."""

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
    # The state of a cluster is large and long-lived, and hardly any garbage here has cycles: collect seldom.
    gc.set_threshold(*COLLECTED_AFTER)
    with asyncio.Runner(loop_factory=fast_loop()) as runner:
        runner.run(whole)
