"""A small kubelet for tests: one node of a test API server that really runs the command of each pod bound to it.

Started with `Kubelet` as a process of its own, it goes on while the API server or the test is away. It registers its
node, says every few seconds that it is ready, runs the one container of a pod as a process group on this machine, with
its variables and its output in a file, and tells the API what became of it, with true exit codes. It takes pods only as
far as its processors go (`OutOfcpu`), ends those that use more memory than their limit (`OOMKilled`, by looking every
now and then) or run longer than their deadline, keeps to the grace of a deletion, and serves logs, exec and attach over
HTTPS to the API server. Images are not pulled: one whose name begins with `missing` cannot be had, all others are this
machine.

A folder of the node whose name begins with `missing` is waited for until it is there, with a warning Event
(`FailedMount`); others are not looked at.

What a real kubelet does besides (probes, other volumes, networks, init containers, restarts) it does not.
"""

import argparse
import asyncio
import contextlib
import json
import os
import signal
import ssl
import sys
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import psutil
from aiohttp import web
from tests.servers.certificates import Authority
from tests.servers.daemon import Daemon, free_ports, server_folder
from tests.servers.kubernetes.server import KubeServer

from dovetail.backends.contract import TerminalSize
from dovetail.backends.kubernetes.amounts import amounts_of, taken_by
from dovetail.backends.local.execution import execute_in
from dovetail.backends.local.supervisor.run_files import ORDER, pack
from dovetail.control.services.command_input import InputPipe
from dovetail.kubernetes_client.access import read_kubeconfig
from dovetail.kubernetes_client.api import STRATEGIC_PATCH, Api
from dovetail.kubernetes_client.errors import AlreadyExists, KubernetesApiError, ObjectNotFound
from dovetail.kubernetes_client.paths import NODES, PODS, pod
from dovetail.kubernetes_client.pods import delete
from dovetail.kubernetes_client.reflector import ChangeKind, ObjectChange, Reflector
from dovetail.kubernetes_client.websocket import CLOSE, OUTCOME, RESIZE, STDIN, STDOUT

BEAT_S = 2.0
LOOK_S = 0.05
AGAIN_S = 0.2
FIRST_SIGNAL_STATUS = 128


class Kubelet:
    """The node `name` of a server, as a test holds it."""

    def __init__(self, server: KubeServer, name: str, folder: Path, cpu: str = "4", memory: str = "8Gi") -> None:
        self.name = name
        (port,) = free_ports(1)
        serving = Authority(folder / "certificates").server("kubelet")
        command: list[str | Path] = [sys.executable, "-m", __name__, "--kubeconfig", server.kubeconfig]
        command += ["--node", name, "--folder", folder, "--port", str(port), "--cpu", cpu, "--memory", memory]
        command += ["--certificate", serving.certificate, "--key", serving.key]
        self.daemon = Daemon(f"kubelet-{name}", command, folder, warm=True)
        self._ready = folder / "ready"

    def start(self) -> None:
        self._ready.unlink(missing_ok=True)
        self.daemon.start(ready=self._ready.exists)

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """It says and hears nothing, while what it started runs on."""
        os.kill(self.daemon.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self.daemon.pid, signal.SIGCONT)

    def stop(self) -> None:
        self.daemon.stop()


@contextmanager
def kubelet(server: KubeServer, name: str) -> Iterator[Kubelet]:
    """Started, and stopped at the end with all that it runs; its node is removed."""
    with server_folder("kubelet") as folder:
        made = Kubelet(server, name, folder)
        try:
            made.start()
            yield made
        finally:
            made.stop()
            with contextlib.suppress(httpx.TransportError), server.client() as client:
                client.delete(f"/api/v1/nodes/{name}")


@contextmanager
def namespace(server: KubeServer, name: str) -> Iterator[str]:
    """For the pods of some tests, which are removed at the end whatever holds them. The namespace itself stays: without
    its controller it would for ever be about to go."""
    path = f"/api/v1/namespaces/{name}"
    with server.client() as client:
        made = client.post("/api/v1/namespaces", json={"metadata": {"name": name}})
        assert made.status_code in (httpx.codes.CREATED, httpx.codes.CONFLICT), made.text
    try:
        yield name
    finally:
        with server.client() as client:
            for item in client.get(f"{path}/pods").json()["items"]:
                pod_path = f"{path}/pods/{item['metadata']['name']}"
                merge = {"Content-Type": "application/merge-patch+json"}
                client.patch(pod_path, json={"metadata": {"finalizers": None}}, headers=merge)
                client.request("DELETE", pod_path, json={"gracePeriodSeconds": 0})


# --- the process itself ----------------------------------------------------------------------------------------------


@dataclass
class _Pod:
    spec: dict[str, Any]
    folder: Path
    deleting: asyncio.Event = field(default_factory=asyncio.Event)
    gone: asyncio.Event = field(default_factory=asyncio.Event)  # the API knows it no longer
    grace_s: float = 0.0
    ended: bool = False
    task: asyncio.Task[None] | None = None
    process: asyncio.subprocess.Process | None = None
    sizes: list[tuple[float, int]] = field(default_factory=list)  # of its log, with the time since when

    def log_with_times(self) -> bytes:
        """Its log so far, each line with the time before it at which it was first seen there."""
        self.note_size()
        found, offset = b"", 0
        for line in (self.folder / "log").read_bytes().splitlines(keepends=True):
            at = next(when for when, size in self.sizes if size > offset)
            found += datetime.fromtimestamp(at, UTC).isoformat().encode() + b" " + line
            offset += len(line)
        return found

    def note_size(self) -> None:
        size = (self.folder / "log").stat().st_size
        if not self.sizes or self.sizes[-1][1] != size:
            self.sizes.append((time.time(), size))

    @property
    def place(self) -> tuple[str, str]:
        return self.spec["metadata"]["namespace"], self.spec["metadata"]["name"]

    @property
    def container(self) -> dict[str, Any]:
        return dict(self.spec["spec"]["containers"][0])

    @property
    def folders(self) -> list[Path]:
        """Folders of the node that it waits for."""
        volumes = self.spec["spec"].get("volumes") or ()
        mounted = [Path(one["hostPath"]["path"]) for one in volumes if "hostPath" in one]
        return [folder for folder in mounted if folder.name.startswith("missing")]


class _Running:
    def __init__(self, api: Api, told: argparse.Namespace) -> None:
        self.api, self.told = api, told
        self.pods: dict[str, _Pod] = {}  # by uid
        self.by_place: dict[tuple[str, str], _Pod] = {}

    # --- the node --------------------------------------------------------------------------------------------

    async def register(self) -> None:
        name = self.told.node
        labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}
        with contextlib.suppress(AlreadyExists):
            await self.api.create(NODES, {"metadata": {"name": name, "labels": labels}})
        await self.beat()

    async def beat(self) -> None:
        amounts = {"cpu": self.told.cpu, "memory": self.told.memory, "pods": "50", "ephemeral-storage": "10Gi"}
        now = _now()
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "runs pods of tests"}
        status = {
            "capacity": amounts,
            "allocatable": amounts,
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "declaredFeatures": ["ExtendWebSocketsToKubelet"],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": self.told.port}},
            "conditions": [{**ready, "lastHeartbeatTime": now}],
        }
        await self.api.patch(f"{NODES}/{self.told.node}/status", {"status": status}, kind=STRATEGIC_PATCH)

    async def beat_on(self) -> None:
        while True:
            await asyncio.sleep(BEAT_S)
            with contextlib.suppress(KubernetesApiError):
                await self.beat()

    # --- pods ------------------------------------------------------------------------------------------------

    def take(self, changes: list[ObjectChange]) -> None:
        for kind, item in changes:
            uid = item["metadata"]["uid"]
            known = self.pods.get(uid)
            if kind is ChangeKind.DELETED:
                if known is not None:
                    known.gone.set()
                    known.deleting.set()
                continue
            if known is None:
                known = self.pods[uid] = _Pod(item, Path(self.told.folder) / uid)
                self.by_place[known.place] = known
                known.task = asyncio.create_task(self.run(known))
            if item["metadata"].get("deletionTimestamp"):
                known.grace_s = float(item["metadata"].get("deletionGracePeriodSeconds") or 0)
                known.deleting.set()

    async def run(self, own: _Pod) -> None:
        if (own.spec.get("status") or {}).get("phase") not in ("Succeeded", "Failed"):
            await self.live(own)
        own.ended = True
        await own.deleting.wait()
        while not own.gone.is_set():  # the last word to the API: nothing of it runs here
            with contextlib.suppress(KubernetesApiError):
                await delete(self.api, *own.place, grace_s=0, uid=own.spec["metadata"]["uid"])
                return
            await asyncio.sleep(AGAIN_S)

    async def live(self, own: _Pod) -> None:
        if not self.fits(own):
            await self.tell(own, {"phase": "Failed", "reason": "OutOfcpu", "message": "Node didn't have enough cpu"})
            return
        if own.container["image"].startswith("missing"):
            words = f'failed to pull image "{own.container["image"]}": not found'
            waiting = {"waiting": {"reason": "ImagePullBackOff", "message": words}}
            await self.tell(own, {"phase": "Pending", "containerStatuses": [_status(own, waiting)]})
            await own.deleting.wait()
            await self.tell(own, {"phase": "Failed"})
            return
        for folder in own.folders:
            if not folder.is_dir():
                await self.warn(own, "FailedMount", f"hostPath type check failed: {folder} is not a directory")
                waiting = {"waiting": {"reason": "ContainerCreating"}}
                await self.tell(own, {"phase": "Pending", "containerStatuses": [_status(own, waiting)]})
            while not folder.is_dir() and not own.deleting.is_set():  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(LOOK_S)
        if own.deleting.is_set():
            await self.tell(own, {"phase": "Failed"})
            return
        await self.execute(own)

    async def warn(self, own: _Pod, reason: str, message: str) -> None:
        namespace, name = own.place
        about = {"kind": "Pod", "namespace": namespace, "name": name, "uid": own.spec["metadata"]["uid"]}
        event = {"metadata": {"generateName": f"{name}."}, "involvedObject": about, "type": "Warning"}
        await self.api.create(
            f"/api/v1/namespaces/{namespace}/events", {**event, "reason": reason, "message": message, "count": 1}
        )

    async def execute(self, own: _Pod) -> None:
        own.folder.mkdir()
        container = own.container
        environment = {each["name"]: each.get("value", "").replace("$$(", "$(") for each in container.get("env") or ()}
        usual = {"PATH": os.environ["PATH"], "KUBELET_FOLDER": str(own.folder)}
        words = [*(container.get("command") or ["true"]), *(container.get("args") or ())]
        began = _now()
        try:
            with (own.folder / "log").open("wb") as log:
                own.process = process = await asyncio.create_subprocess_exec(
                    *(word.replace("$$(", "$(") for word in words),
                    env=usual | environment,
                    cwd=container.get("workingDir") or own.folder,
                    stdin=asyncio.subprocess.PIPE if container.get("stdin") else asyncio.subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
        except OSError as error:
            ended = {"exitCode": 128, "reason": "StartError", "message": str(error), "finishedAt": _now()}
            await self.tell(own, {"phase": "Failed", "containerStatuses": [_status(own, {"terminated": ended})]})
            return
        running = {"phase": "Running", "containerStatuses": [_status(own, {"running": {"startedAt": began}})]}
        saying = asyncio.create_task(self.tell(own, running))
        word, why = await self.follow(own, process)
        saying.cancel()  # not said yet: what follows says it too
        await asyncio.gather(saying, return_exceptions=True)
        code = process.returncode or 0
        code = FIRST_SIGNAL_STATUS - code if code < 0 else code
        ended = {"exitCode": code, "reason": word or ("Error" if code else "Completed")}
        ended |= {"startedAt": began, "finishedAt": _now()}
        own.ended = True
        status = {"phase": "Failed" if code or why else "Succeeded", **({"reason": why} if why else {})}
        await self.tell(own, {**status, "containerStatuses": [_status(own, {"terminated": ended})]})

    async def follow(self, own: _Pod, process: asyncio.subprocess.Process) -> tuple[str, str]:
        """Until it has ended; the container's and the pod's word for it, where this ended it."""
        limit = amounts_of((own.container.get("resources") or {}).get("limits") or {}, "").get("memory")
        deadline_s = own.spec["spec"].get("activeDeadlineSeconds")
        due = time.monotonic() + float(deadline_s) if deadline_s else float("inf")
        word = why = ""
        kill_at: float | None = None
        while process.returncode is None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_S):
                    await process.wait()
            own.note_size()
            now = time.monotonic()
            if process.returncode is None and limit and not word and _memory(process.pid) > limit:
                word = "OOMKilled"
                _signal(process.pid, signal.SIGKILL)
            if kill_at is None and (own.deleting.is_set() or now >= due):
                why = "" if own.deleting.is_set() else "DeadlineExceeded"
                _signal(process.pid, signal.SIGTERM)
                kill_at = now + (own.grace_s if own.deleting.is_set() else 1.0)
            elif kill_at is not None and now >= kill_at:
                _signal(process.pid, signal.SIGKILL)
        _signal(process.pid, signal.SIGKILL)  # what is left of its group
        return word, why

    def fits(self, own: _Pod) -> bool:
        others = (each for each in self.pods.values() if each is not own and not each.ended)
        taken = sum(taken_by(each.spec, "").get("cpu", 0) for each in (*others, own))
        return taken <= amounts_of({"cpu": self.told.cpu}, "")["cpu"]

    async def tell(self, own: _Pod, status: dict[str, Any]) -> None:
        """Until it has been heard."""
        uid = own.spec["metadata"]["uid"]
        while not own.gone.is_set():
            try:
                body = {"metadata": {"uid": uid}, "status": status}
                await self.api.patch(pod(*own.place, "status"), body, kind=STRATEGIC_PATCH)
                return
            except ObjectNotFound:
                return
            except KubernetesApiError:
                await asyncio.sleep(AGAIN_S)

    # --- exec and attach -------------------------------------------------------------------------------------

    async def exec(self, request: web.Request) -> web.StreamResponse:
        own = self.own_running(request)
        terminal = TerminalSize(24, 80) if request.query.get("tty") == "1" else None
        given = InputPipe(ended=request.query.get("input") != "1")
        (own.folder / ORDER).write_bytes(pack([("workdir", str(own.folder)), ("env", f"PATH={os.environ['PATH']}")]))
        blocks = execute_in(own.folder, request.query.getall("command"), given, terminal)
        return await _converse(request, blocks, given)

    async def attach(self, request: web.Request) -> web.StreamResponse:
        own = self.own_running(request)
        return await _converse(request, self.from_now_on(own), None if own.process is None else own.process.stdin)

    async def from_now_on(self, own: _Pod) -> AsyncGenerator[bytes | int]:
        with (own.folder / "log").open("rb") as log:
            log.seek(0, os.SEEK_END)
            while True:
                ended = own.ended
                while piece := log.read(65536):
                    yield piece
                if ended:
                    yield 0  # of attaching; the pod has its own
                    return
                await asyncio.sleep(LOOK_S)

    def own_running(self, request: web.Request) -> _Pod:
        own = self.by_place.get((request.match_info["namespace"], request.match_info["pod"]))
        if own is None or own.ended or not own.folder.exists():
            raise web.HTTPNotFound(text="no such container runs here")
        return own

    # --- logs ------------------------------------------------------------------------------------------------

    async def logs(self, request: web.Request) -> web.StreamResponse:
        own = self.by_place.get((request.match_info["namespace"], request.match_info["pod"]))
        if own is None or not (own.folder / "log").exists():
            raise web.HTTPNotFound(text="no log of that container is here")
        response = web.StreamResponse()
        await response.prepare(request)
        if request.query.get("timestamps") == "true":
            await response.write(own.log_with_times())
            return response
        follow = request.query.get("follow") == "true"
        with (own.folder / "log").open("rb") as log:
            while True:
                ended = own.ended  # asked before reading: nothing is printed after it
                piece = log.read(65536)
                if piece:
                    await response.write(piece)
                elif ended or not follow:
                    break
                else:
                    await asyncio.sleep(LOOK_S)
        await response.write_eof()
        return response


async def _converse(
    request: web.Request, blocks: AsyncGenerator[bytes | int], given: "InputPipe | asyncio.StreamWriter | None"
) -> web.StreamResponse:
    """Channels of v5.channel.k8s.io: what comes goes to `given`, what there is to say goes back."""
    socket = web.WebSocketResponse(protocols=("v5.channel.k8s.io",))
    await socket.prepare(request)

    async def listen() -> None:
        offset = 0
        async for message in socket:
            channel, content = message.data[0], message.data[1:]
            if isinstance(given, asyncio.StreamWriter):
                if channel == STDIN:
                    given.write(content)
            elif given is not None and channel == STDIN:
                offset = await given.put(content, offset)
            elif given is not None and channel == RESIZE:
                size = json.loads(content)
                await given.resize(TerminalSize(size["Height"], size["Width"]))
            elif given is not None and (channel, content) == (CLOSE, bytes([STDIN])):
                await given.put(b"", offset, ended=True)

    listening = asyncio.create_task(listen())
    try:
        async for block in blocks:
            if isinstance(block, bytes):
                await socket.send_bytes(bytes([STDOUT]) + block)
            else:
                await socket.send_bytes(bytes([OUTCOME]) + json.dumps(_outcome(block)).encode())
        await socket.close()
    finally:
        listening.cancel()
        await blocks.aclose()
    return socket


def _outcome(code: int) -> dict[str, Any]:
    if not code:
        return {"metadata": {}, "status": "Success"}
    causes = [{"reason": "ExitCode", "message": str(code)}]
    return {"status": "Failure", "reason": "NonZeroExitCode", "details": {"causes": causes}}


def _status(own: _Pod, state: dict[str, Any]) -> dict[str, Any]:
    about = {"name": own.container["name"], "image": own.container["image"], "imageID": "", "restartCount": 0}
    return {**about, "ready": "running" in state, "started": "running" in state, "state": state}


def _memory(group: int) -> int:
    total = 0
    with contextlib.suppress(psutil.Error):
        leader = psutil.Process(group)
        for process in (leader, *leader.children(recursive=True)):
            with contextlib.suppress(psutil.Error):
                total += process.memory_info().rss
    return total


def _signal(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, number)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


async def _main(told: argparse.Namespace) -> None:
    async with Api(read_kubeconfig([Path(told.kubeconfig)])) as api:
        own = _Running(api, told)
        app = web.Application()
        app.router.add_get("/containerLogs/{namespace}/{pod}/{container}", own.logs)
        app.router.add_get("/exec/{namespace}/{pod}/{container}", own.exec)
        app.router.add_get("/attach/{namespace}/{pod}/{container}", own.attach)
        runner = web.AppRunner(app)
        await runner.setup()
        trust = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        trust.load_cert_chain(told.certificate, told.key)
        await web.TCPSite(runner, "127.0.0.1", told.port, ssl_context=trust).start()
        await own.register()
        reflector = Reflector(api, PODS, own.take, fields=f"spec.nodeName={told.node}")
        following = asyncio.create_task(reflector.run())
        await reflector.synced.wait()
        (Path(told.folder) / "ready").touch()
        await asyncio.gather(following, own.beat_on())


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for option in ("kubeconfig", "node", "folder", "cpu", "memory", "certificate", "key"):
        parser.add_argument(f"--{option}", required=True)
    parser.add_argument("--port", type=int, required=True)
    asyncio.run(_main(parser.parse_args()))
