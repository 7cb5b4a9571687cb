"""The page `docs/tutorials/docker.md`, followed literally with two real engines; then every state is compared with the
engines' own records."""

import json
import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import psutil
import pytest
from tests.e2e.docs.engines import Engine
from tests.e2e.docs.page import read_page
from tests.e2e.docs.runner import ROOT, PageRunner
from tests.e2e.docs.task_rows import running_nodes, tasks_by_key
from tests.patience import PATIENCE_S, wait_for
from tests.servers.docker import IMAGE, DockerServer, docker_server
from tests.servers.slowed import Slowed

from dovetail.client import Client

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("docker")]

PAGE = ROOT / "docs" / "tutorials" / "docker.md"


def reconnect(server: DockerServer) -> None:
    with suppress(ProcessLookupError):
        os.kill(server.daemon.pid, signal.SIGCONT)


def power_off(server: DockerServer) -> None:
    """The engine and everything in its containers are gone at once."""
    with server.client() as client:
        ids = [one["Id"] for one in client.get("/containers/json").json()]
        pids = [client.get(f"/containers/{one}/json").json()["State"]["Pid"] for one in ids]
    server.daemon.kill()
    for pid in pids:
        with suppress(psutil.NoSuchProcess):
            psutil.Process(pid).kill()


@pytest.fixture
def engines() -> Iterator[tuple[DockerServer, DockerServer]]:
    """Containers outlive a restart of their engine, as on hosts with `live-restore`."""
    with docker_server(live_restore=True) as a, docker_server(live_restore=True) as b:
        yield a, b


def test_the_page_can_be_followed_literally(tmp_path: Path, engines: tuple[DockerServer, DockerServer]) -> None:
    a, b = engines
    slow = Slowed(a.daemon)
    hooks = {
        "restart a": a.restart,
        "cut off b": lambda: os.kill(b.daemon.pid, signal.SIGSTOP),
        "reconnect b": lambda: reconnect(b),
        "slow a": slow.start,
        "speed up a": slow.end,
        "power off b": lambda: power_off(b),
        "power on b": b.start,
    }
    places = {
        "/run/docker-a.sock": str(a.socket),
        "/run/docker-b.sock": str(b.socket),
        "busybox:1.36": IMAGE,
        "busybox:1.63": "busybox:lokal",
    }
    engine = Engine(places, hooks=hooks)
    with ExitStack() as ends, PageRunner(tmp_path, engine, patience_s=PATIENCE_S) as runner:
        ends.callback(slow.end)
        ends.callback(reconnect, b)
        for block in read_page(PAGE, str(PAGE.relative_to(ROOT))):
            runner.run(block)
        with Client(runner.url) as client:
            wait_for(
                lambda: running_nodes(client) == _containers(a, "running") | _containers(b, "running"), "agreement"
            )
            ended = _containers(a, "exited") | _containers(b, "exited")
            there = {key: task for key, task in tasks_by_key(client).items() if key in ended}
            codes = {key: task["exit_code"] for key, task in there.items() if task["state"] != "cancelled"}
            assert codes == {key: ended[key] for key in codes}
            assert sorted(map(str, codes.values())) == ["0", "0", "0", "137"], "report, south, north and hungry"


def _containers(server: DockerServer, status: str) -> dict[str, object]:
    """Asked of the engine itself, by key: the nodes of running containers, the exit codes of those that ended."""
    filters = json.dumps({"label": ["dovetail.key"], "status": [status]})
    found: dict[str, object] = {}
    with server.client() as client:
        for one in client.get("/containers/json", params={"filters": filters}).json():
            labels = one["Labels"]
            state = client.get(f"/containers/{one['Id']}/json").json()["State"]
            found[labels["dovetail.key"]] = labels["dovetail.node"] if status == "running" else state["ExitCode"]
    return found
