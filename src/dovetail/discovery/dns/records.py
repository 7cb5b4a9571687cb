"""The records of a name, for one type and one turn; what a record holds is written by dnspython.

Guarantees: over UDP an answer has at most the size that the client takes, and 1,232 bytes. Addresses over UDP are the
nearest ones only; where SRV or TXT records do not fit, the answer says so (TC), and the client asks over TCP.
"""

import struct
from dataclasses import dataclass, field, replace
from functools import lru_cache
from ipaddress import ip_address

import dns.name
import dns.rcode
import dns.rdata
import dns.rdataclass
import dns.rdatatype
from dns.rdtypes.ANY.HINFO import HINFO
from dns.rdtypes.ANY.SOA import SOA
from dns.rdtypes.ANY.TXT import TXT
from dns.rdtypes.IN.A import A
from dns.rdtypes.IN.AAAA import AAAA

from dovetail.discovery.dns.message import OF_QUESTION, AnswerHead, head_of, joined, record
from dovetail.discovery.dns.question import Question
from dovetail.discovery.endpoint import Endpoint
from dovetail.discovery.zone import Meaning, replica_label

MOST_TCP_BYTES = 65_535
_IN = dns.rdataclass.IN
_A, _AAAA, _SRV, _TXT = dns.rdatatype.A, dns.rdatatype.AAAA, dns.rdatatype.SRV, dns.rdatatype.TXT
_ANY, _SOA, _HINFO = dns.rdatatype.ANY, dns.rdatatype.SOA, dns.rdatatype.HINFO
_SRV_WEIGHT = 10
_SRV_NUMBERS = struct.Struct("!HHH")  # priority, weight, port


@dataclass(frozen=True, slots=True)
class Prepared:
    """The records of an answer, tier by tier: nearest first. `additional`: those that come along with each, or none.
    `most`: how many are given over UDP."""

    rcode: dns.rcode.Rcode
    tiers: list[list[bytes]]
    additional: list[list[bytes]] = field(default_factory=list)
    authority: bytes = b""
    most: int | None = None

    @property
    def turns(self) -> int:
        """After so many turns the answers repeat."""
        return max(map(len, self.tiers), default=1)

    def wire(self, question: Question, head: AnswerHead, turn: int, *, tcp: bool) -> bytes:
        """The answer in which equally near endpoints begin with another one at each turn."""
        answer, additional = _rotated(self.tiers, turn), _rotated(self.additional, turn)
        if tcp:
            return joined(head, self.rcode, MOST_TCP_BYTES, answer, self.authority, additional)
        return joined(head, self.rcode, question.udp_bytes, answer[: self.most], self.authority, additional)


def _rotated(tiers: list[list[bytes]], turn: int) -> list[bytes]:
    found: list[bytes] = []
    for tier in tiers:
        first = turn % len(tier)
        found += tier[first:]
        found += tier[:first]
    return found


class RecordWriter:
    """`domain`: the zone's name. `most_addresses`: in one answer over UDP."""

    def __init__(self, domain: dns.name.Name, ttl_s: int, most_addresses: int, *, recurses: bool) -> None:
        self._domain, self._ttl_s, self._most = domain, ttl_s, most_addresses
        self._recurses = recurses

    def head(self, question: Question) -> AnswerHead:
        return head_of(question, self._domain, recurses=self._recurses)

    def prepare(
        self, question: Question, head: AnswerHead, meaning: Meaning, tiers: list[list[Endpoint]], serial: int
    ) -> Prepared:
        if not meaning.exists:
            return Prepared(dns.rcode.NXDOMAIN, [], authority=self._soa(head, serial))
        found = self._records(question, meaning, tiers, serial)
        return found if found.tiers else replace(found, authority=self._soa(head, serial))

    def _records(self, question: Question, meaning: Meaning, tiers: list[list[Endpoint]], serial: int) -> Prepared:
        kind, ttl_s, well = question.kind, self._ttl_s, dns.rcode.NOERROR
        if kind == _ANY:
            return Prepared(well, [[record(OF_QUESTION, _HINFO, ttl_s, _wire(HINFO(_IN, _HINFO, b"RFC8482", b"")))]])
        if kind == _SOA and not question.name:
            return Prepared(well, [[self._soa(None, serial)]])
        if meaning.is_group or (meaning.port is None) == (kind == _SRV):
            return Prepared(well, [])
        if kind in (_A, _AAAA) and meaning.port is None:
            return Prepared(well, _addresses(tiers, kind, ttl_s), most=self._most)
        if kind == _TXT and meaning.port is None:
            return Prepared(well, [[record(OF_QUESTION, _TXT, ttl_s, _text(one)) for one in tier] for tier in tiers])
        return Prepared(well, []) if meaning.port is None else self._services(question, meaning.port, tiers)

    def _services(self, question: Question, port: str, tiers: list[list[Endpoint]]) -> Prepared:
        """A farther tier has a lower priority. The addresses come along as far as there is room."""
        if question.kind != _SRV:
            return Prepared(dns.rcode.NOERROR, [])
        service = _after_protocol(question.asked).to_wire() or b""
        answer: list[list[bytes]] = [[] for _ in tiers]
        additional: list[list[bytes]] = [[] for _ in tiers]
        for far, tier in enumerate(tiers):
            for one in tier:
                number, label = _address(one.address), replica_label(one).encode()
                target = bytes((len(label),)) + label + service
                if number is None:  # the node is reached by a name, so that is the target
                    target = dns.name.from_text(one.address).to_wire() or b""
                else:
                    additional[far].append(record(target, number[0], self._ttl_s, number[1]))
                data = _SRV_NUMBERS.pack(min(far, 0xFFFF), _SRV_WEIGHT, one.ports[port]) + target
                answer[far].append(record(OF_QUESTION, _SRV, self._ttl_s, data))
        return Prepared(dns.rcode.NOERROR, answer, [tier for tier in additional if tier])

    def _soa(self, head: AnswerHead | None, serial: int) -> bytes:
        """`head` None: the domain itself was asked for."""
        owner = OF_QUESTION if head is None else head.of_domain
        return record(owner, _SOA, self._ttl_s, _soa_data(self._domain, serial & 0xFFFFFFFF, self._ttl_s))


def _wire(data: dns.rdata.Rdata) -> bytes:
    return data.to_wire() or b""


@lru_cache(maxsize=16)
def _soa_data(domain: dns.name.Name, serial: int, ttl_s: int) -> bytes:
    server, person = (dns.name.Name((label, *domain.labels)) for label in (b"dns", b"hostmaster"))
    return _wire(SOA(_IN, _SOA, server, person, serial, 3600, 600, 86_400, ttl_s))


def _after_protocol(asked: dns.name.Name) -> dns.name.Name:
    """The name of the service in `_http._tcp.web.default.dovetail`."""
    place = next(place for place, label in enumerate(asked.labels) if label.lower() in (b"_tcp", b"_udp"))
    return dns.name.Name(asked.labels[place + 1 :])


@lru_cache(maxsize=50_000)
def _address(text: str) -> tuple[int, bytes] | None:
    """The type of its record, and what that holds; None for the name of a host."""
    try:
        version = ip_address(text).version
    except ValueError:
        return None
    return (_A, _wire(A(_IN, _A, text))) if version == 4 else (_AAAA, _wire(AAAA(_IN, _AAAA, text)))


@lru_cache(maxsize=50_000)
def _address_record(text: str, ttl_s: int) -> tuple[int, bytes] | None:
    found = _address(text)
    return None if found is None else (found[0], record(OF_QUESTION, found[0], ttl_s, found[1]))


def _addresses(tiers: list[list[Endpoint]], kind: int, ttl_s: int) -> list[list[bytes]]:
    """Each once: replicas of one node share its address."""
    seen: set[str] = set()
    found = []
    for tier in tiers:
        texts = dict.fromkeys(one.address for one in tier if one.address not in seen)
        seen.update(texts)
        records = (_address_record(text, ttl_s) for text in texts)
        found.append([one[1] for one in records if one is not None and one[0] == kind])
    return [tier for tier in found if tier]


def _text(one: Endpoint) -> bytes:
    facts = [f"replica={one.index}", f"revision={one.revision}", f"node={one.node}"]
    facts += [f"{name}={one.address}:{number}" for name, number in one.ports.items()]
    return _wire(TXT(_IN, _TXT, [fact.encode()[:255] for fact in facts]))
