"""Neighbours as lldpctl tells them, from hosts and from switches."""

import json
from typing import Any

import pytest

from dovetail.model.network.topology_readers.lldp import read_lldp
from dovetail.model.text.complaint import Invalid

BRIDGE = [{"type": "Bridge", "enabled": True}, {"type": "Router", "enabled": False}]


def port(name: str, capability: Any = BRIDGE, speed: str | None = None) -> dict[str, Any]:
    about: dict[str, Any] = {"chassis": {name: {"capability": capability}}, "port": {}}
    if speed is not None:
        about["port"]["auto-negotiation"] = {"current": speed}
    return about


def report(*ports: dict[str, Any]) -> dict[str, Any]:
    return {"lldp": {"interface": [{f"eth{i}": one} for i, one in enumerate(ports)]}}


def read(**parts: Any) -> Any:
    return read_lldp(json.dumps(parts), "lldp.json")


def test_what_hosts_hang_on_is_a_switch_and_a_port_tells_its_speed() -> None:
    found = read(
        hosts={"n1": report(port("leaf1", speed="100GbaseCR4")), "n2": report(port("leaf1", speed="1000BaseTFD"))}
    )
    assert list(found.switches) == ["leaf1"]
    assert [(link.start, link.end, link.bandwidth) for link in found.links] == [
        ("n1", "leaf1", 100_000),
        ("n2", "leaf1", 1000),
    ]


def test_a_link_that_both_ends_tell_of_is_one_and_two_cables_are_two() -> None:
    hosts = {"n1": report(port("leaf1"), port("leaf1"))}
    switches = {"leaf1": report(port("n1", capability=[]), port("n1", capability=[]), port("spine1"))}
    found = read(hosts=hosts, switches=switches)
    assert sorted((link.start, link.end) for link in found.links) == [
        ("leaf1", "n1"),
        ("leaf1", "n1"),
        ("leaf1", "spine1"),
    ]
    assert set(found.switches) == {"leaf1", "spine1"}


def test_a_telephone_is_left_out() -> None:
    phone = port("desk", capability=[{"type": "Tel", "enabled": True}])
    found = read(hosts={"n1": report(port("leaf1"))}, switches={"leaf1": report(port("n1"), phone)})
    assert {name for link in found.links for name in (link.start, link.end)} == {"n1", "leaf1"}


def test_a_neighbour_without_a_name_is_known_by_its_id() -> None:
    nameless = {"chassis": {"id": {"type": "mac", "value": "00:11:22:33:44:55"}}, "port": {}}
    found = read(hosts={"n1": {"lldp": {"interface": {"eth0": nameless}}}})
    assert list(found.switches) == ["00:11:22:33:44:55"]


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({}, "hosts: no host has reported"),
        ({"host": {}}, "host: unknown field; this file has hosts and switches"),
        ({"hosts": []}, "no host has reported"),
        ({"hosts": {"n1": {}}}, "hosts.n1: has no lldp"),
        ({"hosts": {"n1": report()}}, "nobody has a neighbour"),
        ({"hosts": {"n1": {"lldp": {"interface": {"eth0": {}}}}}}, "port 'eth0' has no chassis"),
    ],
)
def test_a_mistake_is_named_with_its_place(parts: dict[str, Any], words: str) -> None:
    with pytest.raises(Invalid) as caught:
        read(**parts)
    assert words in str(caught.value)
