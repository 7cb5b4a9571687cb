"""A Docker backend over real engines, whose work leaves a line in a file of the host each time it is really started."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

from tests.contract.backends.conformance import Rig, Subject
from tests.servers.docker import IMAGE, DockerServer

from dovetail.backends.docker.backend import DockerBackend
from dovetail.backends.docker.settings import DockerSettings
from dovetail.model.event import NodeHealthChanged, NodeJoined
from dovetail.model.workloads.workload import Workload
from dovetail.testing.lossy_proxy import LossyProxy

Hosts = tuple[DockerServer, DockerServer]
NUMBERS = count(10_000)
"""Of workloads, for tests that ask an engine about a key: other tests have left containers there."""


def shell(script: str, *arguments: str, **fields: Any) -> Workload:
    run = {"image": IMAGE, "command": ["sh", "-c", script, *arguments]} | fields.pop("run", {})
    return Workload.model_validate({"name": "work", "run": run} | fields)


def docker_settings(*hosts: dict[str, Any], **fields: Any) -> DockerSettings:
    """Of engines without networks; looks are seldom, so that what is heard comes from events."""
    usual = {"network": "none", "grace_s": "1s", "look_interval_s": "30s", "pull": "never"}
    return DockerSettings.model_validate({"hosts": list(hosts)} | usual | fields)


def tls_of(server: DockerServer) -> dict[str, str]:
    own = server.client_certificate
    assert own is not None
    return {"ca": str(server.authority), "cert": str(own.certificate), "key": str(own.key)}


def runs_now(server: DockerServer, key: str) -> bool:
    """Asked of the engine itself."""
    filters = json.dumps({"label": [f"dovetail.key={key}"], "status": ["running"]})
    with server.client() as client:
        return bool(client.get("/containers/json", params={"filters": filters}).json())


def with_hooks(subject: Subject, server: DockerServer, proxy: LossyProxy) -> Subject:
    """Its only host is reached through the proxy."""

    @asynccontextmanager
    async def cut_off(_: str) -> AsyncIterator[None]:
        async with proxy.break_calls():
            yield

    return replace(
        subject,
        runs_now=lambda key: runs_now(server, key),
        cut_replies=proxy.cut_replies,
        break_calls=proxy.break_calls,
        hold_reply=proxy.hold_reply,
        cut_off=cut_off,
    )


def docker_subject(folder: Path, *hosts: dict[str, Any], **fields: Any) -> Subject:
    """Containers see `folder/starts` of the machine as /starts."""
    starts = folder / "starts"
    starts.mkdir(exist_ok=True)
    settings = docker_settings(*hosts, **{"allow_paths": [str(starts)]} | fields)
    counted = {"volumes": [{"source": str(starts), "target": "/starts"}]}

    def workload(run_s: float, exit_code: int, text: str) -> Workload:
        script = f'echo $DOVETAIL_TASK.$DOVETAIL_ATTEMPT >> /starts/list; echo -n "$0"; sleep {run_s}; exit {exit_code}'
        return shell(script, text, run=counted)

    def times_run(key: str) -> int:
        file = starts / "list"
        return file.read_text().split().count(key) if file.exists() else 0

    return Subject(
        backend_factory=lambda: DockerBackend("docker", settings, folder / "backend"),
        workload=workload,
        unrunnable=[
            Workload.model_validate({"name": "bare", "run": {"command": ["true"]}}),
            Workload.model_validate({"name": "machine", "kind": "vm", "run": {"image": IMAGE}}),
            Workload.model_validate({"name": "absent", "run": {"image": "no/such-image:1", "command": ["true"]}}),
            shell("true", run={"volumes": [{"source": "/etc", "target": "/host-etc"}]}),
            shell("true", run={"workdir": "not/absolute"}),
            shell("true", limits={"memory": "1MiB"}),
        ],
        times_run=times_run,
    )


def said_offline(rig: Rig, name: str) -> bool:
    """What was said of a host last: that it is offline, or that it is there."""
    about = [
        event
        for event in rig.reports.received
        if (isinstance(event, NodeJoined) and event.node.name == name)
        or (isinstance(event, NodeHealthChanged) and event.name == name)
    ]
    return bool(about) and isinstance(about[-1], NodeHealthChanged) and not about[-1].online
