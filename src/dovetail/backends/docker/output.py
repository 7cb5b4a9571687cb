"""What a container printed, from a byte offset: standard output and error as one, in whole characters.

The engine keeps output as records without an index, so reading from an offset means reading all before it. A stream
that was read up to some offset is therefore kept open for a while: whoever goes on there, a follower above all, gets
what is new and nothing is read twice. Offsets count the bytes that the engine has kept since the container began; they
outlive streams and control planes.
"""

import asyncio
import contextlib
import struct
import time
from collections.abc import AsyncIterator, Callable

from dovetail.backends.contract import LogChunk
from dovetail.backends.log_text import whole_characters

HEADER = struct.Struct(">BxxxL")  # which stream, and how many bytes of it follow
QUIET_S = 0.2  # nothing more comes for now
KEPT_OPEN, IDLE_S = 32, 30.0
BLOCKS_AHEAD = 16


async def unframed(blocks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The contents of the frames in which the engine sends both streams as one."""
    rest = b""
    async for block in blocks:
        rest += block
        at = 0
        contents = []
        while len(rest) - at >= HEADER.size:
            _, size = HEADER.unpack_from(rest, at)
            if len(rest) - at - HEADER.size < size:
                break
            contents.append(rest[at + HEADER.size : at + HEADER.size + size])
            at += HEADER.size + size
        rest = rest[at:]
        if contents:
            yield b"".join(contents)


class OutputStream:
    """One stream, read ahead by a few blocks, with a place in it."""

    def __init__(self, blocks: AsyncIterator[bytes]) -> None:
        self.offset = 0
        self.used_at = time.monotonic()
        self._ahead: asyncio.Queue[bytes | Exception | None] = asyncio.Queue(BLOCKS_AHEAD)
        self._buffer = b""
        self._over = False
        self._pump = asyncio.create_task(self._read(unframed(blocks)))

    @property
    def over(self) -> bool:
        """Nothing comes after what was read."""
        return self._over and not self._buffer

    async def skip_to(self, offset: int) -> bool:
        """False if there is not so much, or not yet."""
        self.used_at = time.monotonic()
        while self.offset < offset and await self._fill():
            skipped = min(offset - self.offset, len(self._buffer))
            self._buffer = self._buffer[skipped:]
            self.offset += skipped
        return self.offset == offset

    async def read(self, limit: int) -> str:
        """What is there, at most so many bytes; waits a moment if there is nothing yet."""
        while len(self._buffer) < limit and await self._fill():
            pass
        content = self._buffer[:limit]
        if not (self._over and len(content) == len(self._buffer)):
            content = whole_characters(content)
        self._buffer = self._buffer[len(content) :]
        self.offset += len(content)
        return content.decode("utf-8", "replace")

    async def close(self) -> None:
        self._pump.cancel()
        with contextlib.suppress(asyncio.CancelledError, Exception):
            await self._pump

    async def _fill(self) -> bool:
        """More is in the buffer. Raises what the reading raised."""
        if self._over:
            return False
        try:
            async with asyncio.timeout(QUIET_S):
                block = await self._ahead.get()
        except TimeoutError:
            return False
        if isinstance(block, Exception):
            raise block
        if block is None:
            self._over = True
            return False
        self._buffer += block
        return True

    async def _read(self, blocks: AsyncIterator[bytes]) -> None:
        try:
            async for block in blocks:
                await self._ahead.put(block)
        except Exception as error:  # for whoever reads
            await self._ahead.put(error)
        else:
            await self._ahead.put(None)


class Outputs:
    """The streams of one host that are open."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, int], OutputStream] = {}  # by container and place; oldest first

    async def read(
        self, name: str, offset: int, limit: int, blocks: Callable[[], AsyncIterator[bytes]]
    ) -> tuple[LogChunk, bool]:
        """`blocks` opens a new stream, if none is at that place. Beside the chunk: the stream has ended. The chunk
        never says so itself: whether the container has ended is left to the caller."""
        stream = self._open.pop((name, offset), None) or OutputStream(blocks())
        try:
            text = await stream.read(limit) if await stream.skip_to(offset) else ""
        except BaseException:
            await stream.close()
            raise
        place = (name, max(offset, stream.offset))
        if stream.over or place in self._open:
            await stream.close()
        else:
            self._open[place] = stream
            await self.close_idle()
        return LogChunk(text, place[1], ended=False), stream.over

    async def close_idle(self, most: int = KEPT_OPEN) -> None:
        long_ago = time.monotonic() - IDLE_S
        for place, stream in list(self._open.items()):
            if len(self._open) > most or stream.used_at < long_ago:
                del self._open[place]
                await stream.close()

    async def close(self) -> None:
        await self.close_idle(0)
