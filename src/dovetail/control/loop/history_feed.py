"""History as it happens, for any number of listeners: the store is read once for all of them.

The latest lines are kept. A listener that has had all of them reads what was written since, and whoever else waits is
served by the same read. A listener that begins in the past, or is so slow that its next line is no longer kept, reads
the store by itself until it has caught up. So none misses a line, and none makes the others wait.
"""

import asyncio
import contextlib
import time
from bisect import bisect_right
from collections.abc import AsyncGenerator, Callable, Sequence
from operator import attrgetter
from typing import Any

from dovetail.control.loop.store_access import on_store_thread
from dovetail.store.contract import EventFilter, Store

LINES_AT_ONCE = 500
LINES_KEPT = 10_000
PACE_S = 0.05  # between two reads, for each ten listeners: many get a burst in few pieces, which keeps them cheap
SLOWEST_PACE_S = 1.0
QUIET_S = 15.0


class SharedLine:
    """A line of the history that listeners share. `encoded`: how it is sent to them, made once, by the first."""

    __slots__ = ("encoded", "row", "seq")

    def __init__(self, row: dict[str, Any]) -> None:
        self.row, self.seq = row, int(row["seq"])
        self.encoded = b""


class HistoryFeed:
    """`check` raises while the control plane does not run, which ends all listening."""

    def __init__(self, store: Store, check: Callable[[], object]) -> None:
        self._store, self._check = store, check
        self._bell = HistoryBell()
        self._listeners = 0
        self._kept: list[SharedLine] = []  # without a gap, from the line after `_before_kept` to `_newest`
        self._before_kept = self._newest = 0
        self._rings_read = 0  # what had been written by then is in `_kept`
        self._reading: asyncio.Task[None] | None = None
        self._read_at = 0.0

    def ring(self) -> None:
        """New history is in the store."""
        self._bell.ring()

    async def newest(self) -> int:
        """The number of the newest line."""
        return await on_store_thread(self._store.newest_history)

    async def follow(self, position: int) -> AsyncGenerator[Sequence[SharedLine], None]:
        """The lines after this one, some at a time; none at all every 15 s without news."""
        newest = await self.newest()
        if not self._listeners:  # nobody read meanwhile, so what is kept is old
            self._kept, self._before_kept, self._newest = [], newest, newest
        self._listeners += 1
        try:
            while True:
                self._check()
                lines, position = await self._next(position)
                if lines is not None:
                    yield lines
        finally:
            self._listeners -= 1

    async def _next(self, position: int) -> tuple[Sequence[SharedLine] | None, int]:
        """What a listener gets that has had all lines up to `position`, and where it is then. None: look again."""
        if position < self._before_kept:
            lines: Sequence[SharedLine] = await self._read_after(position)
            return (lines, lines[-1].seq) if lines else (None, self._before_kept)  # none: they were deleted
        first = bisect_right(self._kept, position, key=attrgetter("seq"))
        lines = self._kept[first : first + LINES_AT_ONCE]
        if lines:
            return lines, lines[-1].seq
        rings = self._rings_read
        if rings == self._bell.rings and not await self._bell.heard(rings, QUIET_S):
            return (), position
        if self._reading is None:
            self._reading = asyncio.create_task(self._read_news())
        await asyncio.shield(self._reading)
        return None, position

    async def _read_news(self) -> None:
        try:
            pace_s = min(PACE_S * max(1.0, self._listeners / 10), SLOWEST_PACE_S)
            await asyncio.sleep(self._read_at + pace_s - time.monotonic())
            rings = self._bell.rings
            lines = await self._read_after(self._newest)
            self._read_at = time.monotonic()
            if len(lines) < LINES_AT_ONCE:
                self._rings_read = rings
            if lines:
                self._kept += lines
                self._newest = lines[-1].seq
            if len(self._kept) > 2 * LINES_KEPT:
                self._before_kept = self._kept[-LINES_KEPT - 1].seq
                del self._kept[:-LINES_KEPT]
        finally:
            self._reading = None

    async def _read_after(self, position: int) -> list[SharedLine]:
        page = await on_store_thread(self._store.events, EventFilter(), LINES_AT_ONCE, position)
        return [SharedLine(row) for row in page.items]


class HistoryBell:
    """Rings when new history is in the store.

    Take `rings` before reading and pass it to `heard` after: a ring in between is not missed.
    """

    def __init__(self) -> None:
        self.rings = 0
        self._next = asyncio.Event()

    def ring(self) -> None:
        self.rings += 1
        self._next.set()
        self._next = asyncio.Event()

    async def heard(self, since: int, timeout_s: float) -> bool:
        """True if it rang since then, or rings within the time."""
        if self.rings == since:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(timeout_s):
                    await self._next.wait()
        return self.rings != since
