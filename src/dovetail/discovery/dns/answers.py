"""Bytes in, bytes out: the answer to a DNS query, from the endpoints that are known now. No I/O, no clock.

Most queries come again byte for byte but for their id, so whole answers are kept, by query and by group (the node that
asks): a kept answer costs one lookup. Answers about a service are forgotten when it changes, in the same call that
takes the change in; so none is given that names an endpoint known to be dead. Equally near endpoints take turns: the
answer is kept once for each turn, written when the turn first comes.

Guarantees: any bytes are answered or ignored, nothing is raised. Memory is bounded, whatever is asked.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import dns.flags
import dns.name
import dns.rcode
import dns.rdatatype

from dovetail.discovery.dns.message import AnswerHead, joined
from dovetail.discovery.dns.question import Question, RefusedQuery, header_reply, read_question
from dovetail.discovery.dns.records import Prepared, RecordWriter
from dovetail.discovery.endpoint import ServiceKey
from dovetail.discovery.mirror import EndpointMirror
from dovetail.discovery.ordering import tiers
from dovetail.discovery.zone import Meaning, Zone

MOST_KEPT = 20_000  # answers
MOST_QUESTIONS = 20_000
MOST_TURNS = 64  # of one answer
MOST_KEPT_BYTES = 512  # of a query whose answer is kept

_NAMES = {rcode: dns.rcode.to_text(rcode) for rcode in (dns.rcode.NOERROR, dns.rcode.NXDOMAIN)}

NOBODY = ""  # the group of those that ask from no node


@dataclass(slots=True)
class _Kept:
    """The answers to one query of one group, one a turn, without the id; None until the turn comes."""

    asked: "_Asked"
    prepared: Prepared
    wires: list[bytes | None]
    next: int = 0


class _Asked(NamedTuple):
    question: Question
    head: AnswerHead


@dataclass(slots=True)
class AnswerCounts:
    """`kept`: answers that were written before. `by_rcode`: of the others. `ignored`: without any answer."""

    kept: int = 0
    ignored: int = 0
    truncated: int = 0
    by_rcode: Counter[str] = field(default_factory=Counter)

    @property
    def answers(self) -> int:
        return self.kept + self.by_rcode.total()


class Answers:
    """`distances`: by node that asks, how far other nodes are. `forwards`: names outside the domain are not refused
    here, `reply` returns `OUTSIDE` for them."""

    OUTSIDE = b"outside"

    def __init__(
        self, mirror: EndpointMirror, domain: str, ttl_s: int, most_addresses: int = 8, *, forwards: bool = False
    ) -> None:
        self._mirror, self._domain = mirror, dns.name.from_text(domain.lower())
        self._zone = Zone(mirror)
        self._writer = RecordWriter(self._domain, ttl_s, most_addresses, recurses=forwards)
        self._forwards = forwards
        self._kept: dict[tuple[str, bytes], _Kept] = {}
        self._kept_of: dict[ServiceKey, list[tuple[str, bytes]]] = {}
        self._questions: dict[bytes, _Asked] = {}
        self._turn = 0
        self._distances: dict[str, dict[str, int]] = {}
        self.counts = AnswerCounts()

    # --- what is known -----------------------------------------------------------------------------------------------

    def changed(self, services: Iterable[ServiceKey], *, names: bool = True) -> None:
        """These services of the mirror are not as they were. `names`: some are new or gone."""
        if names:
            self._zone.forget()
        for key in services:
            for one in self._kept_of.pop(key, ()):
                self._kept.pop(one, None)

    def set_distances(self, group: str, distances: Mapping[str, float]) -> None:
        whole = {node: round(distance) for node, distance in distances.items()}
        if self._distances.get(group) != whole:
            self._distances[group] = whole
            self._forget_answers()

    def forget_distances(self, group: str) -> None:
        if self._distances.pop(group, None) is not None:
            self._forget_answers()

    def asking(self) -> list[str]:
        """The groups whose distances are known."""
        return list(self._distances)

    def reached_from(self, group: str) -> Set[str]:
        """The nodes whose distance from this group is known; none if nobody asked for them."""
        return self._distances.get(group, {}).keys()

    def _forget_answers(self) -> None:
        self._kept.clear()
        self._kept_of.clear()

    # --- answering ---------------------------------------------------------------------------------------------------

    def reply(self, data: bytes, group: str = NOBODY) -> bytes | None:
        """The answer over UDP; None: there is none. `OUTSIDE` where others have to be asked."""
        kept = self._kept.get((group, data[2:]))
        if kept is None:
            return self._first_reply(data, group)
        turn = kept.next
        kept.next = turn + 1 if turn + 1 < len(kept.wires) else 0
        wire = kept.wires[turn]
        if wire is None:
            question, head = kept.asked
            wire = kept.wires[turn] = kept.prepared.wire(question, head, turn, tcp=False)[2:]
        self.counts.kept += 1
        return data[:2] + wire

    def reply_over_tcp(self, data: bytes, group: str = NOBODY) -> bytes | None:
        """All of the answer, however many endpoints it names."""
        asked = self._asked(data)
        if not isinstance(asked, _Asked):
            return asked
        if asked.question.name is None:
            return self._outside(asked, data)
        meaning = self._zone.find(asked.question.name)
        self._turn += 1
        return data[:2] + self._written(asked, self._prepared(asked, meaning, group), self._turn, tcp=True)

    def refusal(self, data: bytes, rcode: dns.rcode.Rcode) -> bytes | None:
        """It came from nobody who answers for the domain."""
        asked = self._asked(data)
        if not isinstance(asked, _Asked):
            return asked
        self.counts.by_rcode[dns.rcode.to_text(rcode)] += 1
        head = replace(asked.head, flags=asked.head.flags & ~dns.flags.AA)
        return data[:2] + joined(head, rcode, asked.question.udp_bytes, ())[2:]

    def _first_reply(self, data: bytes, group: str) -> bytes | None:
        asked = self._asked(data)
        if not isinstance(asked, _Asked):
            return asked
        if asked.question.name is None:
            return self._outside(asked, data)
        meaning = self._zone.find(asked.question.name)
        prepared = self._prepared(asked, meaning, group)
        self._turn += 1
        turns = min(MOST_TURNS, prepared.turns)
        kept = _Kept(asked, prepared, [None] * turns, self._turn % turns)
        wire = self._written(asked, prepared, kept.next)
        if meaning.service is not None and meaning.exists and asked.question.repeats and len(data) <= MOST_KEPT_BYTES:
            kept.wires[kept.next] = wire
            kept.next = (kept.next + 1) % turns
            self._keep(group, data, meaning.service, kept)
        return data[:2] + wire

    def _keep(self, group: str, data: bytes, service: ServiceKey, kept: _Kept) -> None:
        if len(self._kept) >= MOST_KEPT:
            self._forget_answers()
        self._kept[group, data[2:]] = kept
        self._kept_of.setdefault(service, []).append((group, data[2:]))

    def _prepared(self, asked: _Asked, meaning: Meaning, group: str) -> Prepared:
        found = tiers(meaning.endpoints, self._distances.get(group))
        return self._writer.prepare(asked.question, asked.head, meaning, found, self._mirror.version)

    def _written(self, asked: _Asked, prepared: Prepared, turn: int, *, tcp: bool = False) -> bytes:
        """Without the id."""
        wire = prepared.wire(asked.question, asked.head, turn, tcp=tcp)
        self.counts.truncated += bool(wire[2] & 0x02)
        self.counts.by_rcode[_NAMES[prepared.rcode]] += 1
        return wire[2:]

    def _outside(self, asked: _Asked, data: bytes) -> bytes | None:
        if self._forwards and asked.question.kind != dns.rdatatype.ANY:
            return self.OUTSIDE
        return self.refusal(data, dns.rcode.REFUSED)

    def _asked(self, data: bytes) -> _Asked | bytes | None:
        """What is asked; otherwise the answer to what cannot be read."""
        found = self._questions.get(data[2:])
        if found is not None:
            return found
        try:
            question = read_question(data, self._domain)
        except RefusedQuery as refused:
            wire = None if refused.rcode is None else header_reply(data, refused.rcode)
            if wire is None:
                self.counts.ignored += 1
            else:
                self.counts.by_rcode[dns.rcode.to_text(refused.rcode or dns.rcode.FORMERR)] += 1
            return wire
        found = _Asked(question, self._writer.head(question))
        if question.name is not None and question.repeats and len(data) <= MOST_KEPT_BYTES:
            if len(self._questions) >= MOST_QUESTIONS:
                self._questions.clear()
            self._questions[data[2:]] = found
        return found
