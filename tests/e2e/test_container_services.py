"""A service of containers on a real Docker engine: checks inside and outside, an update, the address of its host."""

import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.e2e.server_process import ServerProcess
from tests.patience import wait_for

from dovetail.client import Client
from dovetail.responses.services import ReplicaRow

if TYPE_CHECKING:
    from tests.servers.docker import DockerServer

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("docker")]


def web(version: str) -> dict[str, Any]:
    script = 'mkdir -p /www; echo "$VERSION" > /www/index.html; exec httpd -f -p "$PORT" -h /www'
    return {
        "name": "web",
        "replicas": 2,
        "ports": [{"name": "http"}],
        "resources": {"cpu": "50m"},
        "disruption": {"grace": "1s"},
        "run": {"image": "busybox:local", "command": ["sh", "-c", script], "env": {"VERSION": version}},
        "health": {
            "startup": {
                "command": ["sh", "-c", "test -e /www/index.html"],
                "every": "200ms",
                "timeout": "20s",
                "failures": 100,
            },
            "readiness": {"http": "/index.html", "every": "200ms", "timeout": "10s"},
        },
        "update": {"drain": "0s"},
    }


def answer_of(one: ReplicaRow) -> str:
    with urllib.request.urlopen(f"http://{one['address']}:{one['ports']['http']}/index.html", timeout=20) as answer:
        text: str = answer.read().decode().strip()
        return text


def test_containers_are_checked_and_replaced(docker_servers: "tuple[DockerServer, Any]", tmp_path: Path) -> None:
    hosts = [{"name": "box", "url": docker_servers[0].url}]
    settings = {"backends": {"docker": {"kind": "docker", "hosts": hosts, "network": "host"}}}
    with ServerProcess(tmp_path, settings) as server, Client(server.url) as client:
        for revision, version in enumerate(("one", "two"), 1):
            client.apply(web(version))

            def ready(revision: int = revision) -> list[ReplicaRow] | None:
                row = client.service("web")
                new = [one for one in row["items"] if one["ready"] and one["revision"] == revision]
                return new if row["rollout"] == "complete" and len(new) == len(row["items"]) == 2 else None

            found = wait_for(ready, f"revision {revision}")
            assert [(one["node"], one["address"], answer_of(one)) for one in found] == [
                ("box", "127.0.0.1", version)
            ] * 2
        client.remove_service("web")
        wait_for(lambda: not client.services())
