"""A real agent in a process of its own, and the registered backend behind the routes that it speaks to.

The backend under test runs in the test. `AgentRoutes` offers it over HTTP at an address that stays the same, as a
control plane does that is restarted; between them is a network with faults on demand.
"""

import asyncio
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI, Request, Response
from tests.contract.backends.conformance import Subject
from tests.contract.backends.docker.rig import docker_subject
from tests.contract.backends.docker.rig import runs_now as container_runs
from tests.contract.backends.local.rig import marked, runs_now
from tests.patience import until
from tests.servers.daemon import free_ports
from tests.servers.docker import DockerServer
from tests.servers.libvirt import LibvirtServer
from tests.servers.tiny_guest import machine, write_kernel
from tests.servers.warm_process import WarmProcess

from dovetail.api.nodes.agents import CallAnswer, Heartbeat, answer_of, moves_in, orders_of
from dovetail.api.nodes.sessions import WrittenPiece, output_of, pieces_of
from dovetail.backends.contract import Report
from dovetail.backends.registered.backend import RegisteredBackend
from dovetail.backends.registered.protocol import NotStarted, TaskReport
from dovetail.backends.registered.sessions import UnknownSession
from dovetail.model.event import NodeJoined
from dovetail.model.node import Node
from dovetail.model.workloads.workload import Workload
from dovetail.testing.lossy_proxy import LossyProxy

NODE = "far-away"


class AgentRoutes(RegisteredBackend):
    """The backend with the routes that an agent needs, while it is started."""

    def __init__(self, port: int, nodes: Sequence[str] = (NODE,)) -> None:
        super().__init__("registered")
        self._port, self._nodes = port, nodes
        self._server: uvicorn.Server | None = None
        self._serving: asyncio.Task[None] | None = None
        self._introduced: set[str] = set()

    async def start(self, report: Report) -> None:
        await super().start(report)
        config = uvicorn.Config(self._app(report), port=self._port, log_config=None, lifespan="off")
        self._server = uvicorn.Server(config)
        self._server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
        self._serving = asyncio.create_task(self._server.serve())
        await until(lambda: self._introduced == set(self._nodes), "its agents introduce themselves")
        await until(lambda: all(self.agents.has(node) for node in self._nodes), "its agents ask for orders")

    async def close(self) -> None:
        if self._server is not None and self._serving is not None:
            self._server.should_exit = self._server.force_exit = True
            await self._serving
        await super().close()

    def _app(self, report: Report) -> FastAPI:
        app = FastAPI()

        @app.post("/api/v1/nodes")
        async def register(request: Request) -> dict[str, str]:
            node = Node.model_validate(await request.json()).model_copy(update={"backend": self.name})
            if node.name not in self._introduced:
                await report(NodeJoined(node))
                self._introduced.add(node.name)
            return {"name": node.name, "token": "of the node"}

        @app.post("/api/v1/nodes/{name}/heartbeat")
        async def heartbeat(name: str, request: Request) -> Response:
            heard = Heartbeat.model_validate(await request.json())
            reports = [TaskReport(one.key, one.state, one.exit_code, one.reason) for one in heard.tasks]
            moves = moves_in(heard)
            return await self._told(name, lambda: self.heartbeat(name, reports, answers=heard.answers, moves=moves))

        @app.get("/api/v1/nodes/{name}/orders")
        async def orders(name: str, after: int, wait_s: float) -> Response:
            return await self._told(name, lambda: self.orders(name, after, min(wait_s, 0.5)))

        @app.post("/api/v1/nodes/{name}/calls/{call}")
        async def answer(name: str, call: str, request: Request) -> Response:
            self.agents.calls.answer(name, call, answer_of(CallAnswer.model_validate(await request.json())))
            return Response(status_code=204)

        @app.post("/api/v1/nodes/{name}/sessions/{session}")
        async def written(name: str, session: str, request: Request) -> Response:
            piece = output_of(WrittenPiece.model_validate(await request.json()))
            try:
                taken = await self.agents.sessions.find(name, session).take(piece, 10)
            except UnknownSession:
                return _problem(404, "over")
            return Response(status_code=204) if taken else _problem(503, "no room")

        @app.get("/api/v1/nodes/{name}/sessions/{session}/input")
        async def given(name: str, session: str, after: int, wait_s: float) -> Response:
            try:
                found = pieces_of(await self.agents.sessions.find(name, session).give(after, min(wait_s, 0.5)))
            except UnknownSession:
                return _problem(404, "over")
            return Response(json.dumps(found), media_type="application/json")

        return app

    async def _told(self, name: str, ask: Callable[[], Any]) -> Response:
        if name not in self._introduced:
            return _problem(404, "no such node")
        try:
            return Response(json.dumps(orders_of(await ask())), media_type="application/json")
        except (NotStarted, ConnectionError):
            return _problem(503, "starting or stopping")


def _problem(status: int, detail: str) -> Response:
    """As a control plane says it."""
    body = {"type": "about:blank", "title": "", "status": status, "detail": detail}
    return Response(json.dumps(body), status, media_type="application/problem+json")


@contextmanager
def agent_process(folder: Path, url: str, node: str = NODE, **settings_more: Any) -> Iterator[None]:
    """Also after it was killed, it starts again in the same folder. `settings_more`: of the agent."""
    folder.mkdir(exist_ok=True)
    settings = folder / "agent.yaml"
    local = {"run_as": "server", "grace_s": "500ms", "node": node, "cgroup_parent": "dovetail-test"}
    settings.write_text(
        json.dumps(
            {
                "data": str(folder / "agent"),
                "heartbeat": "1s",
                "longest_pause": "100ms",
                "local": local,
                **settings_more,
            }
        )
    )
    command = [sys.executable, "-m", "dovetail.cli.main", "agent", "--config", str(settings)]
    with (folder / "agent.log").open("ab") as log:
        process = WarmProcess([*command, "--join", url, "--token", "dovetail_join_x"], stdout=log, stderr=log)
    try:
        yield
    finally:
        process.kill()
        process.wait()


def agent_subject(folder: Path, proxy: LossyProxy, port: int) -> Subject:
    starts = folder / "starts"

    def workload(run_s: float, exit_code: int, text: str) -> Workload:
        script = f'echo $DOVETAIL_TASK.$DOVETAIL_ATTEMPT >> {starts}; printf %s "$0"; sleep {run_s}; exit {exit_code}'
        run = {"command": ["/bin/sh", "-c", script, text], "env": marked(folder)}
        return Workload.model_validate({"name": "work", "run": run})

    @asynccontextmanager
    async def cut_off(_key: str) -> Any:
        with proxy.broken():
            yield

    return Subject(
        backend_factory=lambda: AgentRoutes(port),
        workload=workload,
        times_run=lambda key: starts.read_text().split().count(key) if starts.exists() else 0,
        runs_now=lambda key: runs_now(folder, key),
        knows_lost_attempts=False,
        owns_its_nodes=False,
        cut_replies=proxy.cut_replies,
        break_calls=proxy.break_calls,
        cut_off=cut_off,
    )


@contextmanager
def agent_line(folder: Path) -> Iterator[Subject]:
    [port] = free_ports(1)
    with LossyProxy(f"127.0.0.1:{port}") as proxy, agent_process(folder, f"http://{proxy.address}"):
        yield agent_subject(folder, proxy, port)


@contextmanager
def agent_with_hypervisor(folder: Path, server: LibvirtServer, cluster: str) -> Iterator[Subject]:
    """The same for VMs: the agent has a real hypervisor beside it."""
    [port] = free_ports(1)
    write_kernel(server.pool)
    libvirt: dict[str, Any] = {"uri": "qemu+unix:///system", "parameters": {"socket": str(server.socket)}}
    libvirt |= {"grace_s": "1s", "look_interval_s": "30s", "answer_within_s": "40s", "cluster": cluster}
    with (
        LossyProxy(f"127.0.0.1:{port}") as proxy,
        agent_process(folder, f"http://{proxy.address}", libvirt=libvirt | {"emulate": True}),
    ):
        yield replace(
            agent_subject(folder, proxy, port),
            workload=machine,
            times_run=lambda key: server.starts(f"dovetail-{cluster}-{key}"),
            runs_now=lambda key: f"dovetail-{cluster}-{key}" in server.running(),
        )


def hypervisor_settings(server: LibvirtServer, cluster: str, **more: Any) -> dict[str, Any]:
    """Of an agent whose VMs move."""
    return {
        "uri": "qemu+unix:///system",
        "parameters": {"socket": str(server.socket)},
        "peer_uri": server.peer_uri,
        "migration_address": "127.0.0.1",
        "cluster": cluster,
        "shared_storage": True,
        "disk_cache": "writethrough",
        "emulate": True,
        "grace_s": "1s",
        "look_interval_s": "2s",
        "answer_within_s": "40s",
    } | more


@contextmanager
def agents_with_hypervisors(
    folder: Path, servers: Sequence[LibvirtServer], settings: Sequence[dict[str, Any]], cluster: str
) -> Iterator[Subject]:
    """Several nodes, each with an agent and a hypervisor of its own. `settings`: of each, for libvirt."""
    [port], names = free_ports(1), [server.name for server in servers]
    write_kernel(servers[0].pool)
    with ExitStack() as running:
        for server, libvirt in zip(servers, settings, strict=True):
            at = folder / server.name
            running.enter_context(agent_process(at, f"http://127.0.0.1:{port}", node=server.name, libvirt=libvirt))
        yield Subject(
            backend_factory=lambda: AgentRoutes(port, names),
            workload=machine,
            times_run=lambda key: sum(server.starts(f"dovetail-{cluster}-{key}") for server in servers),
            runs_now=lambda key: any(f"dovetail-{cluster}-{key}" in server.running() for server in servers),
            owns_its_nodes=False,
        )


@contextmanager
def agent_with_engine(folder: Path, server: DockerServer) -> Iterator[Subject]:
    """The same for containers: the agent has a real Docker engine beside it."""
    [port] = free_ports(1)
    counting = docker_subject(folder, {"name": NODE, "url": server.url})
    docker: dict[str, Any] = {"url": server.url, "network": "none", "grace_s": "1s", "pull": "never"}
    docker |= {"look_interval_s": "30s", "allow_paths": [str(folder / "starts")]}
    with (
        LossyProxy(f"127.0.0.1:{port}") as proxy,
        agent_process(folder, f"http://{proxy.address}", docker=docker),
    ):
        yield replace(
            agent_subject(folder, proxy, port),
            workload=counting.workload,
            times_run=counting.times_run,
            runs_now=lambda key: container_runs(server, key),
        )
