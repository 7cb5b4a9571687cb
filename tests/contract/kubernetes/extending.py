"""A stock kube-scheduler that asks a real extender over TLS: one in this process, or one that a user would start."""

import asyncio
import json
import ssl
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import yaml
from tests.contract.kubernetes.cluster import Cluster
from tests.servers.certificates import Authority, Certificate
from tests.servers.daemon import Daemon, free_ports, server_folder

from dovetail.kubernetes.extender.app import listen, serve
from dovetail.kubernetes.extender.certificates import Certificates
from dovetail.kubernetes.extender.extender import Extender
from dovetail.kubernetes.extender.settings import KubernetesExtenderSettings
from dovetail.kubernetes_client.access import read_kubeconfig
from dovetail.kubernetes_client.api import Api

Json = dict[str, Any]
FOLDER = Path(__file__).parents[3] / "deploy" / "kubernetes"
#: Looked at again soon: tests wait for that.
IMPATIENT = {"podInitialBackoffSeconds": 1, "podMaxBackoffSeconds": 1}
#: On a busy machine nobody is told that a pod was not bound, though it was.
PATIENT = {"keep_plan_s": 20, "bind_within_s": 50}
HTTP_TIMEOUT = "60s"


def deployed(file: str) -> list[Json]:
    """The manifests that we deploy."""
    return [one for one in yaml.safe_load_all((FOLDER / file).read_text()) if one]


def example() -> Json:
    """The configuration for kube-scheduler among them."""
    (manifest,) = deployed("kube-scheduler-with-extender.yaml")
    found: Json = yaml.safe_load(manifest["data"]["config.yaml"])
    return found


class ExtenderAddress:
    """Where an extender listens, and the certificates. `mutual`: only kube-scheduler's own certificate is let in."""

    def __init__(self, folder: Path, *, mutual: bool = False) -> None:
        (self.port,) = free_ports(1)
        authority = Authority(folder / "certificates")
        self.authority, self.serving = authority.certificate, authority.server("extender")
        self.client: Certificate | None = authority.client("kube-scheduler") if mutual else None

    def config(self, *, ignorable: bool = False) -> Json:
        """For kube-scheduler: what we deploy, with this address and these files."""
        found = example()
        (one,) = found["extenders"]
        tls = {"caFile": str(self.authority)}
        if self.client is not None:
            tls |= {"certFile": str(self.client.certificate), "keyFile": str(self.client.key)}
        one |= {"urlPrefix": f"https://127.0.0.1:{self.port}", "tlsConfig": tls, "ignorable": ignorable}
        one["httpTimeout"] = HTTP_TIMEOUT
        own = ("extenders", "percentageOfNodesToScore")
        return {key: found[key] for key in own} | IMPATIENT


class ExtenderProcess(ExtenderAddress):
    def __init__(self, folder: Path, kubeconfig: Path) -> None:
        super().__init__(folder)
        settings = folder / "extender.yaml"
        settings.write_text(json.dumps(PATIENT))
        command: list[str | Path] = [sys.executable, "-m", "dovetail", "kubernetes", "extender"]
        command += ["--port", str(self.port), "--tls-cert", self.serving.certificate, "--tls-key", self.serving.key]
        command += ["--kubeconfig", kubeconfig, "--config", settings]
        self.daemon = Daemon("extender", command, folder, warm=True)

    def start(self) -> None:
        trust = ssl.create_default_context(cafile=str(self.authority))
        with httpx.Client(base_url=f"https://127.0.0.1:{self.port}", verify=trust) as client:
            self.daemon.start(ready=lambda: client.get("/healthz").is_success)


@asynccontextmanager
async def extended_by_process(cluster: Cluster) -> AsyncIterator[ExtenderProcess]:
    with server_folder("extender") as folder:
        found = ExtenderProcess(folder, cluster.server.kubeconfig)
        found.start()
        try:
            with cluster.server.start_scheduler(found.config()):
                yield found
        finally:
            found.daemon.kill()


class ExtenderHere(ExtenderAddress):
    """An extender in this process: to start another takes longer than most tests."""

    def __init__(self, folder: Path, kubeconfig: Path, *, mutual: bool = False, settings: Json | None = None) -> None:
        super().__init__(folder, mutual=mutual)
        self._settings = KubernetesExtenderSettings.model_validate(PATIENT | (settings or {}))
        self._access = read_kubeconfig([kubeconfig])
        serving, authority = self.serving, self.authority if mutual else None
        self._certificates = Certificates(serving.certificate, serving.key, authority)
        self._serves: asyncio.Task[None] | None = None

    async def start(self) -> None:
        ready = asyncio.Event()
        self._serves = asyncio.create_task(self._serve(ready))
        await ready.wait()

    async def _serve(self, ready: asyncio.Event) -> None:
        async with Api(self._access) as api:
            extender = Extender(api, self._settings)
            with listen("127.0.0.1", self.port) as listener:
                serves = asyncio.create_task(serve(extender, listener, self._certificates))
                synced = asyncio.create_task(extender.informer.synced.wait())
                await asyncio.wait([serves, synced], return_when=asyncio.FIRST_COMPLETED)
                synced.cancel()
                ready.set()
                await serves

    async def ask(self, verb: str, body: Json) -> Json:
        """As kube-scheduler would."""
        trust = ssl.create_default_context(cafile=str(self.authority))
        async with httpx.AsyncClient(base_url=f"https://127.0.0.1:{self.port}", verify=trust) as client:
            answer: Json = (await client.post(f"/{verb}", json=body)).raise_for_status().json()
        return answer

    async def stop(self) -> None:
        if self._serves is not None:
            if self._serves.done():
                self._serves.result()  # it should never end by itself
            self._serves.cancel()
            await asyncio.gather(self._serves, return_exceptions=True)
            self._serves = None


@asynccontextmanager
async def extended(
    cluster: Cluster,
    *,
    started: bool = True,
    ignorable: bool = False,
    mutual: bool = False,
    kubeconfig: Path | None = None,
    settings: Json | None = None,
) -> AsyncIterator[ExtenderHere]:
    with server_folder("extender") as folder:
        found = ExtenderHere(folder, kubeconfig or cluster.server.kubeconfig, mutual=mutual, settings=settings)
        if started:
            await found.start()
        try:
            config = found.config(ignorable=ignorable)
            with await asyncio.to_thread(cluster.server.start_scheduler, config):
                yield found
        finally:
            await found.stop()
