"""The pseudo terminal of a command: the end that its user holds, for the event loop."""

import asyncio
import errno
import fcntl
import os
import struct
import termios
from collections.abc import Callable

from dovetail.backends.contract import TerminalSize

BLOCK_BYTES = 64 * 1024
END_OF_INPUT = b"\x04"  # as a user types it


class PseudoTerminal:
    """`inner` is the end for the command; close it when the command has started. `path` is its name."""

    def __init__(self, size: TerminalSize) -> None:
        self._outer, self.inner = os.openpty()
        self.path = os.ttyname(self.inner)
        os.set_blocking(self._outer, False)
        self.resize(size)

    def resize(self, size: TerminalSize) -> None:
        fcntl.ioctl(self._outer, termios.TIOCSWINSZ, struct.pack("HHHH", size.rows, size.columns, 0, 0))

    def close_inner(self) -> None:
        if self.inner >= 0:
            os.close(self.inner)
            self.inner = -1

    def close(self) -> None:
        self.close_inner()
        os.close(self._outer)

    async def read(self) -> bytes:
        """What was written; empty when no process has the terminal any more."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                return os.read(self._outer, BLOCK_BYTES)
            except BlockingIOError:
                await _once(loop.add_reader, loop.remove_reader, self._outer)
            except OSError as error:
                if error.errno == errno.EIO:
                    return b""
                raise

    async def write(self, content: bytes) -> None:
        loop, rest = asyncio.get_running_loop(), memoryview(content)
        while rest:
            try:
                rest = rest[os.write(self._outer, rest) :]
            except BlockingIOError:
                await _once(loop.add_writer, loop.remove_writer, self._outer)


async def _once(add: Callable[..., None], remove: Callable[[int], bool], descriptor: int) -> None:
    """Until the descriptor can be read or written."""
    ready = asyncio.Event()
    add(descriptor, ready.set)
    try:
        await ready.wait()
    finally:
        remove(descriptor)
