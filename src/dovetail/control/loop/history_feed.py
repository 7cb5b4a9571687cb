"""History as it happens, for any number of listeners: the store is read once for all of them.

The latest lines are kept. A listener that has had all of them reads what was written since, and whoever else waits is
served by the same read. A listener that begins in the past, or is so slow that its next line is no longer kept, reads
the store by itself until it has caught up. So none misses a line, and none makes the others wait.

A listener may say that it wants the newest lines alone, `most` at once, as people do who look at a page. While all
listeners do, what nobody wants is not read either, and a burst is read in few pieces.
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
LINES_KEPT = 10_000  # of a kilobyte each, and at times a tenth more
PACE_S = 0.05  # between two reads, for each ten listeners: many get a burst in few pieces, which keeps them cheap
PACE_A_LINE_S = 0.002  # of a burst, where nobody wants every line
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
        self._listeners: list[int | None] = []  # how many lines at most; None: all of them
        self._kept: list[SharedLine] = []  # without a gap, from the line after `_before_kept` to `_newest`
        self._before_kept = self._newest = 0
        self._rings_read = 0  # what had been written by then is in `_kept`
        self._reading: asyncio.Task[None] | None = None
        self._next_read_at = 0.0

    def ring(self) -> None:
        """New history is in the store."""
        self._bell.ring()

    async def newest(self) -> int:
        """The number of the newest line."""
        return await on_store_thread(self._store.newest_history)

    async def follow(self, position: int, most: int | None = None) -> AsyncGenerator[Sequence[SharedLine], None]:
        """The lines after this one, some at a time; none at all every 15 s without news. With `most`, not more at once,
        and the newest: numbers that are missing between two pieces were left out."""
        newest = await self.newest()
        if not self._listeners:  # nobody read meanwhile, so what is kept is old
            self._kept, self._before_kept, self._newest = [], newest, newest
        self._listeners.append(most)
        try:
            while True:
                self._check()
                lines, position = await self._next(position, most)
                if lines is not None:
                    yield lines if most is None else lines[-most:]
        finally:
            self._listeners.remove(most)

    async def _next(self, position: int, most: int | None) -> tuple[Sequence[SharedLine] | None, int]:
        """What a listener gets that has had all lines up to `position`, and where it is then. None: look again."""
        wants_kept = position >= self._before_kept or (most is not None and len(self._kept) >= most)
        if not wants_kept:
            lines: Sequence[SharedLine] = await self._read_after(position, most)
            return (lines, lines[-1].seq) if lines else (None, self._before_kept)  # none: they were deleted
        first = bisect_right(self._kept, position, key=attrgetter("seq"))
        lines = self._kept[first : first + LINES_AT_ONCE] if most is None else self._kept[first:]
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
            await asyncio.sleep(self._next_read_at - time.monotonic())
            rings, before = self._bell.rings, self._newest
            most = None if None in self._listeners else max(filter(None, self._listeners), default=None)
            lines = await self._read_after(before, most)
            if most is not None or len(lines) < LINES_AT_ONCE:
                self._rings_read = rings
            if lines:
                if most is not None and lines[0].seq > before + 1:
                    self._kept, self._before_kept = [], lines[0].seq - 1
                self._kept += lines
                self._newest = lines[-1].seq
            if len(self._kept) > 1.1 * LINES_KEPT:
                self._before_kept = self._kept[-LINES_KEPT - 1].seq
                del self._kept[:-LINES_KEPT]
            pace_s = PACE_S * max(1.0, len(self._listeners) / 10)
            if most is not None:
                pace_s = max(pace_s, PACE_A_LINE_S * (self._newest - before))
            self._next_read_at = time.monotonic() + min(pace_s, SLOWEST_PACE_S)
        finally:
            self._reading = None

    async def _read_after(self, position: int, most: int | None) -> list[SharedLine]:
        """The next lines; with `most`, the newest of all that follow."""
        if most is None:
            page = await on_store_thread(self._store.events, EventFilter(), LINES_AT_ONCE, position)
            return [SharedLine(row) for row in page.items]
        page = await on_store_thread(self._store.events, EventFilter(), most, position, newest_first=True)
        return [SharedLine(row) for row in reversed(page.items)]


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
