"""Settings of an agent: its file, its options and its environment say the same."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, Field

from dovetail.agent.interruptions import InterruptionSettings
from dovetail.agent.probing.probing import ProbeSettings
from dovetail.backends.contract import UnusableSetting
from dovetail.backends.docker.settings import DockerSettings
from dovetail.backends.libvirt.check import check_access
from dovetail.backends.libvirt.settings import LibvirtSettings
from dovetail.backends.local.settings import LocalSettings
from dovetail.discovery.dns.settings import DnsSettings
from dovetail.model.text.complaint import Complaint, Invalid
from dovetail.model.text.quantity import Duration
from dovetail.model.text.reading import read_one
from dovetail.model.text.strict import Strict

DOCKER_URL = "unix:///var/run/docker.sock"
HYPERVISOR_URI = "qemu:///system"
OF_HYPERVISOR = ("uri", "parameters", "capacity", "peer_uri", "migration_address")


def _one_host(hosts: str, usual: Mapping[str, str], of_host: Sequence[str]) -> Callable[[object], object]:
    """`{url: …}` is one host, whose name is that of the node. `of_host`: fields that are the host's."""

    def listed(given: object) -> object:
        if not isinstance(given, Mapping) or hosts in given:
            return given
        host = {"name": "here", **usual, **{name: given[name] for name in of_host if name in given}}
        return {hosts: [host], **{name: value for name, value in given.items() if name not in of_host}}

    return listed


class AgentSettings(Strict):
    data: Path = Field(default_factory=lambda: Path.home() / ".local/share/dovetail-agent")
    """Where it keeps its identity, its orders and the folders of tasks."""
    local: LocalSettings = LocalSettings()
    """How commands run here: the settings of the local backend. `node` is the name of the node."""
    docker: Annotated[
        DockerSettings | None, BeforeValidator(_one_host("hosts", {"url": DOCKER_URL}, ("url", "tls")))
    ] = None
    """The Docker engine of this machine, which runs containers: `{}` for the usual one, `{url: …}` for another, with
    the settings of the Docker backend except `hosts`. Without it the node takes no containers."""
    libvirt: Annotated[
        LibvirtSettings | None,
        BeforeValidator(_one_host("hypervisors", {"uri": HYPERVISOR_URI}, OF_HYPERVISOR)),
    ] = None
    """The hypervisor of this machine, which runs VMs: `{}` for `qemu:///system`, `{uri: …}` for another, with the
    settings of the libvirt backend except `hypervisors`. Without it the node takes no VMs. With `peer_uri`, and
    the same `cluster` as other agents, VMs are migrated live to this node and from it."""
    heartbeat: Annotated[Duration, Field(ge=0.5, le=600)] = 10.0
    """How often it reports its use. What becomes of tasks is reported at once."""
    look_again: Annotated[Duration, Field(ge=0.5, le=86400)] = 300.0
    """How often it looks again what the machine has, and reports what has changed."""
    longest_pause: Annotated[Duration, Field(ge=0.1, le=3600)] = 60.0
    """How long it waits at most before it tries again to reach the control plane. Pauses grow up to this."""
    probes: ProbeSettings = ProbeSettings()
    """How it measures the network between this node and others."""
    dns: DnsSettings | None = None
    """Answer DNS queries for the names of services on this machine, nearest endpoints first. None: it does not."""
    interruptions: InterruptionSettings = InterruptionSettings()
    """How it learns that a cloud takes this machine back, so that the node drains in time."""
    drain_on_stop: bool = False
    """On SIGTERM, let its tasks be moved elsewhere, and wait for that before it ends."""

    def with_name(self, name: str) -> "AgentSettings":
        local = LocalSettings.model_validate({**self.local.model_dump(exclude_unset=True), "node": name})
        return self.model_copy(update={"local": local})


def read_settings(config: Path | None, name: str | None, data: Path | None) -> AgentSettings:
    """From a YAML file, with what the options say above it. Raises Invalid and OSError."""
    text, source = (b"{}", "options") if config is None else (config.read_bytes(), str(config))
    found = read_one(AgentSettings, text, source)
    if found.docker is not None and len(found.docker.hosts) != 1:
        words = "an agent has the engine of its own machine; write docker: {url: unix:///…}"
        raise Invalid([Complaint(source, None, "docker.hosts", words)])
    if found.libvirt is not None:
        _check_hypervisor(found.libvirt, source)
    if data is not None:
        found = found.model_copy(update={"data": data})
    return found if name is None else found.with_name(name)


def _check_hypervisor(settings: LibvirtSettings, source: str) -> None:
    if len(settings.hypervisors) != 1:
        words = "an agent has the hypervisor of its own machine; write libvirt: {uri: qemu:///system}"
        raise Invalid([Complaint(source, None, "libvirt.hypervisors", words)])
    try:
        check_access(settings)
    except UnusableSetting as error:
        raise Invalid([Complaint(source, None, "libvirt", str(error))]) from None
