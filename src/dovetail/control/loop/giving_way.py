"""Long work on the event loop, in pieces between which others have their turn.

One turn of the event loop is not enough for them: a request needs several, and threads of the store, which run only
while the event loop rests. So others get as much time as the piece took.
"""

import asyncio
import time
from collections.abc import Iterator

PIECE_S = 0.005


async def give_way(seconds: float) -> None:
    """Do nothing for so long, so that others have their turns."""
    await asyncio.sleep(seconds)


async def in_pieces(steps: Iterator[None], at_once_s: float = PIECE_S) -> None:
    """Take all steps, and give way whenever some of them took that long together."""
    began = time.perf_counter()
    for _ in steps:
        if (took_s := time.perf_counter() - began) > at_once_s:
            await give_way(took_s)
            began = time.perf_counter()
