"""Definitions of services: what is refused, where, and what to do instead."""

from typing import Any

import pytest
import yaml

from dovetail.model.services.reading import services_of
from dovetail.model.services.service import Service
from dovetail.model.text.complaint import Invalid
from dovetail.model.text.document import read_documents

QUERY = {"url": "http://queue.example/length"}


def complaints(text: str) -> list[str]:
    with pytest.raises(Invalid) as raised:
        services_of(read_documents(text.encode(), "web.yaml"), "web.yaml")
    return [f"{one.line} {one.field}: {one.message}" for one in raised.value.complaints]


def refused(**fields: Any) -> str:
    """The only complaint about a service with these fields."""
    (found,) = complaints(yaml.safe_dump({"name": "web", "kind": "service", **fields}, sort_keys=False))
    return found.partition(" ")[2]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"name": "w" * 90}, "name: is 90 characters long; a service's has at most"),
        ({"replicas": -1}, "replicas: "),
        ({"replicas": 10_001}, "replicas: "),
        ({"replicas": "many"}, "replicas: "),
        ({"retries": 3}, "retries: "),
        ({"gang": {"min": 2}}, "gang: "),
        ({"ports": [{"name": "http"}, {"name": "http"}]}, "ports[1].name: 'http' is given twice"),
        ({"ports": [{"name": "a-b"}, {"name": "a.b"}]}, "ports[1].name: 'a.b' and 'a-b' would both be in the variable"),
        ({"ports": [{"name": "a", "port": 80}, {"name": "b", "port": 80}]}, "ports[1].port: 80 is given twice"),
        ({"ports": [{"name": "a", "port": 0}]}, "ports[0].port: "),
        ({"ports": [{"name": "a", "port": 65536}]}, "ports[0].port: "),
        ({"ports": [{"name": "a", "protocol": "sctp"}]}, "ports[0].protocol: "),
        ({"ports": [{"port": 80}]}, "ports[0].name: "),
        ({"ports": "80"}, "ports: "),
        ({"health": {"readiness": {}}}, "health.readiness: needs exactly one of tcp, http, grpc, command; got none"),
        ({"health": {"readiness": {"tcp": 80, "http": "/"}}}, "health.readiness: needs exactly one of"),
        ({"health": {"readiness": {"tcp": "http"}}}, "health.readiness.tcp.port: the service has no port 'http'"),
        ({"health": {"readiness": {"http": "/"}}}, "health.readiness.http: asks a port, and the service has none"),
        ({"health": {"liveness": {"http": {"path": "ok", "port": 80}}}}, "health.liveness.http.path: is not a path"),
        (
            {"health": {"liveness": {"http": {"path": "/\u00fc", "port": 1}}}},
            "health.liveness.http.path: is not a path",
        ),
        ({"health": {"liveness": {"http": {"path": "/a b", "port": 80}}}}, "health.liveness.http.path: is not a path"),
        ({"health": {"liveness": {"http": {"port": 80, "host": "a\r\nb"}}}}, "health.liveness.http.host: "),
        ({"health": {"liveness": {"tcp": 80, "every": "10ms"}}}, "health.liveness.every: "),
        ({"health": {"liveness": {"tcp": 80, "timeout": 0}}}, "health.liveness.timeout: "),
        ({"health": {"liveness": {"tcp": 80, "failures": 0}}}, "health.liveness.failures: "),
        ({"health": {"liveness": {"command": []}}}, "health.liveness.command: "),
        ({"health": {"alive": {"tcp": 80}}}, "health.alive: "),
        ({"update": {"max_surge": 0}}, "update: max_unavailable and max_surge are both 0"),
        ({"update": {"strategy": "canary"}}, "update.strategy: "),
        ({"update": {"healthy_within": "500ms"}}, "update.healthy_within: "),
        ({"update": {"drain": "2h"}}, "update.drain: "),
        ({"autoscale": {"max": 3, "target": 1}}, "autoscale: needs exactly one of cpu, query, requests; got none"),
        ({"autoscale": {"max": 1, "min": 2, "target": 1, "query": QUERY}}, "autoscale.max: is below min: 2"),
        ({"autoscale": {"max": 2, "target": 0, "query": QUERY}}, "autoscale.target: "),
        ({"autoscale": {"max": 2, "target": 1, "query": {"url": "ftp://x"}}}, "autoscale.query.url: "),
        ({"autoscale": {"max": 2, "target": 1, "cpu": True}}, "autoscale.cpu: is a part of the cores asked for"),
        ({"autoscale": {"max": 2, "target": 1, "requests": {"counter": "x"}}}, "autoscale.requests.port: is none of"),
    ],
    ids=str,
)
def test_a_mistake_is_named_with_its_field(fields: dict[str, Any], expected: str) -> None:
    assert refused(**fields).startswith(expected)


def test_every_mistake_of_a_file_is_named_with_its_line() -> None:
    text = """name: web
kind: service
health:
  readiness: {http: healthz}
update:
  strategy: canary
---
name: web
kind: service
"""
    assert [one.partition(":")[0] for one in complaints(text)] == [
        "4 health.readiness.http.path",
        "6 update.strategy",
        "8 name",
    ]


def test_short_forms_mean_the_long_ones() -> None:
    short = {"startup": {"tcp": 80}, "readiness": {"http": "/ok"}, "liveness": {"grpc": "http"}}
    long = {
        "startup": {"tcp": {"port": 80}},
        "readiness": {"http": {"path": "/ok"}},
        "liveness": {"grpc": {"port": "http"}},
    }
    fields = {"name": "w", "ports": [{"name": "http"}]}
    one, other = (Service.model_validate({**fields, "health": health}) for health in (short, long))
    assert one.health == other.health


def test_the_same_port_for_tcp_and_udp_is_two_ports() -> None:
    ports = [{"name": "dns", "port": 53}, {"name": "dns-udp", "port": 53, "protocol": "udp"}]
    assert len(Service.model_validate({"name": "dns", "ports": ports}).ports) == 2
