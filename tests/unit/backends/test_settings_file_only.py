"""Which settings of backends a request may not give, whatever their depth."""

from typing import Annotated, Any, get_args, get_origin

import pytest
from pydantic import BaseModel

from dovetail.backends.registry import KINDS, BackendEntry
from dovetail.backends.settings_file_only import SettingsFileOnly, settings_file_fields

SSH = {"name": "a", "url": "ssh://host"}
FAR = {"name": "a", "uri": "qemu+ssh://ops@host/system"}
TLS = {"ca": "/ca", "cert": "/cert", "key": "/key"}
REFUSED: list[tuple[dict[str, Any], list[str]]] = [
    ({"kind": "docker", "hosts": [{**SSH, "ssh": {"program": "/bin/sh"}}]}, ["hosts[0].ssh.program"]),
    ({"kind": "docker", "hosts": [{**SSH, "ssh": {"options": ["-oProxyCommand=id"]}}]}, ["hosts[0].ssh.options"]),
    ({"kind": "docker", "hosts": {"a": {"url": "ssh://host", "ssh": {"command": ["id"]}}}}, ["hosts[0].ssh.command"]),
    ({"kind": "docker", "hosts": [{**SSH, "ssh": {"identity": "/id", "known_hosts": "/k"}}]},
     ["hosts[0].ssh.identity", "hosts[0].ssh.known_hosts"]),
    ({"kind": "docker", "hosts": [{"name": "a", "url": "tcp://h:1", "tls": TLS}]},
     ["hosts[0].tls.ca", "hosts[0].tls.cert", "hosts[0].tls.key"]),
    ({"kind": "docker", "hosts": [SSH], "allow_paths": ["/"]}, ["allow_paths"]),
    ({"kind": "libvirt", "hypervisors": [{"name": "a", "uri": "qemu+tls://h/system", "tls": TLS}]},
     ["hypervisors[0].tls.ca", "hypervisors[0].tls.cert", "hypervisors[0].tls.key"]),
    ({"kind": "libvirt", "hypervisors": [{**FAR, "ssh": {"identity": "/id", "known_hosts": "/k"}}]},
     ["hypervisors[0].ssh.identity", "hypervisors[0].ssh.known_hosts"]),
    ({"kind": "libvirt", "hypervisors": [{**FAR, "ssh": {"program": "/sh", "options": ["-oProxyCommand=id"]}}]},
     ["hypervisors[0].ssh.program", "hypervisors[0].ssh.options"]),
    ({"kind": "libvirt", "hypervisors": [{**FAR, "parameters": {"command": "/sh"}}]}, ["hypervisors[0].parameters"]),
    ({"kind": "kubernetes", "kubeconfig": "/etc/shadow"}, ["kubeconfig"]),
    ({"kind": "kubernetes", "allow_paths": ["/etc"]}, ["allow_paths"]),
    ({"kind": "slurm", "url": "http://evil:1", "user": "a", "token_file": "/etc/shadow"}, ["token_file"]),
    ({"kind": "slurm", "conf": "/tmp/evil.conf", "folder": "/etc/cron.d"}, ["folder", "conf"]),
    ({"kind": "pbs", "conf": "/tmp/evil.conf", "commands": "/tmp", "launcher": "/sh", "ssh": {"program": "/sh"}},
     ["commands", "conf", "ssh.program", "launcher"]),
    ({"kind": "local", "folder": "/etc", "run_as": "server", "isolation": "none", "groups": ["disk"]},
     ["folder", "isolation", "run_as", "groups"]),
]  # fmt: skip
SENT: list[dict[str, Any]] = [
    {"kind": "docker", "hosts": [SSH], "registries": {"r.example": {"username": "a", "password": "b"}}},
    {"kind": "libvirt", "hypervisors": [FAR]},
    {"kind": "kubernetes", "context": "prod", "namespace": "jobs"},
    {"kind": "slurm", "url": "https://head:6820", "user": "a", "token": "secret"},
    {"kind": "pbs", "url": "ssh://ops@head", "dialect": "openpbs", "place": "excl"},
    {"kind": "simulated", "groups": [{"count": 1}]},
    {"kind": "local"},
]  # fmt: skip


@pytest.mark.parametrize(("entry", "fields"), REFUSED)
def test_files_and_programs_are_found(entry: dict[str, Any], fields: list[str]) -> None:
    assert settings_file_fields(BackendEntry.model_validate(entry).settings) == fields


@pytest.mark.parametrize("entry", SENT)
def test_what_can_be_sent_is_left_alone(entry: dict[str, Any]) -> None:
    assert settings_file_fields(BackendEntry.model_validate(entry).settings) == []


#: Words in names of fields that mean a file or a program, and those that were looked at and mean neither.
SUSPECT = ("file", "path", "program", "command", "config", "conf", "folder", "identity", "cert", "key", "ca", "hosts")
HARMLESS = {
    "AzureSettings.machine_identity",  # names of Azure, and a public key
    "AzureSettings.managed_identity",
    "AzureSettings.ssh_key",
    "DockerSettings.hosts",
    "GcpSettings.price_key",
    "JoinSettings.program",  # on the machine that is launched
    "LocalSettings.folder_limit",
    "Taint.key",
    "AzureFunction.key",  # keys of clouds are given by whoever adds the backend
    "AzureFunction.path",  # of a URL
    "AzureFunctionsSettings.durable_key",
    "AzureFunctionsSettings.key",
    "LambdaSettings.access_key_id",
    "LambdaSettings.secret_access_key",
    "Ec2Settings.access_key",  # names of AWS, and a secret of its own
    "Ec2Settings.key",
    "Ec2Settings.secret_key",
}


def models(kind: Any) -> set[type[BaseModel]]:
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return {kind}.union(*(models(field.annotation) for field in kind.model_fields.values()))
    return set().union(*(models(part) for part in get_args(kind)), set())


def is_marked(model: type[BaseModel], name: str) -> bool:
    def inside(annotation: Any) -> bool:
        notes = annotation.__metadata__ if get_origin(annotation) is Annotated else ()
        return any(isinstance(one, SettingsFileOnly) for one in notes) or any(map(inside, get_args(annotation)))

    field = model.model_fields[name]
    return any(isinstance(one, SettingsFileOnly) for one in field.metadata) or inside(field.annotation)


def test_no_field_that_sounds_like_a_file_or_a_program_was_forgotten() -> None:
    found = set().union(*(models(kind.settings) for kind in KINDS.values()))
    forgotten = {
        f"{model.__name__}.{name}"
        for model in found
        for name in model.model_fields
        if set(name.split("_")) & set(SUSPECT) or name.endswith(("paths", "kubeconfig"))
        if not is_marked(model, name)
    }
    assert forgotten <= HARMLESS
