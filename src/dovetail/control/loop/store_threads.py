"""Threads that only the store uses.

Backends run blocking calls on asyncio's shared threads, which are few: a backend that hangs may occupy all of them. The
store must not wait for those, or scheduling would stop.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

THREADS = 8  # one writes, the others read

_threads = ThreadPoolExecutor(THREADS, thread_name_prefix="store")


async def on_store_thread(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    return await asyncio.get_running_loop().run_in_executor(_threads, lambda: call(*args, **kwargs))
