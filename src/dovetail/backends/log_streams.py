"""Reads logs from a byte offset, in chunks that end between two characters: files, and streams.

A stream is a log that a system sends from its beginning only, such as that of a container or pod. To read from an
offset, all bytes before it have to be received. So a stream stays open for a while after a read: the reader that
continues there gets what is new, and nothing is sent twice. Offsets count bytes since the log began: they stay valid
when a stream is closed or the control plane restarts. Whether the task has ended is left to the caller.
"""

import asyncio
import codecs
import contextlib
import os
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from datetime import datetime
from pathlib import Path
from typing import IO

from dovetail.backends.contract import LogChunk

WAIT_S = 0.2  # a read waits this long for more output
MAX_OPEN, IDLE_S = 50, 60.0
BLOCKS_AHEAD = 16
BLOCK_BYTES = 65536

Blocks = AsyncGenerator[bytes, None]


class LogStream:
    """One log and a position in it. A task reads a few blocks ahead."""

    def __init__(self, blocks: Blocks) -> None:
        self.offset = 0
        self.used_at = time.monotonic()
        self._ahead: asyncio.Queue[bytes | Exception | None] = asyncio.Queue(BLOCKS_AHEAD)
        self._buffer = b""
        self._error: Exception | None = None
        self._received_all = False
        self._reader = asyncio.create_task(self._read_ahead(blocks), name="log stream")

    @property
    def over(self) -> bool:
        """The stream has ended, and all of it was read."""
        return self._received_all and not self._buffer

    async def skip_to(self, offset: int) -> bool:
        """False if the log is shorter, or has not grown so far yet."""
        self.used_at = time.monotonic()
        while self.offset < offset and await self._receive(WAIT_S):
            skipped = min(offset - self.offset, len(self._buffer))
            self._buffer = self._buffer[skipped:]
            self.offset += skipped
        return self.offset == offset

    async def read(self, limit: int, *, ended: bool) -> str:
        """At most `limit` bytes. `ended`: if the stream has ended, so has the task, and a cut character stays cut."""
        until = time.monotonic() + WAIT_S
        while len(self._buffer) < limit and await self._receive(max(0.0, until - time.monotonic())):
            pass
        content = self._buffer[:limit]
        if not (ended and self._received_all and len(content) == len(self._buffer)):
            content = whole_characters(content)
        self._buffer = self._buffer[len(content) :]
        self.offset += len(content)
        return content.decode("utf-8", "replace")

    async def close(self) -> None:
        self._reader.cancel()
        await asyncio.gather(self._reader, return_exceptions=True)

    async def _receive(self, wait_s: float) -> bool:
        """Whether there is more in the buffer. An error of the stream is raised when the buffer is empty."""
        if self._error is None and not self._received_all:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    block = await self._ahead.get()
                if isinstance(block, bytes):
                    self._buffer += block
                    return True
                self._error, self._received_all = block, block is None
        if self._error is not None and not self._buffer:
            raise self._error
        return False

    async def _read_ahead(self, blocks: Blocks) -> None:
        try:
            async with contextlib.aclosing(blocks):
                async for block in blocks:
                    await self._ahead.put(block)
        except Exception as error:  # raised again where the stream is read
            await self._ahead.put(error)
        else:
            await self._ahead.put(None)


class LogStreams:
    """Open streams by log and offset, the least recently used first."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, int], LogStream] = {}

    async def read(
        self, name: str, offset: int, limit: int, blocks: Callable[[], Blocks], *, ended: bool = True
    ) -> tuple[LogChunk, bool]:
        """A chunk, and whether the stream is over. `blocks` opens a new stream if none is open at that offset."""
        stream = self._open.pop((name, offset), None) or LogStream(blocks())
        try:
            text = await stream.read(limit, ended=ended) if await stream.skip_to(offset) else ""
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

    async def close_idle(self, most: int = MAX_OPEN) -> None:
        idle_since = time.monotonic() - IDLE_S
        for place, stream in list(self._open.items()):
            if len(self._open) > most or stream.used_at < idle_since:
                del self._open[place]
                await stream.close()

    async def close(self) -> None:
        await self.close_idle(0)


def read_output(path: Path, offset: int, limit: int, *, ended: bool) -> LogChunk:
    """A chunk of an output file. `ended`: the task had ended before this call, so nothing is appended any more.

    Old output may be a hole, whose space was given back: a line says how much is missing, then comes what is kept."""
    offset, limit, missing = max(0, offset), max(1, limit), ""
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            content = _read_at(file, offset, limit)
            while (kept := kept_from(file, offset)) > offset:  # it may have grown while this was read
                missing = f"dovetail: {kept - offset} bytes of older output were removed (output_limit)\n"
                offset = kept
                content = _read_at(file, offset, limit)
    except FileNotFoundError:
        size, content = 0, b""
    if not (ended and offset + len(content) >= size):
        content = whole_characters(content)
    next_offset = offset + len(content)
    return LogChunk(missing + content.decode("utf-8", "replace"), next_offset, ended and next_offset >= size)


def _read_at(file: IO[bytes], offset: int, limit: int) -> bytes:
    return os.pread(file.fileno(), limit, offset)  # to seek farther than files may reach is an error


def kept_from(file: IO[bytes], offset: int) -> int:
    """Where the content at or after this offset begins: later if there is a hole."""
    try:
        return os.lseek(file.fileno(), offset, os.SEEK_DATA)
    except OSError:  # nothing is after it
        return offset


def tail_offset(path: Path, lines: int) -> int:
    """Where the last lines of an output file begin."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            first = kept_from(file, 0)
            stop, found = size - 1, 0  # a newline at the very end begins no further line
            while lines and stop > first:
                start = max(first, stop - BLOCK_BYTES)
                file.seek(start)
                block = file.read(stop - start)
                place = len(block)
                while (place := block.rfind(b"\n", 0, place)) >= 0:
                    found += 1
                    if found == lines:
                        return start + place + 1
                stop = start
            return first if lines else size
    except FileNotFoundError:
        return 0


def offset_at(path: Path, at: float) -> int:
    """How long an output was at that time, or a little before, as `path` says: lines of a time and a size. 0 where
    nothing was written down yet."""
    try:
        lines = path.read_text().splitlines()
    except FileNotFoundError:
        return 0
    reached = 0
    for line in lines:
        when, _, size = line.partition(" ")
        if float(when) > at:
            break
        reached = int(size)
    return reached


async def offset_since(pieces: AsyncIterator[bytes], at: float) -> int:
    """How many bytes were written before that time, in pieces that each begin with the time they were written at, in
    the format of RFC 3339, and a space."""
    offset = 0
    async for piece in pieces:
        written, _, content = piece.partition(b" ")
        if datetime.fromisoformat(written.decode()).timestamp() >= at:
            break
        offset += len(content)
    return offset


def whole_characters(content: bytes) -> bytes:
    """Without an incomplete UTF-8 character at the end, unless that is all: the next chunk begins with it."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    decoder.decode(content)
    incomplete, _ = decoder.getstate()
    return content.removesuffix(incomplete) or content
