"""The Docker engines that tests are given really run containers."""

import ssl

import httpx
import pytest
from tests.servers.docker import IMAGE, DockerServer, docker_server

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("docker")]
Hosts = tuple[DockerServer, DockerServer]


def run_container(client: httpx.Client, script: str) -> str:
    body = {"Image": IMAGE, "Cmd": ["sh", "-c", script], "HostConfig": {"NetworkMode": "none"}}
    container = str(client.post("/containers/create", json=body).raise_for_status().json()["Id"])
    client.post(f"/containers/{container}/start").raise_for_status()
    return container


def test_a_container_prints_and_exits(docker_servers: Hosts) -> None:
    with docker_servers[0].client() as client:
        container = run_container(client, "echo hello; exit 3")
        assert client.post(f"/containers/{container}/wait").json()["StatusCode"] == 3
        assert b"hello" in client.get(f"/containers/{container}/logs", params={"stdout": "true"}).content


def test_two_hosts_know_nothing_of_each_other(docker_servers: Hosts) -> None:
    with docker_servers[0].client() as first, docker_servers[1].client() as second:
        container = run_container(first, "sleep 1000")
        assert first.get(f"/containers/{container}/json").json()["State"]["Running"] is True
        assert second.get(f"/containers/{container}/json").status_code == httpx.codes.NOT_FOUND
        first.delete(f"/containers/{container}", params={"force": "true"}).raise_for_status()


def test_tcp_is_for_those_with_a_certificate(docker_servers: Hosts) -> None:
    server = docker_servers[1]
    assert server.client_certificate is not None
    url = server.tcp_url.replace("tcp://", "https://") + "/_ping"
    stranger = ssl.create_default_context(cafile=str(server.authority))
    with pytest.raises(httpx.TransportError):
        httpx.get(url, verify=stranger, timeout=60)
    known = ssl.create_default_context(cafile=str(server.authority))
    known.load_cert_chain(server.client_certificate.certificate, server.client_certificate.key)
    assert httpx.get(url, verify=known, timeout=60).text == "OK"


def test_containers_outlive_an_engine_that_was_killed() -> None:
    with docker_server(live_restore=True) as server, server.client() as client:
        container = run_container(client, "sleep 1000")
        before = client.get(f"/containers/{container}/json").json()["State"]
        server.restart()
        assert client.get(f"/containers/{container}/json").json()["State"] == before
