"""Settings of the libvirt backend: which hypervisors, how to reach them, and what they offer.

backends:
  vms:
    kind: libvirt
    hypervisors:
      - {name: here, uri: "qemu:///system"}
      - {name: rack7, uri: "qemu+ssh://ops@10.0.0.7/system", ssh: {identity: /etc/dovetail/id_ed25519}}
      - {name: rack8, uri: "qemu+tls://10.0.0.8/system", tls: {ca: ca.pem, cert: cert.pem, key: key.pem}}
"""

from collections.abc import Mapping
from typing import Annotated, Literal, Self
from urllib.parse import urlencode, urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from dovetail.backends.contract import Refusal
from dovetail.backends.host_folders import AllowedFolders
from dovetail.backends.pricing import Priced
from dovetail.backends.settings_file_only import SETTINGS_FILE_ONLY
from dovetail.backends.ssh_command import SshSettings
from dovetail.backends.tls_files import Tls
from dovetail.model.text.quantity import Bytes, Cores, Count, Duration
from dovetail.model.text.strict import AtField, Host, NodeName, Strict, shown
from dovetail.model.workloads.selection import Labels, Taint

Uri = Annotated[str, Field(min_length=1, max_length=500)]
Parameter = Annotated[str, Field(pattern="^[a-z_]+$", max_length=50)]
Factor = Annotated[float, Field(ge=0.1, le=100, allow_inf_nan=False)]
ClusterMark = Annotated[str, Field(pattern=r"^[a-zA-Z0-9][a-zA-Z0-9_-]{0,39}$")]
PoolName = Annotated[str, Field(min_length=1, max_length=200)]
DRIVERS = ("qemu", "test")
PEER_TRANSPORTS = ("tls", "ssh", "tcp")
_FORMS = "qemu:///system, qemu:///session, qemu+ssh://user@host/system, qemu+tls://host/system or test:///default"


class Overcommit(Strict):
    """How much more is offered than the hypervisor has."""

    cpu: Factor = 1.0
    """Virtual CPUs offered for each CPU."""
    memory: Factor = 1.0
    """Memory offered for each byte of memory."""


class HypervisorCapacityOverride(Strict):
    """What the node offers instead of what its hypervisor reports, before overcommit."""

    cpu: Cores | None = None
    """CPUs; by default all."""
    memory: Bytes | None = None
    """Memory; by default all."""
    disk: Bytes | None = None
    """Disk; by default the size of the storage pool."""
    slots: Count | None = None
    """The most VMs at the same time; by default 110."""


class HypervisorSettings(Strict):
    name: NodeName
    """The node's name."""
    uri: Uri
    """The connection, as for `virsh -c`: `qemu:///system`, `qemu+ssh://user@host/system`, `qemu+tls://host/system`."""
    parameters: Annotated[dict[Parameter, str], Field(max_length=20), SETTINGS_FILE_ONLY] = {}
    """Parameters of the connection, which stand after `?` elsewhere: `socket`, `netcat`, `no_verify`, …"""
    ssh: SshSettings = SshSettings()
    """How ssh is called, for `qemu+ssh://`."""
    tls: Tls | None = None
    """Certificates, for `qemu+tls://`; by default those that libvirt finds on the machine of the server."""
    peer_uri: Uri | None = None
    """How other hypervisors reach this one, to migrate VMs to it; by default `uri`, if it names a host."""
    migration_address: Host | None = None
    """The address at which it takes in migrated memory; by default what libvirt chooses."""
    overcommit: Overcommit = Overcommit()
    """How much more is offered than there is."""
    capacity: HypervisorCapacityOverride = HypervisorCapacityOverride()
    """What the node offers instead of what its hypervisor reports."""
    labels: Labels = {}
    """Added to `arch`, `hostname`, `hypervisor` and `numa_cells`, which they override."""
    taints: Annotated[list[Taint], Field(max_length=100)] = []
    """Taints of the node."""
    pool: PoolName | None = None
    """Its storage pool; by default that of the backend."""
    address: Host | None = None
    """Where others reach the services of VMs on this host, if they share its address."""

    @property
    def transport(self) -> str:
        """How the hypervisor is reached: `ssh`, `tls`, `unix`, …; empty for one on the machine of the server."""
        return urlsplit(self.uri).scheme.partition("+")[2]

    def connection(self, **more: str) -> str:
        """As libvirt takes it. `more`: parameters of the connection; those in the settings count."""
        parameters = more | self.parameters
        return f"{self.uri}?{urlencode(parameters)}" if parameters else self.uri

    @property
    def reached_by_peers(self) -> str | None:
        """None: no other hypervisor can reach it."""
        return self.peer_uri or (self.uri if urlsplit(self.uri).hostname else None)

    @model_validator(mode="after")
    def _check_uris(self) -> Self:
        for field, uri in (("uri", self.uri), ("peer_uri", self.peer_uri)):
            if uri is not None and (urlsplit(uri).scheme.split("+")[0] not in DRIVERS or "://" not in uri):
                raise AtField((field,), f"{shown(uri)} is not a connection to QEMU; write {_FORMS}")
            if uri is not None and "?" in uri:
                raise AtField((field,), "ends before the '?'; write what stands after it under parameters")
        return self

    @model_validator(mode="after")
    def _check_transport(self) -> Self:
        parts = urlsplit(self.uri)
        if self.transport in ("ssh", "tls") and not parts.hostname:
            raise AtField(("uri",), f"needs a host, such as qemu+{self.transport}://host/system")
        if self.transport == "ssh" and any((name or "").startswith("-") for name in (parts.hostname, parts.username)):
            raise AtField(("uri",), "has a host or user that begins with '-'; ssh would take it for an option")
        if self.tls is not None and self.transport != "tls":
            raise AtField(("tls",), "goes with qemu+tls://")
        if self.ssh != SshSettings() and self.transport != "ssh":
            raise AtField(("ssh",), "goes with qemu+ssh://")
        return self


def refuse_unsafe_peer(uri: str) -> None:
    """Another agent has named it, and the hypervisor here will connect to it: nothing in it may run a command here, as
    parameters and other transports can. Raises Refusal."""
    parts = urlsplit(uri)
    driver, _, transport = parts.scheme.partition("+")
    names = (parts.hostname, parts.username)
    plain = not any((name or "").startswith("-") for name in names) and "?" not in uri and "#" not in uri
    if driver not in DRIVERS or transport not in PEER_TRANSPORTS or not parts.hostname or not plain:
        raise Refusal(f"{shown(uri)} is no address for hypervisors; write qemu+tls://host/system as peer_uri")


def _as_list(hypervisors: object) -> object:
    """A mapping by name is a list with these names; a plain address is one with nothing but an address."""
    if not isinstance(hypervisors, Mapping):
        return hypervisors
    entries: list[object] = []
    for name, one in hypervisors.items():
        entries.append({"name": name, **(one if isinstance(one, Mapping) else {"uri": one})})
    return entries


def _check_hypervisors(hypervisors: list[HypervisorSettings]) -> list[HypervisorSettings]:
    names: set[str] = set()
    uris: set[str] = set()
    for index, one in enumerate(hypervisors):
        if one.name in names:
            raise AtField((index, "name"), f"{one.name!r} stands twice; each hypervisor is a node of its own")
        if one.connection() in uris:
            raise AtField((index, "uri"), f"{shown(one.uri)} stands twice; one hypervisor is one node")
        names.add(one.name)
        uris.add(one.connection())
    return hypervisors


class LibvirtSettings(Priced):
    hypervisors: Annotated[
        list[HypervisorSettings],
        Field(min_length=1, max_length=1000),
        BeforeValidator(_as_list),
        AfterValidator(_check_hypervisors),
    ]
    """The hypervisors, each a node: a list, or a mapping of names and addresses: `{here: "qemu:///system"}`."""
    cluster: ClusterMark | None = None
    """Marks VMs as ours if several control planes share a hypervisor; by default a random name that is kept."""
    pool: PoolName = "default"
    """The storage pool for disks, cloud-init and console logs of VMs, and for images by name."""
    shared_storage: bool = False
    """The pool is the same storage on all hypervisors, so VMs with disks can be migrated live."""
    disk_cache: Literal["none", "writeback", "writethrough", "directsync"] = "none"
    """How the hypervisor caches disks; with `none` a live migration is safe on any shared storage."""
    emulate: bool = False
    """VMs run under emulation, also where the hypervisor has KVM: slow, but the same on every machine."""
    allow_paths: AllowedFolders = []
    """Folders of the hypervisors below which VMs may use images, kernels and disks by path; by default only volumes."""
    grace_s: Duration = 30.0
    """From the request to shut down to the power cut, for workloads without `disruption.grace`."""
    look_interval_s: Annotated[Duration, Field(ge=0.1)] = 10.0
    """How often the VMs of a hypervisor are listed, besides its events."""
    observe_interval_s: Annotated[Duration, Field(ge=0.1)] = 10.0
    """How often the use of a hypervisor is measured."""
    answer_within_s: Annotated[Duration, Field(ge=0.1)] = 10.0
    """A hypervisor that takes longer to answer a simple question is offline."""
    start_within_s: Annotated[Duration, Field(ge=1)] = 60.0
    """The longest time that making, starting or ending a VM may take."""
    migrate_within_s: Annotated[Duration, Field(ge=1)] = 3600.0
    """A live migration that takes longer is given up; the VM stays where it is."""
    migration_bandwidth: Bytes | None = None
    """The most bytes per second that a live migration sends; by default as the hypervisor is configured."""
    migration_downtime_s: Annotated[Duration, Field(gt=0, le=60)] | None = None
    """The longest pause of a VM at the end of a live migration; by default as the hypervisor is configured."""
    parallel: Annotated[Count, Field(ge=1, le=100)] = 4
    """How many VMs are made, started or stopped at once on a hypervisor."""
    keep_logs: Count = 1000
    """The most console logs of ended VMs to keep on a hypervisor."""
    keep_for_s: Duration = 2 * 86400.0
    """How long console logs of ended VMs are kept. Those of the last ten minutes always stay."""
