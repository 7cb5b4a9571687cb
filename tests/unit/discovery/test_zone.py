"""What names mean."""

import pytest
from tests.unit.discovery.endpoints import by_id, endpoint, mirror

from dovetail.discovery.endpoint import DiscoveredService, Endpoint
from dovetail.discovery.zone import Zone

WEB0, WEB1 = endpoint("web", 0, "n1", "10.0.0.1"), endpoint("web", 1, "n2", "10.0.0.2")
NEW0 = endpoint("web", 0, "n3", "10.0.0.3", revision=2)
TEAM = endpoint("web", 0, "n1", "10.0.0.1", namespace="team", workload=77)
DOTTED = endpoint("a.team", 0, "n1", "10.0.0.1")
SERVICES = [
    DiscoveredService("default", "web", 3, {"http": "tcp", "Log.In": "udp"}),
    DiscoveredService("team", "web", 1, {"http": "tcp"}),
    DiscoveredService("default", "a.team", 1, {"http": "tcp"}),
    DiscoveredService("default", "Idle", 0, {}),
]
UNANSWERED = ["", "team", "default", "idle", "2.web", "_tcp.web", "_udp.web.default", "_log.in._udp.web"]


@pytest.fixture
def zone() -> Zone:
    return Zone(mirror(WEB0, WEB1, NEW0, TEAM, DOTTED, services=SERVICES))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("web", [WEB0, WEB1, NEW0]),
        ("web.default", [WEB0, WEB1, NEW0]),
        ("web.team", [TEAM]),
        ("a.team", [DOTTED]),
        ("a.team.default", [DOTTED]),
        ("0.web", [WEB0, NEW0]),
        ("1.web.default", [WEB1]),
        ("0-r2.web.default", [NEW0]),
        ("_http._tcp.web", [WEB0, WEB1, NEW0]),
        ("_http._tcp.web.team", [TEAM]),
    ],
)
def test_a_name_means_endpoints(zone: Zone, name: str, expected: list[Endpoint]) -> None:
    found = zone.find(name)
    assert found.exists
    assert by_id(found.endpoints) == by_id(expected)


@pytest.mark.parametrize(
    "name", ["", "team", "default", "idle", "2.web", "_tcp.web", "_udp.web.default", "_log.in._udp.web"]
)
def test_a_name_may_exist_without_endpoints(zone: Zone, name: str) -> None:
    found = zone.find(name)
    assert found.exists
    assert found.endpoints == ()


@pytest.mark.parametrize(
    "name",
    [
        "nobody",
        "web.nobody",
        "3.web",
        "0-r9.web",
        "x.web.default",
        "_http._udp.web",
        "_http.web",
        "_tcp.nobody",
        "_x",
        ".",
    ],
)
def test_other_names_do_not_exist(zone: Zone, name: str) -> None:
    assert not zone.find(name).exists
