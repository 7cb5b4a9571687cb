"""Addresses and domains in the settings of the DNS server."""

import pytest
from pydantic import ValidationError

from dovetail.discovery.dns.settings import DnsSettings, SocketAddress, parse_address


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("127.0.0.1:5353", SocketAddress("127.0.0.1", 5353)),
        ("10.0.0.1", SocketAddress("10.0.0.1", 53)),
        ("[::1]:5353", SocketAddress("::1", 5353)),
        ("[::1]", SocketAddress("::1", 53)),
        ("fd00::1", SocketAddress("fd00::1", 53)),
    ],
)
def test_an_address_has_a_port(text: str, expected: SocketAddress) -> None:
    assert parse_address(text) == expected


@pytest.mark.parametrize(
    "text", ["", "localhost:53", "127.0.0.1:", "127.0.0.1:0", "1.2.3.4:99999", "[::1]53", "[::1", "1.2.3.4:²"]
)
def test_other_text_is_refused_with_how_to_write_it(text: str) -> None:
    with pytest.raises(ValueError, match=r"127\.0\.0\.1:5353"):
        parse_address(text)


def test_a_domain_is_kept_in_lower_case_without_its_last_dot() -> None:
    assert DnsSettings(domain="Svc.Example.ORG.").domain == "svc.example.org"
    for wrong in ("", ".", "a..b", "a b", "x" * 64, "ä"):
        with pytest.raises(ValidationError):
            DnsSettings(domain=wrong)
