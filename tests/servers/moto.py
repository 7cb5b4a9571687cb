"""AWS on this machine: moto's server, which answers the API of EC2 and SSM over HTTP and keeps instances in memory.

Instances run at once and do nothing. It ignores client tokens and accepts instance types that do not exist, so tests of
those look elsewhere. `reset` forgets everything.
"""

import base64
import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from tests.servers.aws_client import aws_client
from tests.servers.daemon import Daemon, free_ports, server_folder

IMAGE = "ami-03cf127a"  # one of those that moto knows
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing"}


@dataclass(frozen=True, slots=True)
class MotoServer:
    url: str
    daemon: Daemon

    @property
    def address(self) -> str:
        return self.url.removeprefix("http://")

    def reset(self) -> None:
        httpx.post(f"{self.url}/moto-api/reset", timeout=30, verify=False).raise_for_status()

    def client(self, service: str = "ec2", region: str = "us-east-1") -> Any:
        """Straight to the server, past whatever stands between it and the backend."""
        return aws_client(self.url, service, region)

    def running(self) -> dict[str, str]:
        """The instances that run, for `booted_machines`."""
        return {one["InstanceId"]: one["InstanceType"] for one in self.instances() if one["State"]["Name"] == "running"}

    def script(self, name: str) -> str:
        """The user data of an instance."""
        found = self.client().describe_instance_attribute(InstanceId=name, Attribute="userData")
        return base64.b64decode(found["UserData"]["Value"]).decode()

    def power_off(self, name: str) -> None:
        """As an instance does itself: it is terminated then, for so it was launched."""
        self.client().terminate_instances(InstanceIds=[name])

    def instances(self, region: str = "us-east-1") -> list[dict[str, Any]]:
        """All that were ever launched since the last reset."""
        pages = self.client(region=region).get_paginator("describe_instances").paginate()
        return [one for page in pages for made in page["Reservations"] for one in made["Instances"]]


@contextmanager
def moto_server() -> Iterator[MotoServer]:
    for package in ("moto", "boto3", "flask"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed (PyPI: moto[server])")
    (port,) = free_ports(1)
    url = f"http://127.0.0.1:{port}"
    with server_folder("moto") as folder:
        command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
        daemon = Daemon("moto", command, folder, CREDENTIALS)
        daemon.start(lambda: httpx.get(f"{url}/moto-api/data.json", timeout=5).status_code == 200)
        try:
            yield MotoServer(url, daemon)
        finally:
            daemon.kill()  # it has nothing to tidy up
