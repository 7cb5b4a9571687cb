"""The sockets of the DNS server: UDP and TCP on one address.

Guarantees: no packet stops it, and none is answered with more than 1,232 bytes over UDP. Connections are bounded in
number, and closed when nothing is asked for a while. What is asked and answered, `answers` knows; who asks, and whether
others are asked for it, is decided here.
"""

import asyncio
import contextlib
import errno
import logging
import socket
import time
from collections.abc import Awaitable, Callable

import dns.rcode

from dovetail.asyncio_tasks import cancel
from dovetail.discovery.dns.answers import Answers
from dovetail.discovery.dns.forwarding import DnsForwarder
from dovetail.discovery.dns.settings import SocketAddress

AT_ONCE = 64  # packets that are answered before anything else has its turn
RECEIVE_BUFFER_BYTES = 4 * 2**20
MOST_WAITING = 1_000  # queries for which somebody else is asked
MOST_CONNECTIONS = 200
IDLE_S = 10.0
MOST_PACKET_BYTES = 4_096  # of a query
_LATER = dns.rcode.SERVFAIL  # the client asks somebody else, or again

_log = logging.getLogger(__name__)


class Askers:
    """Who asks: `groups` by address, as far as they are known. `find` is asked for others; None: nothing can be
    answered yet. `may_forward`: who gets names outside the domain."""

    def __init__(self, find: Callable[[str], Awaitable[str | None]], may_forward: Callable[[str], bool]) -> None:
        self.find, self.may_forward = find, may_forward
        self.groups: dict[str, str] = {}


class DnsServer:
    def __init__(self, answers: Answers, askers: Askers, forwarder: DnsForwarder) -> None:
        self._answers, self._askers, self._forwarder = answers, askers, forwarder
        self._udp: socket.socket | None = None
        self._tcp: asyncio.Server | None = None
        self._waiting: set[asyncio.Task[None]] = set()
        self._connections: set[asyncio.Task[None]] = set()
        self.busy_s = 0.0  # time spent on queries over UDP
        self.dropped = 0

    async def start(self, address: SocketAddress) -> SocketAddress:
        """Where it listens. Raises OSError."""
        family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        self._tcp = await asyncio.start_server(self._connected, address.host, address.port, family=family)
        port = self._tcp.sockets[0].getsockname()[1]
        self._udp = socket.socket(family, socket.SOCK_DGRAM)
        try:
            self._udp.setblocking(False)
            self._udp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES)
            self._udp.bind((address.host, port))
        except OSError:
            await self.close()
            raise
        asyncio.get_running_loop().add_reader(self._udp.fileno(), self._readable)
        return SocketAddress(address.host, port)

    async def close(self) -> None:
        if self._udp is not None:
            asyncio.get_running_loop().remove_reader(self._udp.fileno())
            self._udp.close()
        if self._tcp is not None:
            self._tcp.close()
        await cancel(*self._waiting, *self._connections)

    # --- UDP ---------------------------------------------------------------------------------------------------------

    def _readable(self) -> None:
        assert self._udp is not None
        began = time.perf_counter()
        receive, groups, reply = self._udp.recvfrom, self._askers.groups, self._answers.reply
        for _ in range(AT_ONCE):
            try:
                data, source = receive(MOST_PACKET_BYTES)
            except BlockingIOError:
                break
            except OSError:  # an earlier answer reached nobody
                continue
            group = groups.get(source[0])
            answer = Answers.OUTSIDE if group is None else reply(data, group)
            if answer is Answers.OUTSIDE:
                self._later(data, source)
            elif answer is not None:
                self._send(answer, source)
        self.busy_s += time.perf_counter() - began

    def _send(self, answer: bytes, source: tuple[str, int]) -> None:
        assert self._udp is not None
        try:
            self._udp.sendto(answer, source)
        except OSError as error:  # its buffer is full, or the asker is gone: it asks again if it is not
            if error.errno not in (errno.EAGAIN, errno.ECONNREFUSED):
                _log.debug("an answer was not sent: %s", error)
            self.dropped += 1

    def _later(self, data: bytes, source: tuple[str, int]) -> None:
        if len(self._waiting) >= MOST_WAITING:
            self.dropped += 1
            return
        task = asyncio.create_task(self._answer_later(data, source))
        self._waiting.add(task)
        task.add_done_callback(self._waiting.discard)

    async def _answer_later(self, data: bytes, source: tuple[str, int]) -> None:
        group = await self._group(source[0])
        answer = self._answers.refusal(data, _LATER) if group is None else self._answers.reply(data, group)
        if answer is Answers.OUTSIDE:
            answer = await self._forwarded(data, source[0], tcp=False)
        if answer is not None and self._udp is not None and self._udp.fileno() >= 0:
            self._send(answer, source)

    async def _group(self, address: str) -> str | None:
        found = self._askers.groups.get(address)
        return await self._askers.find(address) if found is None else found

    async def _forwarded(self, data: bytes, address: str, *, tcp: bool) -> bytes | None:
        if not self._askers.may_forward(address):
            return self._answers.refusal(data, dns.rcode.REFUSED)
        found = await self._forwarder.ask(data, tcp=tcp)
        return self._answers.refusal(data, _LATER) if found is None else found

    # --- TCP ---------------------------------------------------------------------------------------------------------

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        if len(self._connections) >= MOST_CONNECTIONS:
            writer.close()
            return
        self._connections.add(task)
        try:
            with contextlib.suppress(OSError, EOFError, TimeoutError, asyncio.IncompleteReadError):
                await self._converse(reader, writer)
        finally:
            self._connections.discard(task)
            writer.close()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = str(writer.get_extra_info("peername")[0])
        while True:
            async with asyncio.timeout(IDLE_S):
                length = int.from_bytes(await reader.readexactly(2), "big")
                data = await reader.readexactly(length)
            group = await self._group(peer)
            answer = self._answers.refusal(data, _LATER) if group is None else self._answers.reply_over_tcp(data, group)
            if answer is Answers.OUTSIDE:
                answer = await self._forwarded(data, peer, tcp=True)
            if answer is None:
                return
            writer.write(len(answer).to_bytes(2, "big") + answer)
            async with asyncio.timeout(IDLE_S):
                await writer.drain()
