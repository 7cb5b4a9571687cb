"""Settings of the Docker backend say at once what is wrong with them."""

from typing import Any

import pytest
from pydantic import ValidationError

from dovetail.backends.docker.connection import ssh_command
from dovetail.backends.docker.settings import DockerSettings, HostSettings
from dovetail.backends.registry import BackendEntry
from dovetail.model.text.validation_errors import complaints_of

HOST = {"name": "one", "url": "unix:///run/docker.sock"}


def complaint_about(**fields: Any) -> str:
    with pytest.raises(ValidationError) as caught:
        DockerSettings.model_validate({"hosts": [HOST]} | fields)
    (complaint,) = complaints_of(caught.value, DockerSettings)
    return str(complaint)


@pytest.mark.parametrize(
    ("host", "words"),
    [
        ({"url": "http://host"}, "write unix:///var/run/docker.sock"),
        ({"url": "unix://run/docker.sock"}, "absolute path"),
        ({"url": "tcp://host"}, "a host and a port"),
        ({"url": "tcp://host:99999"}, "a host and a port"),
        ({"url": "ssh://"}, "needs a host"),
        ({"url": "ssh://-oProxyCommand=evil"}, "needs a host"),
        ({"url": "ssh://-evil@host"}, "nothing more"),
        ({"url": "ssh://user:password@host"}, "nothing more"),
        ({"tls": {"ca": "ca.pem"}}, "goes with tcp://"),
        ({"url": "tcp://host:2376", "tls": {"ca": "ca.pem", "cert": "cert.pem"}}, "given together"),
    ],
)
def test_a_host_that_cannot_be_reached_that_way_is_refused(host: dict[str, Any], words: str) -> None:
    assert words in complaint_about(hosts=[HOST | host])


def test_each_host_is_a_node_of_its_own() -> None:
    assert "stands twice" in complaint_about(hosts=[HOST, HOST | {"url": "unix:///other.sock"}])
    assert "one engine is one node" in complaint_about(hosts=[HOST, HOST | {"name": "two"}])


def test_odd_paths_and_registries_are_refused() -> None:
    assert "absolute path" in complaint_about(allow_paths=["data"])
    assert "absolute path" in complaint_about(allow_paths=["/data/../etc"])
    assert "registries" in complaint_about(registries={"https://x.example": {"username": "u", "password": "p"}})


def test_passwords_are_shown_to_nobody() -> None:
    login = {"registry.example.com:5000": {"username": "ann", "password": "open sesame"}}
    entry = BackendEntry.of("docker", hosts=[HOST], registries=login)
    assert "sesame" not in repr(entry)
    assert "sesame" not in entry.model_dump_json()


def test_ssh_is_asked_for_exactly_what_the_settings_say() -> None:
    ssh = {"identity": "/k", "known_hosts": "/h", "options": ["-J", "jump"]}
    settings = DockerSettings.model_validate({"hosts": [HOST | {"url": "ssh://ops@lab:2222", "ssh": ssh}]})
    command = ssh_command(settings.hosts[0])
    assert command[-7:] == ["-l", "ops", "--", "lab", "docker", "system", "dial-stdio"]
    assert command[command.index("-p") + 1] == "2222"
    assert {"BatchMode=yes", "StrictHostKeyChecking=yes", "UserKnownHostsFile=/h", "-J"} <= set(command)


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ({"url": "unix:///var/run/docker.sock"}, "127.0.0.1"),
        ({"url": "unix:///var/run/docker.sock", "address": "10.0.0.9"}, "10.0.0.9"),
        ({"url": "tcp://10.0.0.7:2376"}, "10.0.0.7"),
        ({"url": "tcp://[fd00::7]:2376"}, "fd00::7"),
        ({"url": "ssh://root@gpu-host.example"}, "gpu-host.example"),
        ({"url": "ssh://root@1.2.3"}, None),
    ],
    ids=str,
)
def test_services_of_a_host_are_reached_where_its_engine_is_unless_the_settings_say_otherwise(
    host: dict[str, str], address: str | None
) -> None:
    assert HostSettings.model_validate({"name": "a", **host}).reached_at == address
