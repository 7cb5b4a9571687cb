"""Asks other resolvers for names outside the domain, for those who may.

Guarantees: bounded in number and time. Each question leaves from a port of its own with an id of its own; only an
answer to that question from that address counts (dnspython sees to it).
"""

import asyncio
import logging
from collections.abc import Sequence

import dns.asyncquery
import dns.exception
import dns.flags
import dns.message
import dns.rcode

from dovetail.discovery.dns.question import MAX_UDP_BYTES, MIN_UDP_BYTES
from dovetail.discovery.dns.settings import SocketAddress

MOST_AT_ONCE = 200
TIMEOUT_S = 2.0
_MOST_TCP_BYTES = 65_535

_log = logging.getLogger(__name__)


class DnsForwarder:
    def __init__(self, resolvers: Sequence[SocketAddress]) -> None:
        self._resolvers = resolvers
        self._under_way = 0
        self.forwarded = 0

    def __bool__(self) -> bool:
        return bool(self._resolvers)

    async def ask(self, data: bytes, *, tcp: bool) -> bytes | None:
        """The answer with the id of the query; None if no resolver answers, or too much is asked."""
        if self._under_way >= MOST_AT_ONCE:
            return None
        self._under_way += 1
        try:
            return await self._ask(data, tcp=tcp)
        finally:
            self._under_way -= 1

    async def _ask(self, data: bytes, *, tcp: bool) -> bytes | None:
        try:
            asked = dns.message.from_wire(data)
        except (dns.exception.DNSException, ValueError):
            return None
        query = dns.message.make_query(
            asked.question[0].name, asked.question[0].rdtype, use_edns=0, payload=MAX_UDP_BYTES
        )
        for host, port in self._resolvers:
            try:
                found, _ = await dns.asyncquery.udp_with_fallback(query, host, timeout=TIMEOUT_S, port=port)
            except (dns.exception.DNSException, OSError, EOFError, TimeoutError, asyncio.IncompleteReadError) as error:
                _log.info("resolver %s does not answer: %s", host, error)
                continue
            self.forwarded += 1
            return _for_asker(asked, found, tcp=tcp)
        return None


def _for_asker(asked: dns.message.Message, found: dns.message.Message, *, tcp: bool) -> bytes:
    """The same answer, as long as the asker takes it, and as if the asker had asked."""
    reply = dns.message.make_response(asked, recursion_available=True, our_payload=MAX_UDP_BYTES)
    reply.set_rcode(found.rcode())
    reply.answer, reply.authority = found.answer, found.authority
    size = MIN_UDP_BYTES if asked.edns < 0 else max(MIN_UDP_BYTES, min(asked.payload, MAX_UDP_BYTES))
    return reply.to_wire(max_size=_MOST_TCP_BYTES if tcp else size, prefer_truncation=True)
