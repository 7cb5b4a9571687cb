"""Which Host and Origin headers are ours."""

import socket

import pytest

from dovetail.api.protocol.known_hosts import KnownHosts
from dovetail.control.settings import Listen

LOCAL = KnownHosts(Listen())
PUBLIC = KnownHosts(Listen(host="0.0.0.0", tls={}, names=["sched.example.org", ".svc.cluster.local"]))


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:8080", "127.0.0.1:1", "[::1]:8080", "192.168.1.7", "[fe80::1]"]
)
def test_loopback_names_and_addresses_are_always_ours(host: str) -> None:
    assert LOCAL.unknown_name(host) is None


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "", "a b", "[x"])
def test_other_names_are_not(host: str) -> None:
    assert LOCAL.unknown_name(host) is not None


def test_names_from_the_settings_are_ours_and_those_below_a_dot() -> None:
    assert PUBLIC.unknown_name("sched.example.org:8080") is None
    assert PUBLIC.unknown_name("Dovetail.prod.SVC.cluster.local") is None
    assert PUBLIC.unknown_name(socket.gethostname()) is None
    assert PUBLIC.unknown_name("svc.cluster.local") == "svc.cluster.local"
    assert PUBLIC.unknown_name("xsched.example.org") == "xsched.example.org"


def test_a_page_is_ours_if_it_came_from_the_same_host_or_from_a_listed_name() -> None:
    assert not LOCAL.is_foreign("http://localhost:8080", "localhost:8080")
    assert LOCAL.is_foreign("http://localhost:3000", "localhost:8080")
    assert LOCAL.is_foreign("null", "localhost:8080")
    assert not PUBLIC.is_foreign("https://sched.example.org", "10.0.0.7:8080")
    assert PUBLIC.is_foreign("https://evil.example", "10.0.0.7:8080")
