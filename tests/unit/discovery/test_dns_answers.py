"""Bytes in, bytes out: what a DNS client reads in the answers."""

from collections.abc import Iterable

import dns.edns
import dns.flags
import dns.message
import dns.opcode
import dns.rcode
import dns.rdataclass
import dns.rdatatype
import pytest
from tests.unit.discovery.endpoints import changes, endpoint, mirror

from dovetail.discovery.dns.answers import MOST_KEPT, MOST_QUESTIONS, Answers
from dovetail.discovery.endpoint import Endpoint

WEB = [endpoint("web", index, f"n{index}", f"10.0.0.{index}") for index in range(3)]
SIX = endpoint("six", 0, "n0", "fd00::1")
NAMED = endpoint("named", 0, "n0", "host.example.org")


def answers(*endpoints: Endpoint, **how: bool) -> Answers:
    return Answers(mirror(*(endpoints or (*WEB, SIX, NAMED))), "dovetail", 5, **how)


def asked(
    found: Answers, name: str, kind: str = "A", *, group: str = "", tcp: bool = False, edns: bool = True
) -> dns.message.Message:
    query = dns.message.make_query(name, kind, use_edns=0 if edns else -1, payload=4096)
    wire = (found.reply_over_tcp if tcp else found.reply)(query.to_wire(), group)
    assert wire is not None
    assert tcp or len(wire) <= (1232 if edns else 512)
    answer = dns.message.from_wire(wire)
    assert query.is_response(answer)
    return answer


def values(answer: dns.message.Message) -> list[str]:
    return [record.to_text() for records in answer.answer for record in records]


def test_addresses_come_with_the_authority_of_the_domain() -> None:
    answer = asked(answers(), "web.default.dovetail")
    assert set(values(answer)) == {"10.0.0.0", "10.0.0.1", "10.0.0.2"}
    assert answer.answer[0].ttl == 5
    assert answer.flags & dns.flags.AA
    assert not answer.flags & dns.flags.RA
    assert answer.edns == 0


def test_names_are_compared_without_case_and_given_back_as_they_were_asked() -> None:
    answer = asked(answers(), "WEB.DovetaiL")
    assert len(values(answer)) == 3
    assert answer.question[0].name.to_text() == "WEB.DovetaiL."


def test_addresses_of_the_other_family_are_another_type() -> None:
    assert values(asked(answers(), "six.dovetail", "AAAA")) == ["fd00::1"]
    empty = asked(answers(), "six.dovetail", "A")
    assert (empty.rcode(), empty.answer) == (dns.rcode.NOERROR, [])


def test_services_name_their_endpoints_with_ports_and_addresses() -> None:
    answer = asked(answers(), "_http._tcp.web.default.dovetail", "SRV", group="")
    assert {text.split(maxsplit=2)[2] for text in values(answer)} == {
        f"{20_000 + index} {index}-r1.web.default.dovetail." for index in range(3)
    }
    assert {records[0].to_text() for records in answer.additional} == {"10.0.0.0", "10.0.0.1", "10.0.0.2"}
    for records in answer.additional:
        assert values(asked(answers(), records.name.to_text())) == [records[0].to_text()]


def test_a_node_that_is_reached_by_a_name_is_the_target_itself() -> None:
    answer = asked(answers(), "_http._tcp.named.dovetail", "SRV")
    assert values(answer) == ["0 10 20000 host.example.org."]
    assert asked(answers(), "named.dovetail").answer == []


def test_texts_describe_each_endpoint() -> None:
    assert '"replica=0" "revision=1" "node=n0" "http=10.0.0.0:20000"' in values(asked(answers(), "web.dovetail", "TXT"))


@pytest.mark.parametrize(
    ("name", "kind", "rcode"),
    [
        ("nobody.dovetail", "A", dns.rcode.NXDOMAIN),
        ("web.dovetail", "MX", dns.rcode.NOERROR),
        ("web.dovetail", "SRV", dns.rcode.NOERROR),
        ("_http._tcp.web.dovetail", "A", dns.rcode.NOERROR),
        ("default.dovetail", "A", dns.rcode.NOERROR),
        ("dovetail", "A", dns.rcode.NOERROR),
    ],
)
def test_what_is_not_there_says_how_long_that_holds(name: str, kind: str, rcode: dns.rcode.Rcode) -> None:
    answer = asked(answers(), name, kind)
    assert (answer.rcode(), answer.answer) == (rcode, [])
    (soa,) = answer.authority
    assert (soa.name.to_text(), soa.rdtype, soa.ttl, soa[0].minimum) == ("dovetail.", dns.rdatatype.SOA, 5, 5)


def test_the_domain_has_a_start_of_authority() -> None:
    assert asked(answers(), "dovetail", "SOA").answer[0].rdtype == dns.rdatatype.SOA


def test_names_outside_the_domain_are_refused() -> None:
    for name in ("example.org", "dovetail.org", "xdovetail", "."):
        answer = asked(answers(), name)
        assert answer.rcode() == dns.rcode.REFUSED
        assert not answer.flags & dns.flags.AA


def test_nobody_gets_all_records_of_a_name() -> None:
    answer = asked(answers(), "web.dovetail", "ANY")
    assert [records.rdtype for records in answer.answer] == [dns.rdatatype.HINFO]


def test_the_nearest_come_first_and_equally_near_ones_take_turns() -> None:
    found = answers()
    found.set_distances("n2", {"n0": 50.2, "n1": 49.8, "n2": 0})
    firsts = [values(asked(found, "web.dovetail", group="n2")) for _ in range(4)]
    assert {texts[0] for texts in firsts} == {"10.0.0.2"}
    assert {texts[1] for texts in firsts} == {"10.0.0.0", "10.0.0.1"}
    in_turn = [values(asked(found, "web.dovetail"))[0] for _ in range(6)]
    assert sorted(in_turn) == ["10.0.0.0"] * 2 + ["10.0.0.1"] * 2 + ["10.0.0.2"] * 2
    priorities = {
        text.split()[3]: text.split()[0] for text in values(asked(found, "_http._tcp.web.dovetail", "SRV", group="n2"))
    }
    assert priorities == {f"{index}-r1.web.dovetail.": "0" if index == 2 else "1" for index in range(3)}


def test_other_distances_count_from_the_next_query_on() -> None:
    found = answers()
    for near in ("n0", "n1", "n0"):
        found.set_distances("asks", {"n0": 9, "n1": 9, "n2": 9} | {near: 1})
        assert values(asked(found, "web.dovetail", group="asks"))[0] == f"10.0.0.{near[1]}"


def test_an_endpoint_that_is_gone_is_in_no_answer() -> None:
    copy = mirror(*WEB)
    found = Answers(copy, "dovetail", 5)
    for _ in range(5):
        asked(found, "web.dovetail")
        asked(found, "_http._tcp.web.dovetail", "SRV")
    services, _ = copy.apply(changes(full=False, services=[], version=2, endpoints_gone=[WEB[1].workload]))
    found.changed(services, names=False)
    for _ in range(10):
        assert set(values(asked(found, "web.dovetail"))) == {"10.0.0.0", "10.0.0.2"}
        assert len(values(asked(found, "_http._tcp.web.dovetail", "SRV"))) == 2
    assert asked(found, "1.web.dovetail").answer == []


def test_a_service_that_comes_and_goes_has_a_name_meanwhile() -> None:
    copy = mirror(*WEB)
    found = Answers(copy, "dovetail", 5)
    assert asked(found, "new.dovetail").rcode() == dns.rcode.NXDOMAIN
    new = endpoint("new", 0, "n0", "10.0.0.9")
    found.changed(copy.apply(changes(new, full=False))[0])
    assert values(asked(found, "new.dovetail")) == ["10.0.0.9"]
    found.changed(copy.apply(changes(full=False, services_gone=[["default", "new"]], endpoints_gone=[new.workload]))[0])
    assert asked(found, "new.dovetail").rcode() == dns.rcode.NXDOMAIN


def many(count: int) -> Iterable[Endpoint]:
    return (
        endpoint("web", index, f"n{index}", f"10.0.{index // 250}.{index % 250}", workload=index)
        for index in range(count)
    )


def test_only_the_nearest_addresses_come_over_udp_and_all_over_tcp() -> None:
    found = answers(*many(400))
    answer = asked(found, "web.dovetail")
    assert len(values(answer)) == 8
    assert not answer.flags & dns.flags.TC
    assert len(values(asked(found, "web.dovetail", tcp=True))) == 400


@pytest.mark.parametrize(("name", "kind"), [("_http._tcp.web.dovetail", "SRV"), ("web.dovetail", "TXT")])
@pytest.mark.parametrize("edns", [True, False])
def test_what_does_not_fit_says_so_and_comes_over_tcp(name: str, kind: str, edns: bool) -> None:
    found = answers(*many(100))
    assert asked(found, name, kind, edns=edns).flags & dns.flags.TC
    whole = asked(found, name, kind, tcp=True)
    assert not whole.flags & dns.flags.TC
    assert len(values(whole)) == 100


def test_a_query_without_edns_gets_an_answer_without() -> None:
    assert asked(answers(), "web.dovetail", edns=False).edns == -1


def test_options_of_a_query_are_no_reason_to_keep_its_answer() -> None:
    found = answers()
    cookie = dns.edns.GenericOption(dns.edns.OptionType.COOKIE, b"12345678")
    for _ in range(3):
        query = dns.message.make_query("web.dovetail", "A", use_edns=0, options=[cookie])
        assert dns.message.from_wire(found.reply(query.to_wire()) or b"").answer
    assert found.counts.kept == 0


def reply(data: bytes) -> dns.message.Message | None:
    wire = answers().reply(data)
    return None if wire is None else dns.message.from_wire(wire)


def test_packets_that_are_no_queries_get_no_answer() -> None:
    query = dns.message.make_query("web.dovetail", "A")
    assert reply(dns.message.make_response(query).to_wire()) is None
    assert reply(b"") is None
    assert reply(b"short") is None


def test_what_cannot_be_read_is_answered_with_what_is_wrong() -> None:
    whole = dns.message.make_query("web.dovetail", "A").to_wire()
    for data in (whole[:-3], whole[:12], whole[:4] + b"\0\2" + whole[6:], whole + b"more"):
        answer = reply(data)
        assert answer is not None
        assert answer.rcode() == dns.rcode.FORMERR
    update = dns.message.make_query("web.dovetail", "A")
    update.set_opcode(dns.opcode.NOTIFY)
    answer = reply(update.to_wire())
    assert answer is not None
    assert answer.rcode() == dns.rcode.NOTIMP
    chaos = reply(dns.message.make_query("web.dovetail", "TXT", dns.rdataclass.CH).to_wire())
    assert chaos is not None
    assert chaos.rcode() == dns.rcode.REFUSED
    newer = reply(dns.message.make_query("web.dovetail", "A", use_edns=1).to_wire())
    assert newer is not None
    assert newer.rcode() == dns.rcode.BADVERS


def test_memory_is_bounded_whatever_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dovetail.discovery.dns.answers.MOST_KEPT", 10)
    monkeypatch.setattr("dovetail.discovery.dns.answers.MOST_QUESTIONS", 10)
    assert MOST_KEPT > 10 < MOST_QUESTIONS
    found = answers()
    for number in range(50):
        asked(found, f"n{number}.dovetail")
        asked(
            found,
            "".join(letter.upper() if number >> place & 1 else letter for place, letter in enumerate("web.dovetail")),
        )
    assert len(found._kept) <= 10
    assert len(found._questions) <= 10
    assert sum(map(len, found._kept_of.values())) <= 10
