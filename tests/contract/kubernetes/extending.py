"""A stock kube-scheduler that asks a real extender, each a process of its own, over TLS."""

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

Json = dict[str, Any]
FOLDER = Path(__file__).parents[3] / "deploy" / "kubernetes"
#: Looked at again soon: tests wait for that.
IMPATIENT = {"podInitialBackoffSeconds": 1, "podMaxBackoffSeconds": 1}


def deployed(file: str) -> list[Json]:
    """The manifests that we deploy."""
    return [one for one in yaml.safe_load_all((FOLDER / file).read_text()) if one]


def example() -> Json:
    """The configuration for kube-scheduler among them."""
    (manifest,) = deployed("kube-scheduler-with-extender.yaml")
    found: Json = yaml.safe_load(manifest["data"]["config.yaml"])
    return found


class ExtenderProcess:
    """`mutual`: only kube-scheduler's own certificate is let in."""

    def __init__(self, folder: Path, kubeconfig: Path, *, mutual: bool = False) -> None:
        (self.port,) = free_ports(1)
        authority = Authority(folder / "certificates")
        self.authority, serving = authority.certificate, authority.server("extender")
        self.client: Certificate | None = authority.client("kube-scheduler") if mutual else None
        settings = folder / "extender.yaml"
        settings.write_text(json.dumps({"keep_plan_s": 20}))
        command: list[str | Path] = [sys.executable, "-m", "dovetail", "kubernetes", "extender"]
        command += ["--port", str(self.port), "--tls-cert", serving.certificate, "--tls-key", serving.key]
        command += ["--kubeconfig", kubeconfig, "--config", settings]
        command += ["--client-ca", self.authority] if mutual else []
        self.daemon = Daemon("extender", command, folder)

    def start(self) -> None:
        trust = ssl.create_default_context(cafile=str(self.authority))
        if self.client is not None:
            trust.load_cert_chain(self.client.certificate, self.client.key)
        with httpx.Client(base_url=f"https://127.0.0.1:{self.port}", verify=trust) as client:
            self.daemon.start(ready=lambda: client.get("/healthz").is_success)

    def config(self, *, ignorable: bool = False) -> Json:
        """For kube-scheduler: what we deploy, with this address and these files."""
        found = example()
        (one,) = found["extenders"]
        tls = {"caFile": str(self.authority)}
        if self.client is not None:
            tls |= {"certFile": str(self.client.certificate), "keyFile": str(self.client.key)}
        one |= {"urlPrefix": f"https://127.0.0.1:{self.port}", "tlsConfig": tls, "ignorable": ignorable}
        own = ("extenders", "percentageOfNodesToScore")
        return {key: found[key] for key in own} | IMPATIENT


@asynccontextmanager
async def extended(
    cluster: Cluster, *, ignorable: bool = False, mutual: bool = False, kubeconfig: Path | None = None
) -> AsyncIterator[ExtenderProcess]:
    with server_folder("extender") as folder:
        found = ExtenderProcess(folder, kubeconfig or cluster.server.kubeconfig, mutual=mutual)
        found.start()
        try:
            with cluster.server.start_scheduler(found.config(ignorable=ignorable)):
                yield found
        finally:
            found.daemon.kill()
