"""The event loop of long-running commands: uvloop where available (about twice as fast as asyncio's), a garbage
collector that runs seldom, and memory that is shared by all threads."""

import asyncio
import ctypes
import gc
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

COLLECTED_AFTER = 20_000, 20, 20
#: How long a thread may keep the interpreter while another wants it. Requests give it up at every write to a socket,
#: and would wait for Python's usual 5 ms each time while a step is written.
_SWITCH_S = 0.0005
_M_ARENA_MAX, _ARENAS = -8, 2  # glibc's malloc.h


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
    share_memory()
    try:
        with asyncio.Runner(loop_factory=fast_loop()) as runner:
            yield runner
    finally:
        sys.setswitchinterval(usual_s)


def run_fast(whole: Coroutine[Any, Any, None]) -> None:
    # The state of a cluster is large and long-lived, and hardly any garbage here has cycles: collect seldom.
    gc.set_threshold(*COLLECTED_AFTER)
    share_memory()
    with asyncio.Runner(loop_factory=fast_loop()) as runner:
        runner.run(whole)


def share_memory() -> None:
    """Call it before threads start. glibc would give each of the first threads, up to eight a processor, an area of its
    own, which grows with the largest request that it ever worked on. One thread at a time has the interpreter, so that
    hardly any ever wait for each other's memory."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # glibc's; others have no such areas
    if mallopt is not None:
        mallopt(_M_ARENA_MAX, _ARENAS)
