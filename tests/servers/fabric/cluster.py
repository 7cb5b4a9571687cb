"""A control plane and agents in a fabric: real processes, each in the namespace of its host.

The server listens with TLS on every address of its host, as it would on a machine of its own. Agents join with a join
token over the fabric; their data and logs lie in folders of their own. Processes can be killed and started again.
"""

import json
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx
from tests.e2e.server_process import ServerProcess
from tests.patience import wait_for
from tests.servers.fabric.fabric import CONTROL, Fabric
from tests.servers.warm_process import WarmProcess

from dovetail.access.certificates import fingerprint
from dovetail.client import Client

AGENT_SETTINGS = {"heartbeat": "1s", "longest_pause": "500ms", "local": {"run_as": "server", "grace_s": "1s"}}


class FabricServer(ServerProcess):
    """`dovetail serve` on the host of the control plane."""

    def __init__(self, fabric: Fabric, folder: Path, settings: dict[str, Any]) -> None:
        listening = {"host": "0.0.0.0", "tls": "self-signed"}
        super().__init__(folder, {**settings, "listen": listening})
        self.url = f"https://{fabric.control_address}:{self.port}"
        self.http.base_url = self.url
        self.url_inside = f"https://{fabric.address(CONTROL)}:{self.port}"
        self._network = fabric.namespace(CONTROL)

    def start(self, *, wait: bool = True, cold: bool = False) -> None:
        assert not cold, "it starts without its imports"
        command = [sys.executable, "-m", "dovetail", "serve", "--config", str(self._config)]
        command += ["--data", str(self.data), "--port", str(self.port)]
        with self.log.open("ab") as log:
            self._process = WarmProcess(command, stdout=log, stderr=log, env=_environment(), network=self._network)
        if wait:
            self.wait_ready()
            self.http.auth = self._authorised

    def _authorised(self, request: httpx.Request) -> httpx.Request:
        request.headers["Authorization"] = f"Bearer {self._token}"
        return request

    @property
    def _token(self) -> str:
        return (self.data / "admin.token").read_text().strip()

    def client(self) -> Client:
        return Client(self.url, token=self._token, certificate=str(self.data / "tls.crt"))


class FabricAgent:
    """`dovetail agent` on a host: start, kill and start again."""

    def __init__(self, fabric: Fabric, host: str, folder: Path, settings: Mapping[str, Any]) -> None:
        self.host, self.data, self.log = host, folder / host, folder / f"{host}.log"
        self._network = fabric.namespace(host)
        config = folder / f"{host}.json"
        config.write_text(json.dumps({**AGENT_SETTINGS, **settings}))
        self._options = ("--config", str(config), "--name", host, "--data", str(self.data))
        self._process: WarmProcess | None = None

    def start(self, *options: str) -> None:
        command = [sys.executable, "-m", "dovetail.cli.main", "agent", *self._options, *options]
        with self.log.open("ab") as log:
            self._process = WarmProcess(command, stdout=log, stderr=log, env=_environment(), network=self._network)

    def kill(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
            self._process = None


class FabricCluster:
    """`settings`: of the server; `agent_settings`: of all agents."""

    def __init__(
        self,
        fabric: Fabric,
        folder: Path,
        settings: dict[str, Any] | None = None,
        agent_settings: Mapping[str, Any] | None = None,
    ) -> None:
        self.fabric = fabric
        for name in ("server", "agents"):
            (folder / name).mkdir()
        self.server = FabricServer(fabric, folder / "server", {"backends": {}, **(settings or {})})
        hosts = [host for host in fabric.hosts if host != CONTROL]
        self.agents = {host: FabricAgent(fabric, host, folder / "agents", agent_settings or {}) for host in hosts}

    def __enter__(self) -> Self:
        try:
            self.server.start()
            self.client = self.server.client()
            token = self.client.make_join_token(uses=len(self.agents), ttl="10m")["token"]
            believed = fingerprint(self.server.data / "tls.crt")
            for agent in self.agents.values():
                agent.start("--join", self.server.url_inside, "--token", token, "--fingerprint", believed)
            wait_for(lambda: {one["name"] for one in self.client.nodes()} == set(self.agents), "all agents have joined")
        except BaseException:
            self.close()
            raise
        return self

    def close(self) -> None:
        for agent in self.agents.values():
            agent.kill()
        self.server.kill()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.client.close()
        self.close()


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("DOVETAIL_")}
