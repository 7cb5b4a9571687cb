"""A Prometheus of a test: own port, own folder, stopped by pid. Debian's package `prometheus` has it and promtool."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.servers.daemon import Daemon, free_ports, server_folder


def skip_without_prometheus() -> None:
    for program in ("prometheus", "promtool"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed; Debian: apt-get install prometheus")


def promtool(*arguments: str | Path, given: str | None = None, folder: Path | None = None) -> str:
    """What it says; fails the test if it finds a fault."""
    skip_without_prometheus()
    command = ["promtool", *map(str, arguments)]
    ran = subprocess.run(command, input=given, text=True, capture_output=True, cwd=folder)
    assert ran.returncode == 0, f"{' '.join(command)}:\n{ran.stdout}{ran.stderr}"
    return ran.stdout + ran.stderr


@dataclass(frozen=True, slots=True)
class PrometheusServer:
    url: str
    daemon: Daemon

    def get(self, path: str, **parameters: str) -> Any:
        answer = httpx.get(f"{self.url}/api/v1/{path}", params=parameters, timeout=30, trust_env=False)
        body = answer.json()
        assert body["status"] == "success", f"{path} {parameters}: {body['error']}"
        return body["data"]

    def query(self, expression: str) -> list[dict[str, Any]]:
        """The samples of an instant query. Fails the test if the expression is refused."""
        data = self.get("query", query=expression)
        if data["resultType"] in ("scalar", "string"):
            return [{"metric": {}, "value": data["result"]}]
        return list(data["result"])

    def targets(self) -> list[dict[str, Any]]:
        return list(self.get("targets")["activeTargets"])

    def firing(self) -> dict[str, dict[str, Any]]:
        """Alerts that fire, by name."""
        return {one["labels"]["alertname"]: one for one in self.get("alerts")["alerts"] if one["state"] == "firing"}


@contextmanager
def prometheus_server(configuration: Path) -> Iterator[PrometheusServer]:
    """It runs with this configuration, whose relative names begin at its own folder."""
    skip_without_prometheus()
    (port,) = free_ports(1)
    with server_folder("prometheus") as folder:
        command = [
            "prometheus",
            f"--config.file={configuration}",
            f"--storage.tsdb.path={folder / 'data'}",
            f"--web.listen-address=127.0.0.1:{port}",
        ]
        daemon = Daemon("prometheus", command, folder)
        server = PrometheusServer(f"http://127.0.0.1:{port}", daemon)
        daemon.start(lambda: httpx.get(f"{server.url}/-/ready", timeout=2, trust_env=False).status_code == 200)
        try:
            yield server
        finally:
            daemon.stop()
