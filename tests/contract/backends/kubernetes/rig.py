"""A Kubernetes backend over a real API server and a small kubelet, with a network in between that fails on request.

The proxy speaks plain HTTP to the backend and TLS to the server, so that it can see what is asked about which key.
"""

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
import yaml
from tests.contract.backends.conformance import Subject
from tests.servers.kubelet import Kubelet
from tests.servers.kubernetes.server import ADMINISTRATOR, KubeServer, token

from dovetail.backends.kubernetes.backend import KubernetesBackend
from dovetail.backends.kubernetes.settings import KubernetesSettings
from dovetail.model.workloads.workload import Workload
from dovetail.testing.lossy_proxy import LossyProxy

NAMESPACE = "tasks-of-tests"


class Line(LossyProxy):
    """To an API server."""

    def __init__(self, server: KubeServer) -> None:
        trust = ssl.create_default_context(cafile=str(server.authority))
        super().__init__(server.url.removeprefix("https://"), tls=trust)

    def kubeconfig(self, folder: Path) -> Path:
        path = folder / "kubeconfig.yaml"
        config = {
            "clusters": [{"name": "test", "cluster": {"server": f"http://{self.address}"}}],
            "users": [{"name": "admin", "user": {"token": token(ADMINISTRATOR)}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "admin", "namespace": NAMESPACE}}],
            "current-context": "test",
        }
        path.write_text(yaml.safe_dump(config))
        return path


def shell(script: str, **fields: Any) -> Workload:
    run = {"image": "this-machine", "command": ["/bin/sh", "-c", script]}
    return Workload.model_validate({"name": "work", "run": run} | fields)


def kubernetes_settings(kubeconfig: Path, kubelet: Kubelet, **fields: Any) -> KubernetesSettings:
    usual = {"kubeconfig": str(kubeconfig), "nodes": f"kubernetes.io/hostname={kubelet.name}", "grace_s": "2s"}
    return KubernetesSettings.model_validate(usual | fields)


def kubernetes_subject(folder: Path, line: Line, kubelet: Kubelet, **fields: Any) -> Subject:
    settings = kubernetes_settings(line.kubeconfig(folder), kubelet, **fields)
    starts, pids = folder / "starts", folder / "pids"
    pids.mkdir()

    def workload(run_s: float, exit_code: int, text: str) -> Workload:
        key = "$DOVETAIL_TASK.$DOVETAIL_ATTEMPT"
        script = f'echo {key} >> {starts}; echo $$ > {pids}/{key}; printf %s "$0"; sleep {run_s}; exit {exit_code}'
        run = {"image": "this-machine", "command": ["/bin/sh", "-c", script, text]}
        return Workload.model_validate({"name": "work", "run": run})

    def runs_now(key: str) -> bool:
        path = pids / key
        if not path.exists():
            return False
        try:
            return psutil.Process(int(path.read_text())).status() != psutil.STATUS_ZOMBIE
        except (psutil.Error, ValueError):
            return False

    @asynccontextmanager
    async def cut_off(key: str) -> AsyncIterator[None]:
        with kubelet.frozen():
            yield

    return Subject(
        backend_factory=lambda: KubernetesBackend("kubernetes", settings, folder / "backend"),
        workload=workload,
        unrunnable=[
            Workload.model_validate({"name": "no-image", "run": {"command": ["true"]}}),
            Workload.model_validate({"name": "machine", "kind": "vm", "run": {"image": "debian"}}),
            Workload.model_validate({"name": "share", "resources": {"gpu": 0.5}, "run": {"image": "cuda"}}),
        ],
        times_run=lambda key: starts.read_text().split().count(key) if starts.exists() else 0,
        runs_now=runs_now,
        cut_replies=line.cut_replies,
        break_calls=line.break_calls,
        hold_reply=line.hold_reply,
        cut_off=cut_off,
    )
