"""The event loop of long-running commands: uvloop where available (about twice as fast as asyncio's), and a garbage
collector that runs seldom."""

import asyncio
import gc
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

COLLECTED_AFTER = 20_000, 20, 20
#: How long a thread may keep the interpreter while another wants it. Requests give it up at every write to a socket,
#: and would wait for Python's usual 5 ms each time while a step is written.
_SWITCH_S = 0.0005


def fast_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:  # not made for this platform
        return None
    return uvloop.new_event_loop


@contextmanager
def server_runner() -> Iterator[asyncio.Runner]:
    """Runs a control plane as a server does."""
    usual_s = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_S)
    try:
        with asyncio.Runner(loop_factory=fast_loop()) as runner:
            yield runner
    finally:
        sys.setswitchinterval(usual_s)


def run_fast(whole: Coroutine[Any, Any, None]) -> None:
    # The state of a cluster is large and long-lived, and hardly any garbage here has cycles: collect seldom.
    gc.set_threshold(*COLLECTED_AFTER)
    with asyncio.Runner(loop_factory=fast_loop()) as runner:
        runner.run(whole)
