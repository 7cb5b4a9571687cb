"""Reads what a DNS client asks. dnspython knows the wire format; this module knows what is refused, and with what.

Guarantees: any bytes are read or refused with `RefusedQuery`; nothing else is raised.
"""

import struct
from dataclasses import dataclass

import dns.exception
import dns.flags
import dns.message
import dns.name
import dns.opcode
import dns.rcode
import dns.rdataclass
import dns.rdatatype

MAX_UDP_BYTES = 1232  # fits into one packet everywhere (DNS flag day 2020)
MIN_UDP_BYTES = 512
HEADER_BYTES = 12
_IS_RESPONSE = 0x80


class RefusedQuery(Exception):
    """`rcode` None: no answer at all, because an answer could be answered in turn, or there is nobody to send it to."""

    def __init__(self, rcode: dns.rcode.Rcode | None) -> None:
        super().__init__(rcode)
        self.rcode = rcode


@dataclass(frozen=True, slots=True)
class Question:
    """`name`: in lower case and without the domain; None if it is outside. `udp_bytes`: the longest answer over UDP.
    `repeats`: others will ask with the same bytes."""

    query: dns.message.Message
    name: str | None
    kind: dns.rdatatype.RdataType
    udp_bytes: int
    repeats: bool

    @property
    def asked(self) -> dns.name.Name:
        return self.query.question[0].name


def read_question(data: bytes, domain: dns.name.Name) -> Question:
    """Raises RefusedQuery."""
    if len(data) < HEADER_BYTES or data[2] & _IS_RESPONSE:
        raise RefusedQuery(None)
    if (data[2] >> 3) & 0xF != dns.opcode.QUERY:
        raise RefusedQuery(dns.rcode.NOTIMP)
    try:
        query = dns.message.from_wire(data)
    except (dns.exception.DNSException, ValueError):
        raise RefusedQuery(dns.rcode.FORMERR) from None
    if len(query.question) != 1 or query.answer or query.authority or query.had_tsig:
        raise RefusedQuery(dns.rcode.FORMERR)
    if query.edns > 0:
        raise RefusedQuery(dns.rcode.BADVERS)
    asked = query.question[0]
    if asked.rdclass != dns.rdataclass.IN:
        raise RefusedQuery(dns.rcode.REFUSED)
    size = MIN_UDP_BYTES if query.edns < 0 else max(MIN_UDP_BYTES, min(query.payload, MAX_UDP_BYTES))
    return Question(query, _inside(asked.name, domain), asked.rdtype, size, not query.options)


def _inside(name: dns.name.Name, domain: dns.name.Name) -> str | None:
    if not name.is_subdomain(domain):
        return None
    labels = name.labels[: len(name.labels) - len(domain.labels)]
    return b".".join(labels).lower().decode("latin-1")


def header_reply(data: bytes, rcode: dns.rcode.Rcode) -> bytes | None:
    """An answer without sections to a query that cannot be read: its id, its opcode, and what was wrong."""
    if len(data) < HEADER_BYTES or data[2] & _IS_RESPONSE:
        return None
    flags = _IS_RESPONSE | (data[2] & 0x79)  # opcode and RD as they were
    high = rcode >> 4  # travels in an OPT record
    opt = struct.pack("!BHHBBHH", 0, dns.rdatatype.OPT, MAX_UDP_BYTES, high, 0, 0, 0) if high else b""
    return bytes((data[0], data[1], flags, rcode & 0xF, 0, 0, 0, 0, 0, 0, 0, bool(opt))) + opt
