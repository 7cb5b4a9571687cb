"""Settings of the Docker backend: which hosts, how to reach them, and how containers are made there.

backends:
  docker:
    kind: docker
    hosts:
      - {name: here, url: "unix:///var/run/docker.sock"}
      - {name: rack7, url: "tcp://10.0.0.7:2376", tls: {ca: ca.pem, cert: cert.pem, key: key.pem}}
      - {name: lab, url: "ssh://ops@lab.example.com", labels: {site: lab}}
"""

import re
from collections.abc import Mapping
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, model_validator

from dovetail.backends.host_folders import AllowedFolders
from dovetail.backends.pricing import Priced
from dovetail.backends.settings_file_only import SETTINGS_FILE_ONLY
from dovetail.backends.ssh_command import SshSettings
from dovetail.backends.tls_files import Tls
from dovetail.model.device import MAX_DEVICES, Gpus
from dovetail.model.text.quantity import Bytes, Cores, Count, Duration
from dovetail.model.text.strict import AtField, Host, NodeName, Strict, check_host, shown
from dovetail.model.workloads.image import registry_of
from dovetail.model.workloads.selection import Labels, Taint

Text = Annotated[str, Field(min_length=1, max_length=3000)]
#: Part of container names, so restricted to what Docker accepts there.
ClusterName = Annotated[str, Field(pattern=r"^[a-zA-Z0-9][a-zA-Z0-9_-]{0,39}$")]
SCHEMES = ("unix", "tcp", "ssh")


class Ssh(SshSettings):
    """How `ssh` is called. Its user's configuration applies to what is not set here."""

    command: Annotated[list[Text], Field(min_length=1, max_length=100), SETTINGS_FILE_ONLY] = [
        *("docker", "system", "dial-stdio")
    ]
    """The command on the host that connects its standard input and output to the engine."""


class HostCapacityOverride(Strict):
    """What the node offers instead of what its engine reports. The default of disk is 0."""

    cpu: Cores | None = None
    """Cores offered; by default all."""
    memory: Bytes | None = None
    """Memory offered; by default all."""
    disk: Bytes = 0
    """Disk offered."""
    slots: Count | None = None
    """The most tasks at the same time; by default 110."""


class HostSettings(Strict):
    name: NodeName
    """The node's name."""
    url: Annotated[str, Field(min_length=1, max_length=500)]
    """The engine: `unix://` and a path, `tcp://host:port`, or `ssh://user@host:port`."""
    tls: Tls | None = None
    """Certificates, for `tcp://`."""
    ssh: Ssh = Ssh()
    """How ssh is called, for `ssh://`."""
    labels: Labels = {}
    """Added to the engine's `arch`, `os` and `hostname`, which they override."""
    taints: Annotated[list[Taint], Field(max_length=100)] = []
    """Taints of the node."""
    gpus: Annotated[list[Gpus], Field(max_length=MAX_DEVICES)] = []
    """Its GPUs, in the order in which the host numbers them. With `uuids`, containers get GPUs by UUID."""
    capacity: HostCapacityOverride = HostCapacityOverride()
    """What the node offers instead of what its engine reports."""
    network: Text | None = None
    """The network of containers on this host; by default that of the backend."""
    address: Host | None = None
    """Where others reach the services of this host; by default the host of `url`, for a socket `127.0.0.1`."""

    @property
    def reached_at(self) -> str | None:
        """The address of its services; None if nothing says where they are."""
        parts = urlsplit(self.url)
        if self.address is not None or parts.scheme == "unix":
            return self.address or "127.0.0.1"
        try:
            return check_host(parts.hostname or "")
        except ValueError:  # a name that only ssh understands
            return None

    @model_validator(mode="after")
    def _check_url(self) -> Self:
        parts = urlsplit(self.url)
        if parts.scheme not in SCHEMES:
            forms = "unix:///var/run/docker.sock, tcp://host:2376 or ssh://user@host"
            raise AtField(("url",), f"{shown(self.url)} is not the address of an engine; write {forms}")
        if parts.scheme == "unix" and (parts.netloc or not parts.path.startswith("/")):
            raise AtField(("url",), "a socket is an absolute path after unix://, such as unix:///var/run/docker.sock")
        if parts.scheme == "tcp" and (not parts.hostname or _port(parts) is None):
            raise AtField(("url",), "needs a host and a port, such as tcp://10.0.0.7:2376")
        if parts.scheme == "ssh" and (not parts.hostname or parts.hostname.startswith("-")):
            raise AtField(("url",), "needs a host, such as ssh://user@host")
        if parts.scheme == "ssh" and (
            parts.password or parts.path.strip("/") or (parts.username or "").startswith("-")
        ):
            raise AtField(("url",), "is ssh://user@host:port and nothing more; keys and paths are given under ssh")
        if self.tls is not None and parts.scheme != "tcp":
            raise AtField(("tls",), f"goes with tcp://, not with {parts.scheme}://")
        return self


def _port(parts: object) -> int | None:
    try:
        return getattr(parts, "port", None)
    except ValueError:  # not a number, or beyond 65535
        return None


class Registry(Strict):
    """The login for an image registry."""

    username: Annotated[str, Field(min_length=1, max_length=500)]
    """The user."""
    password: SecretStr
    """The password or token; it is never shown."""


def _as_list(hosts: object) -> object:
    """A mapping of hosts by name is a list of hosts with that name: `hosts: {a: {url: …}}`."""
    if not isinstance(hosts, Mapping):
        return hosts
    return [{"name": name, **host} if isinstance(host, Mapping) else host for name, host in hosts.items()]


def _check_hosts(hosts: list[HostSettings]) -> list[HostSettings]:
    names: set[str] = set()
    urls: set[str] = set()
    for index, host in enumerate(hosts):
        if host.name in names:
            raise AtField((index, "name"), f"{host.name!r} stands twice; each host is a node of its own")
        if host.url in urls:
            raise AtField((index, "url"), f"{shown(host.url)} stands twice; one engine is one node")
        names.add(host.name)
        urls.add(host.url)
    return hosts


def _check_registry(name: str) -> str:
    if registry_of(f"{name}/image") != name or not re.fullmatch(r"[\w.-]+(:\d+)?", name, re.ASCII):
        raise ValueError(f"{shown(name)} is not a registry's host name, such as registry.example.com:5000")
    return name


class DockerSettings(Priced):
    hosts: Annotated[
        list[HostSettings],
        Field(min_length=1, max_length=1000),
        BeforeValidator(_as_list),
        AfterValidator(_check_hosts),
    ]
    """The Docker engines, each a node: a list, or a mapping by name: `hosts: {a: {url: "unix:///var/run/docker.sock"}}`."""
    cluster: ClusterName | None = None
    """Marks containers as ours if several control planes share a host; by default a random name that is kept."""
    pull: Literal["missing", "always", "never"] = "missing"
    """When an image is pulled: if the host lacks it, before every start, or never."""
    registries: Annotated[dict[Annotated[str, AfterValidator(_check_registry)], Registry], Field(max_length=100)] = {}
    """Logins, by host name as in image names: `registry.example.com:5000`; `docker.io` for images without one."""
    network: Text = "bridge"
    """The Docker network of containers."""
    allow_paths: AllowedFolders = []
    """Folders of the hosts that workloads may mount, with all below them; by default only named volumes."""
    user: Text | None = None
    """The user of commands, such as `1000:1000`; by default the image's."""
    grace_s: Duration = 10.0
    """From the stop signal to the kill, for workloads without `disruption.grace`."""
    log_driver: Literal["json-file", "local"] = "json-file"
    """Where the engine keeps the output of containers."""
    log_size: Annotated[Bytes, Field(ge=1)] | None = None
    """How much of a container's output is kept at least; by default as the host is configured."""
    look_interval_s: Annotated[Duration, Field(ge=0.1)] = 10.0
    """How often the containers of a host are listed, besides its events."""
    observe_interval_s: Annotated[Duration, Field(ge=0.1)] = 10.0
    """How often the use of a host is measured."""
    answer_within_s: Annotated[Duration, Field(ge=0.1)] = 10.0
    """A host that takes longer to answer a ping is offline."""
    parallel: Annotated[Count, Field(ge=1, le=1000)] = 8
    """How many containers are started or stopped at once on a host."""
    report_images: Annotated[Count, Field(le=10_000)] = 200
    """How many of a host's newest images become labels, for the score `image_locality`."""
    keep_containers: Count = 1000
    """The most ended containers to keep on a host, for their output."""
    keep_for_s: Duration = 2 * 86400.0
    """How long ended containers are kept. Those of the last ten minutes always stay."""
