"""The output of containers from a byte offset: standard output and standard error as one stream.

The engine sends both streams as frames. This module removes the frames; `backends.log_streams` does the rest.
"""

import struct
from collections.abc import AsyncIterator, Callable

from dovetail.backends.contract import LogChunk
from dovetail.backends.log_streams import Blocks, LogStreams

HEADER = struct.Struct(">BxxxL")  # the number of the stream, and the length of the frame


async def unframed(blocks: AsyncIterator[bytes]) -> Blocks:
    """The contents of the frames."""
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


class Outputs:
    """The open streams of one host."""

    def __init__(self) -> None:
        self._streams = LogStreams()
        self.close, self.close_idle = self._streams.close, self._streams.close_idle

    async def read(
        self, name: str, offset: int, limit: int, blocks: Callable[[], AsyncIterator[bytes]]
    ) -> tuple[LogChunk, bool]:
        """A chunk, and whether the stream has ended. `blocks` opens a new stream of frames."""
        return await self._streams.read(name, offset, limit, lambda: unframed(blocks()))
