"""The Docker backend keeps the contract, over a socket and over TLS, and bears a network that misbehaves on both."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.contract.backends.conformance import BackendConformance, Subject
from tests.contract.backends.docker.rig import Hosts, docker_subject, tls_of, with_hooks

from dovetail.testing.lossy_proxy import LossyProxy

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("docker")]


class TestDockerOverASocket(BackendConformance):
    @pytest.fixture
    def subject(self, tmp_path: Path, docker_servers: Hosts) -> Iterator[Subject]:
        server = docker_servers[0]
        with LossyProxy(str(server.socket)) as proxy:
            host = {"name": "one", "url": f"unix://{proxy.address}"}
            yield with_hooks(docker_subject(tmp_path, host), server, proxy)


class TestDockerOverTls(BackendConformance):
    @pytest.fixture
    def subject(self, tmp_path: Path, docker_servers: Hosts) -> Iterator[Subject]:
        server = docker_servers[1]
        with LossyProxy(server.tcp_url.removeprefix("tcp://")) as proxy:
            host = {"name": "two", "url": f"tcp://{proxy.address}", "tls": tls_of(server)}
            yield with_hooks(docker_subject(tmp_path, host), server, proxy)
