"""What a command reads: written by a client in pieces, read by the backend that runs the command.

Guarantees: a piece that is sent twice arrives once, because it has an offset. A writer that is faster than the command
waits. Changes of the terminal's size keep their place between the pieces.
"""

import asyncio
import contextlib
from collections import deque
from typing import Self

from dovetail.backends.contract import TerminalSize
from dovetail.control.errors import Conflict

MOST_UNREAD_BYTES = 1024 * 1024
LONGEST_WAIT_S = 10.0  # for room


class InputPipe:
    """`CommandInput` of the backends. `received`: the offset of the next byte."""

    def __init__(self, content: bytes = b"", *, ended: bool = False) -> None:
        self.received = len(content)
        self._pieces: deque[bytes | TerminalSize] = deque([content] if content else [])
        self._unread = len(content)
        self._ended = ended
        self._closed = False
        self._changed = asyncio.Condition()

    async def put(self, content: bytes, offset: int, *, ended: bool = False) -> int:
        """The offset from which to go on: nothing was taken if there was no room for a while. Raises Conflict."""
        async with self._changed:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LONGEST_WAIT_S):
                    await self._changed.wait_for(lambda: self._closed or self._unread < MOST_UNREAD_BYTES)
            if self._closed:  # nobody reads it any more
                return offset + len(content)
            if offset > self.received:
                raise Conflict(f"the input from byte {self.received} to byte {offset} is missing; send it first")
            if self._unread >= MOST_UNREAD_BYTES:
                return self.received
            news = content[self.received - offset :]
            if self._ended:
                if news:
                    raise Conflict("its input has ended, or it takes none; nothing more can be sent")
                return self.received
            self._add(news)
            self._ended = ended
            self._changed.notify_all()
            return self.received

    async def resize(self, size: TerminalSize) -> None:
        async with self._changed:
            self._pieces.append(size)
            self._changed.notify_all()

    async def close(self) -> None:
        """Nobody reads any more."""
        async with self._changed:
            self._closed = True
            self._changed.notify_all()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes | TerminalSize:
        async with self._changed:
            await self._changed.wait_for(lambda: self._pieces or self._ended or self._closed)
            if not self._pieces:
                raise StopAsyncIteration
            found = self._pieces.popleft()
            if isinstance(found, bytes):
                self._unread -= len(found)
                self._changed.notify_all()
            return found

    def _add(self, content: bytes) -> None:
        if content:
            self._pieces.append(content)
            self._unread += len(content)
            self.received += len(content)
