"""Blocking calls of a library with a deadline, one at a time.

Guarantees: a call that hangs holds one thread and delays no other object of this kind; it is not repeated on a second
thread while it hangs, and the end of the process does not wait for it.
"""

import asyncio
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class OneCall:
    def __init__(self, within_s: float) -> None:
        self.within_s = within_s
        self._turn = asyncio.Lock()

    async def run(self, call: Callable[[], T]) -> T:
        """Raises what it raises, or TimeoutError, also if the call before it still hangs."""
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(self.within_s):
            await self._turn.acquire()
            answer: asyncio.Future[T] = loop.create_future()

            def end(result: T | None, error: BaseException | None) -> None:
                self._turn.release()
                if answer.cancelled():
                    return  # nobody waits any more
                if error is not None:
                    answer.set_exception(error)
                else:
                    answer.set_result(result)  # type: ignore[arg-type]

            def work() -> None:
                result, error = None, None
                try:
                    result = call()
                except Exception as caught:
                    error = caught
                if not loop.is_closed():
                    loop.call_soon_threadsafe(end, result, error)

            # A daemon: a pool's threads are waited for at the end of the process.
            threading.Thread(target=work, name="one call", daemon=True).start()
            return await answer
