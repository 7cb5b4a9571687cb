"""The records of a name, for one type and one turn; what a record holds is written by dnspython.

Guarantees: over UDP an answer has at most the size that the client takes, and 1,232 bytes. Addresses over UDP are the
nearest ones only; where SRV or TXT records do not fit, the answer says so (TC), and the client asks over TCP.
"""

from collections.abc import Iterable, Sequence
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
from dns.rdtypes.IN.SRV import SRV

from dovetail.discovery.dns.message import OF_QUESTION, AnswerHead, head_of, joined, record
from dovetail.discovery.dns.question import Question
from dovetail.discovery.endpoint import Endpoint
from dovetail.discovery.ordering import in_turn
from dovetail.discovery.zone import Meaning, replica_label

MOST_TCP_BYTES = 65_535
_IN = dns.rdataclass.IN
_A, _AAAA, _SRV, _TXT = dns.rdatatype.A, dns.rdatatype.AAAA, dns.rdatatype.SRV, dns.rdatatype.TXT
_ANY, _SOA, _HINFO = dns.rdatatype.ANY, dns.rdatatype.SOA, dns.rdatatype.HINFO
_SRV_WEIGHT = 10


class RecordWriter:
    """`domain`: the zone's name. `most_addresses`: in one answer over UDP."""

    def __init__(self, domain: dns.name.Name, ttl_s: int, most_addresses: int, *, recurses: bool) -> None:
        self._domain, self._ttl_s, self._most = domain, ttl_s, most_addresses
        self._recurses = recurses

    def head(self, question: Question) -> AnswerHead:
        return head_of(question, self._domain, recurses=self._recurses)

    def answer(
        self,
        question: Question,
        head: AnswerHead,
        meaning: Meaning,
        tiers: Sequence[Sequence[Endpoint]],
        turn: int,
        serial: int,
        *,
        tcp: bool,
    ) -> bytes:
        most_bytes = MOST_TCP_BYTES if tcp else question.udp_bytes
        if not meaning.exists:
            return joined(head, dns.rcode.NXDOMAIN, most_bytes, (), self._soa(head, serial))
        answer, additional = self._records(question, meaning, tiers, turn, serial, None if tcp else self._most)
        authority = b"" if answer else self._soa(head, serial)
        return joined(head, dns.rcode.NOERROR, most_bytes, answer, authority, additional)

    def _records(
        self,
        question: Question,
        meaning: Meaning,
        tiers: Sequence[Sequence[Endpoint]],
        turn: int,
        serial: int,
        most: int | None,
    ) -> tuple[list[bytes], list[bytes]]:
        """Those of the answer, and those that come along."""
        kind, ttl_s = question.kind, self._ttl_s
        if kind == _ANY:
            return [record(OF_QUESTION, _HINFO, ttl_s, _wire(HINFO(_IN, _HINFO, b"RFC8482", b"")))], []
        if kind == _SOA and not question.name:
            return [self._soa(None, serial)], []
        if meaning.is_group:
            return [], []
        if meaning.port is not None:
            return self._services(question, meaning.port, tiers, turn) if kind == _SRV else ([], [])
        ordered = in_turn(tiers, turn)
        if kind in (_A, _AAAA):
            return _addresses(ordered, kind, ttl_s)[:most], []
        return [record(OF_QUESTION, _TXT, ttl_s, _text(one)) for one in ordered] if kind == _TXT else [], []

    def _services(
        self, question: Question, port: str, tiers: Sequence[Sequence[Endpoint]], turn: int
    ) -> tuple[list[bytes], list[bytes]]:
        """A farther tier has a lower priority. The addresses come along as far as there is room."""
        service = _after_protocol(question.asked)
        answer, additional = [], []
        for far, tier in enumerate(tiers):
            for one in in_turn([tier], turn):
                number = _address(one.address)
                target = dns.name.Name((replica_label(one).encode(), *service.labels))
                if number is None:  # the node is reached by a name, so that is the target
                    target = dns.name.from_text(one.address)
                data = _wire(SRV(_IN, _SRV, min(far, 0xFFFF), _SRV_WEIGHT, one.ports[port], target))
                answer.append(record(OF_QUESTION, _SRV, self._ttl_s, data))
                if number is not None:
                    additional.append(record(target.to_wire() or b"", number[0], self._ttl_s, number[1]))
        return answer, additional

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


def _addresses(ordered: Iterable[Endpoint], kind: int, ttl_s: int) -> list[bytes]:
    """Each once: replicas of one node share its address."""
    found = (_address_record(text, ttl_s) for text in dict.fromkeys(one.address for one in ordered))
    return [one[1] for one in found if one is not None and one[0] == kind]


def _text(one: Endpoint) -> bytes:
    facts = [f"replica={one.index}", f"revision={one.revision}", f"node={one.node}"]
    facts += [f"{name}={one.address}:{number}" for name, number in one.ports.items()]
    return _wire(TXT(_IN, _TXT, [fact.encode()[:255] for fact in facts]))
