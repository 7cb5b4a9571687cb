"""TLS whose two directions end apart, as those of a socket do: a command hears that its input has ended, and its output
still comes.

asyncio closes both directions at once. OpenSSL sends its notice that no more comes (`close_notify`) and goes on
reading, if nothing that has arrived is left unread at that moment.
"""

import asyncio
import contextlib
import ssl

BLOCK_BYTES = 64 * 1024


class TlsStream:
    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, context: ssl.SSLContext, host: str
    ) -> None:
        self._reader, self._writer = reader, writer
        self._arrived, self._leaving = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._arrived, self._leaving, server_hostname=host)
        self._unread = b""

    async def shake_hands(self) -> None:
        """Raises OSError, of which ssl.SSLError is one."""
        while True:
            try:
                self._tls.do_handshake()
            except ssl.SSLWantReadError:
                self._flush()
                if not await self._receive():
                    raise ConnectionError("the connection ended before TLS was agreed on") from None
            else:
                self._flush()
                return

    async def read(self, size: int) -> bytes:
        """Nothing at the end."""
        while True:
            if self._unread:
                found, self._unread = self._unread[:size], self._unread[size:]
                return found
            try:
                return self._tls.read(size)
            except ssl.SSLWantReadError:
                self._flush()
                if not await self._receive():
                    return b""
            except ssl.SSLZeroReturnError:
                return b""

    def write(self, content: bytes) -> None:
        while content:
            content = content[self._tls.write(content) :]
        self._flush()

    async def drain(self) -> None:
        await self._writer.drain()

    def write_eof(self) -> None:
        with contextlib.suppress(ssl.SSLError):  # until nothing is left, or the other side has ended
            while block := self._tls.read(BLOCK_BYTES):
                self._unread += block
        with contextlib.suppress(ssl.SSLError):  # it would wait for the notice of the other side
            self._tls.unwrap()
        self._flush()

    def close(self) -> None:
        self._writer.close()

    def _flush(self) -> None:
        if self._leaving.pending:
            self._writer.write(self._leaving.read())

    async def _receive(self) -> bool:
        """False at the end of the connection."""
        block = await self._reader.read(BLOCK_BYTES)
        self._arrived.write(block) if block else self._arrived.write_eof()
        return bool(block)
