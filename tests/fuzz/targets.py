"""What reads text from outside, as a list of targets for fuzzers: Hypothesis and, where it is installed, Atheris.

A target takes any bytes. It returns if they were read or refused with the typed error of the parser; anything else that
it raises is a fault. What was read is written and read again where it can be: it must not change.
"""

import base64
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import dns.message
from pydantic import BaseModel
from starlette.datastructures import Headers

from dovetail.agent.probing import packets
from dovetail.api.protocol.guard import _token_in
from dovetail.api.protocol.known_hosts import KnownHosts, one_host
from dovetail.api.protocol.reading import JSON, YAML, read_model, read_workloads
from dovetail.backends.machines.cloud_init.console_lines import ConsoleLines
from dovetail.backends.metal.ipmi import sensor_readings
from dovetail.backends.metal.settings import ipmi_address
from dovetail.constraints.error import ExpressionError
from dovetail.constraints.programs.program import compile_cluster, compile_node
from dovetail.constraints.syntax.parser import parse
from dovetail.constraints.syntax.writer import write
from dovetail.control.settings import Listen
from dovetail.discovery.dns.answers import Answers
from dovetail.discovery.dns.question import MAX_UDP_BYTES, RefusedQuery
from dovetail.discovery.dns.settings import parse_address
from dovetail.discovery.mirror import EndpointMirror, UnreadableCopy
from dovetail.model.network.distance_list import read_distances
from dovetail.model.network.topology_format import TopologyFormat
from dovetail.model.network.topology_readers.reading import read_topology
from dovetail.model.node import Node
from dovetail.model.policy import Policy
from dovetail.model.record import spec_text
from dovetail.model.reservation import Reservation
from dovetail.model.text import quantity
from dovetail.model.text.complaint import Invalid
from dovetail.model.text.document import decode
from dovetail.model.text.hostlist import expanded
from dovetail.model.text.moment import parse_moment
from dovetail.model.workloads.array_indices import parse_array
from dovetail.model.workloads.workload import Workload
from dovetail.simulate.work.arrival import NodeSizes
from dovetail.simulate.work.files import read_work
from dovetail.snapshots.file import read_snapshot, written

MAX_BYTES, MAX_WORKLOADS = 2**20, 100


def _console(data: bytes) -> object:
    """As it is, and as what a job writes that knows its own word."""
    lines = ConsoleLines("0" * 32)
    lines.take(data.decode("utf-8", "replace"))
    for kind, number in (("out", "0"), ("end", "-")):
        text = f"dovetail {lines.nonce} {kind} {number} {base64.b64encode(data).decode() or '-'}"
        lines.take(f"{text} {zlib.crc32(text.encode()):08x}\n")
    return None if lines.end is None else lines.output()


@dataclass(frozen=True)
class Target:
    """`refuses`: the error for what cannot be read. `seeds`: examples to start from."""

    read: Callable[[bytes], object]
    refuses: type[Exception]
    seeds: tuple[str, ...]

    def __call__(self, data: bytes) -> None:
        with suppress(self.refuses):
            self.read(data)


def _text(read: Callable[[str], Any]) -> Callable[[bytes], object]:
    return lambda data: read(data.decode("utf-8", "replace"))


def _quantity(parse_it: Callable[[object], Any], write_it: Callable[[Any], object]) -> Callable[[bytes], object]:
    def read(text: str) -> None:
        found = parse_it(text)
        assert parse_it(write_it(found)) == found

    return _text(read)


def _expression(text: str) -> None:
    tree = parse(text)
    assert parse(write(tree)) == tree
    compile_node(text)


def _workloads(media_type: str) -> Callable[[bytes], object]:
    def read(data: bytes) -> None:
        for found in read_workloads(data, media_type, MAX_BYTES, MAX_WORKLOADS):
            assert Workload.model_validate_json(spec_text(found)) == found, "what is stored is what was read"

    return read


def _model(model: type[BaseModel], media_type: str, *, all_fields: bool = False) -> Callable[[bytes], object]:
    """`all_fields`: they are stored with those that were left out."""

    def read(data: bytes) -> None:
        found = read_model(data, media_type, MAX_BYTES, model, None)
        assert model.model_validate_json(found.model_dump_json(exclude_unset=not all_fields)) == found

    return read


def _topology(kind: TopologyFormat) -> Callable[[bytes], object]:
    return lambda data: read_topology(data, "fuzz", kind)


def _headers(data: bytes) -> None:
    """Host, Origin and Authorization, one a line, as bytes that a client may send."""
    lines = [line for line in data.replace(b"\r", b"").split(b"\n") if line]
    names = (b"host", b"origin", b"authorization")
    headers = Headers(raw=[(names[place % 3], line) for place, line in enumerate(lines)])
    hosts = KnownHosts(Listen())
    host = one_host(headers.getlist("Host"), "1.1") or ""
    hosts.unknown_name(host)
    for origin in headers.getlist("Origin"):
        hosts.is_foreign(origin, host)
    _token_in(headers, "GET")


def _dns(data: bytes) -> None:
    """Any packet is answered with one that can be read and is not too long, or with none."""
    answers = Answers(_MIRROR, "dovetail", 5)
    for group in ("", "n1"):
        answers.set_distances("n1", {"n1": 0.0})
        wire = answers.reply(data, group)
        assert wire is None or len(wire) <= MAX_UDP_BYTES
        for answer in (wire, answers.reply(data, group), answers.reply_over_tcp(data, group)):
            assert answer is None or dns.message.from_wire(answer).id == int.from_bytes(data[:2], "big")


def _hex(read: Callable[[bytes], object]) -> Callable[[bytes], object]:
    """Seeds of a binary format are written in hexadecimal; other inputs are taken as they are."""

    def either(data: bytes) -> object:
        try:
            return read(bytes.fromhex(data.decode("ascii")))
        except ValueError:
            return read(data)

    return either


_MIRROR = EndpointMirror.read(
    '{"format": 1, "services": [{"namespace": "default", "name": "web", "replicas": 2, "protocols": {"http": "tcp"}}],'
    ' "endpoints": [{"namespace": "default", "service": "web", "index": 0, "revision": 1, "workload": 1, "node": "n1",'
    ' "address": "10.0.0.1", "ports": {"http": 80}}], "nodes": []}'
)
_COPY = '{"format": 1, "services": [], "endpoints": [], "nodes": []}'
_DNS_QUERY = "123401000001000000000001037765620864 6f76657461696c0000010001000029100000000000000000".replace(" ", "")
_SRV_QUERY = "000101000001000000000000055f68747470045f746370037765620864 6f76657461696c0000210001".replace(" ", "")

_WORK = """
name: a
replicas: 2
resources: {cpu: 500m, memory: 1GiB}
labels: {zone: 1.10}
run: {command: [x, &a 007, *a]}
"""
_JSON = '{"workloads": [{"name": "a", "array": "1-9:2%2", "constraints": [{"require": "node.free.cpu > 1"}]}]}'
_POLICY = """
name: p
prefer: node.labels.zone in ['a']
adjust: [{when: 'domain("zone", "a").utilisation.cpu > 0.5', off: true}]
"""
_LLDP = '{"hosts": {"n1": {"lldp": {"interface": [{"eth0": {"chassis": {"s1": {"id": {"value": "x"}}}}}]}}}}'
_NODE_LIST = '{"items": [{"metadata": {"name": "n", "labels": {"topology.kubernetes.io/zone": "a"}}}]}'


def _packet(data: bytes) -> None:
    """One that was read and written again is the same, but for who sent it."""
    found = packets.decode(data)
    if found is not None:
        again = packets.encode(found, b"key", len(data))
        assert packets.decode(again) == found
        assert packets.is_genuine(again, b"key")


def _snapshot(data: bytes) -> None:
    document = read_snapshot(data, "fuzz")
    assert read_snapshot(written(document), "fuzz") == document


TARGETS: dict[str, Target] = {
    "snapshot": Target(
        _snapshot,
        Invalid,
        (
            """{"format": "dovetail-snapshot", "version": 1, "taken_at": 1,
            "nodes": [{"node": {"name": "n"}, "row": 0}]}""",
            """{"format": "dovetail-snapshot", "version": 1, "taken_at": 1, "workloads": [
            {"id": 1, "submitted_at": 0, "definition": {"name": "w"}, "tasks": [{"replica": 0}]}]}""",
        ),
    ),
    "work": Target(
        lambda data: read_work(data, "fuzz", NodeSizes(8.0, 8)),
        Invalid,
        (
            "; MaxProcs: 4\n1 0 0 60 4 -1 -1 4 60 -1 1 1 1 1 1 1 -1 -1\n",
            "name,cpu_milli,memory_mib,num_gpu,gpu_milli\na,1000,1,1,1000\n",
            "timestamp,duration,num_gpus\n2017-10-09 07:01:55,1,1\n",
            """[{"submitted_time": "2017-10-09 07:01:55", "attempts": [{"start_time": "2017-10-09 07:01:55",
            "end_time": "2017-10-09 07:01:56", "detail": [{"gpus": ["gpu0"]}]}]}]""",
            '{"items": [{"name": "a", "submitted_at": 1, "started_at": 2, "finished_at": 3, "cpu": 1}]}',
            "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{resources: {requests: {cpu: 1}}}]}}",
            "- {name: a, at: 10m}",
        ),
    ),
    "expression": Target(
        _text(_expression),
        ExpressionError,
        ('node.labels["zone"] == "east" && node.free.cpu >= 1.5', "[1, 2].all(x, x > -1) ? true : !has(node.labels.a)"),
    ),
    "cluster expression": Target(
        _text(compile_cluster), ExpressionError, ('domain("zone", "east").utilisation.cpu >= 0.5',)
    ),
    "cores": Target(_quantity(quantity.parse_cores, quantity.format_cores), ValueError, ("500m", "1.5", "1e3")),
    "bytes": Target(_quantity(quantity.parse_bytes, quantity.format_bytes), ValueError, ("64GiB", "8.3GB", "1e3k")),
    "gpus": Target(_quantity(quantity.parse_gpus, quantity.format_gpus), ValueError, ("2", "250m", ".25")),
    "duration": Target(
        _quantity(quantity.parse_duration_s, quantity.format_duration), ValueError, ("1h30m", "90", "1.5s", "-1d")
    ),
    "bandwidth": Target(
        _quantity(quantity.parse_bandwidth_mbps, quantity.format_bandwidth), ValueError, ("400Gbps", "1 GBit/s")
    ),
    "latency": Target(_quantity(quantity.parse_latency_ns, quantity.format_latency), ValueError, ("5us", "2µs", "0")),
    "count": Target(_text(quantity.parse_count), ValueError, ("4", "1e3")),
    "moment": Target(
        _text(lambda text: parse_moment(text).after(0.0)), ValueError, ("now", "+2h", "2026-12-01T08:00+01:00")
    ),
    "array": Target(_text(parse_array), ValueError, ("1-10:3,12%2",)),
    "address of a controller": Target(_text(ipmi_address), ValueError, ("10.0.1.3:623", "[fd00::1]:623", "fd00::1")),
    "sensors of IPMI": Target(
        _text(lambda text: list(sensor_readings(text))), ValueError, ("CPU Temp,25,degrees C,ok\nFan,,,ns\n",)
    ),
    "console of a machine": Target(_console, ValueError, ('{"exit_code": 3, "reason": "", "parts": 1, "cut": 9}', "x")),
    "hostlist": Target(_text(expanded), ValueError, ("node[001-010,12],login[1-2]x[3]",)),
    "workloads in YAML": Target(_workloads(YAML), Invalid, (_WORK, f"- {{name: x}}\n---\n{_WORK}")),
    "workloads in JSON": Target(_workloads(JSON), Invalid, (_JSON,)),
    "policy": Target(_model(Policy, YAML), Invalid, (_POLICY,)),
    "node": Target(
        _model(Node, JSON, all_fields=True),
        Invalid,
        ('{"name": "n", "capacity": {"cpu": 1.5}, "gpus": [{"count": 8}]}',),
    ),
    "reservation": Target(_model(Reservation, YAML), Invalid, ("node: n1\nstart: +1h\nduration: 1h\nevery: 1d",)),
    "distances": Target(
        lambda data: read_distances(decode(data, "fuzz"), "fuzz"), Invalid, ("from,to,distance\na,b,30\n",)
    ),
    "probe packet": Target(_packet, ValueError, ("DVP1\x01\x00\x00\x38" + "\x00" * 48, "DVP1")),
    "topology in YAML": Target(
        _topology(TopologyFormat.YAML), Invalid, ("domains: {leaf: {l1: 'n[1-2]'}}\nlevels: [{name: leaf}]",)
    ),
    "topology of Slurm": Target(
        _topology(TopologyFormat.SLURM), Invalid, ("SwitchName=s1 Nodes=n[1-4]\nSwitchName=t Switches=s1\n",)
    ),
    "topology of LLDP": Target(_topology(TopologyFormat.LLDP), Invalid, (_LLDP,)),
    "topology in CSV": Target(_topology(TopologyFormat.CSV), Invalid, ("from,to,bandwidth\na,s1,10Gbps\n",)),
    "topology of Kubernetes": Target(
        _topology(TopologyFormat.KUBERNETES),
        Invalid,
        (_NODE_LIST,),
    ),
    "DNS query": Target(_hex(_dns), RefusedQuery, (_DNS_QUERY, _SRV_QUERY)),
    "socket address": Target(_text(parse_address), ValueError, ("127.0.0.1:5353", "[::1]:53", "fd00::1")),
    "copy of endpoints": Target(EndpointMirror.read, UnreadableCopy, (_COPY,)),
    "headers": Target(
        _headers,
        AssertionError,
        ("127.0.0.1:8080\nhttp://[::1]:80\nBearer abc", "a\nnull\nBasic dTpw", "[::1\nhttp://[bad"),
    ),
}
