"""Traces of a live server, as an OTLP receiver gets them: whole, with the right parents and times, also after kills."""

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.server_process import ServerProcess
from tests.patience import wait_for
from tests.servers.otlp_collector import OtlpCollector, ReceivedSpan, otlp_collector
from tests.servers.own_token import OWN_TOKEN

from dovetail.client import Client

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("cli")]

GROUP = {"prefix": "n", "count": 2, "capacity": {"cpu": 8, "memory": "32GB"}}
TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
ROOT = "submit to running"
REQUEST = "POST /api/v1/workloads"


def settings(collector: OtlpCollector, **more: Any) -> dict[str, Any]:
    simulated = {"kind": "simulated", "forever": True, "groups": [GROUP], **more.pop("simulated", {})}
    return {
        "backends": more.pop("backends", {"sim": simulated}),
        "subsystems": {"tracing": {"endpoint": collector.url, "timeout": "2s", **more}},
    }


def checked(spans: list[ReceivedSpan], parent: str = "") -> dict[str, ReceivedSpan]:
    """By name, where names differ: one trace with one root, in which every span lies below its parent, also in time."""
    by_id = {one.id: one for one in spans}
    assert len({one.trace for one in spans}) == 1
    (root,) = [one for one in spans if one.parent not in by_id]
    assert root.parent == parent
    assert root.name == ROOT
    for one in spans:
        assert one.began_at <= one.ended_at, one
        above = by_id.get(one.parent)
        if above is not None:
            assert above.began_at <= one.began_at + 1e-6, (one, above)
            assert one.ended_at <= above.ended_at + 1e-6, (one, above)
    return {one.name: one for one in spans}


def below(spans: list[ReceivedSpan], parent: ReceivedSpan) -> list[str]:
    """Names of its children, in the order of time."""
    return [one.name for one in sorted(spans, key=lambda one: one.began_at) if one.parent == parent.id]


def submit(server: ServerProcess, work: dict[str, Any], traceparent: str) -> None:
    answer = server.http.post("/api/v1/workloads", json=work, headers={"traceparent": traceparent}, auth=OWN_TOKEN)
    assert answer.status_code == 201, answer.text


def test_a_trace_goes_from_the_request_to_the_start_of_the_tasks(tmp_path: Path) -> None:
    with otlp_collector() as collector:
        (tmp_path / "headers").write_text("X-Key: secret\n")
        given = settings(collector, headers_file=str(tmp_path / "headers"), simulated={"start_delay": "200ms"})
        server = ServerProcess(tmp_path, given)
        with server, Client(server.url) as client:
            before = time.time()
            client.submit({"name": "train", "replicas": 2, "resources": {"cpu": 1}})
            spans = wait_for(lambda: collector.of("train"), "a trace")
            after = time.time()
            named = checked(spans)
            root, request = named[ROOT], named[REQUEST]
            assert before - 0.001 <= root.began_at <= root.ended_at <= after
            assert below(spans, root) == [REQUEST, "task 0", "task 1"]
            assert set(below(spans, request)) == {"admission", "durable"}
            for replica in range(2):
                phases = below(spans, named[f"task {replica}"])
                assert sorted(phases) == ["bind", "decision", "durable", "queue", "start"]
            start = max((one for one in spans if one.name == "start"), key=lambda one: one.ended_at)
            assert start.ended_at - start.began_at >= 0.15
            assert start.attributes["dovetail.node"].startswith("n-")
            assert start.attributes["dovetail.backend"] == "sim"
            assert root.attributes["dovetail.replicas"] == 2
            assert request.attributes["http.response.status_code"] == 201
            started = max(row["started_at"] or 0.0 for row in client.tasks("train"))
            assert root.ended_at == pytest.approx(started, abs=0.002)
            assert {one.service for one in spans} == {"dovetail"}
            assert collector.headers[0]["x-key"] == "secret"
            assert not [one for one in spans if one.error]


def test_a_client_continues_its_own_trace_and_the_task_continues_it_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with otlp_collector() as collector:
        server = ServerProcess(tmp_path, settings(collector, sample=0, backends={"local": {"kind": "local"}}))
        with server, Client(server.url) as client:
            run = {"run": {"command": ["sh", "-c", "echo $TRACEPARENT"]}, "resources": {"cpu": "10m"}}
            submit(server, {"name": "mine", **run}, f"00-{TRACE}-{SPAN}-01")
            submit(server, {"name": "unsampled", **run}, f"00-{TRACE}-{SPAN}-00")
            submit(server, {"name": "nonsense", **run}, "00-ffff-1-01")
            spans = wait_for(lambda: collector.of("mine"), "the trace of the client")
            named = checked(spans, parent=SPAN)
            assert named[ROOT].trace == TRACE
            monkeypatch.setenv("TRACEPARENT", f"00-{TRACE[::-1]}-{SPAN}-01")
            client.submit({"name": "of-client", **run})
            (other,) = {one.trace for one in wait_for(lambda: collector.of("of-client"), "a trace of the client")}
            assert other == TRACE[::-1], "the Python client passes on what its environment says"
            wait_for(lambda: client.workload("nonsense")["started_at"], "it started")
            wait_for(lambda: client.workload("unsampled")["started_at"], "it started")
            assert not collector.of("unsampled")
            assert not collector.of("nonsense"), "a header that is wrong is ignored, and sample is 0"
            said = wait_for(lambda: client.logs("mine").text, "its output")
            assert said.strip() == f"00-{TRACE}-{named['task 0'].id}-01"


def test_work_that_waits_tells_why_and_work_that_ends_before_it_ran_says_so(tmp_path: Path) -> None:
    with otlp_collector() as collector:
        server = ServerProcess(tmp_path, settings(collector))
        with server, Client(server.url) as client:
            client.submit({"name": "too-big", "resources": {"cpu": 100}})
            wait_for(lambda: client.workload("too-big")["message"], "it waits")
            client.cancel("too-big")
            spans = wait_for(lambda: collector.of("too-big"), "its trace")
            root = next(one for one in spans if one.name == ROOT)
            assert root.error
            assert not [one for one in spans if one.name == "bind"]


def test_a_receiver_that_is_away_gets_its_traces_later_and_a_kill_breaks_none(tmp_path: Path) -> None:
    with otlp_collector() as collector:
        collector.refuses = True
        server = ServerProcess(tmp_path, settings(collector, simulated={"start_delay": "1s"}))
        with server, Client(server.url) as client:
            submit(server, {"name": "before", "resources": {"cpu": 1}}, f"00-{TRACE}-{SPAN}-01")
            client.submit({"name": "waits", "resources": {"cpu": 100}})
            wait_for(lambda: "dovetail_traces_open 2.0" in server.http.get("/metrics").text, "both are written down")
            for number in range(3):
                client.submit({"name": f"killed-{number}", "replicas": 2, "resources": {"cpu": 1}})
                server.kill()
                server.start()
            wait_for(lambda: collector.refused, "it refuses")
            server.kill()
            collector.refuses = False
            server.start()
            names = ["before", *(f"killed-{number}" for number in range(3))]
            wait_for(lambda: all(collector.of(name) for name in names), "every trace")
            for name in names:
                parent = next(one for one in collector.of(name) if one.name == ROOT).parent
                named = checked(collector.of(name), parent)
                row = client.tasks(name)[0]
                assert named["task 0"].ended_at == pytest.approx(row["started_at"] or 0.0, abs=0.002)
            before = next(one for one in collector.of("before") if one.name == ROOT)
            assert (before.trace, before.parent) == (TRACE, SPAN), "the trace of the client goes on"
            assert not collector.of("waits"), "it does not run yet"
            client.cancel("waits")
            checked(wait_for(lambda: collector.of("waits"), "the trace of what waited through all that"))


def test_a_server_without_tracing_imports_no_sdk_of_opentelemetry(tmp_path: Path) -> None:
    program = """
import asyncio, sys
from dovetail.api.app import create_app
from dovetail.control.plane import ControlPlane
from dovetail.control.settings import Settings
from dovetail.model.workloads.workload import Workload

async def main():
    backends = {"s": {"kind": "simulated", "groups": [{"count": 1}]}}
    plane = ControlPlane(Settings.model_validate({"data": sys.argv[1], "backends": backends}))
    create_app(plane, manage_plane=False)
    await plane.start()
    await plane.submit([Workload(name="w")])
    assert plane.traces is None
    await plane.stop()

asyncio.run(main())
parts = ("opentelemetry.sdk", "opentelemetry.exporter", "opentelemetry.proto", "dovetail.control.tracing.exporter")
found = sorted(name for name in sys.modules if name.startswith(parts))  # FastAPI imports the API, which does nothing
assert not found, found
print("nothing")
"""
    ran = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True)
    assert ran.stdout.strip().endswith("nothing"), ran.stdout + ran.stderr
