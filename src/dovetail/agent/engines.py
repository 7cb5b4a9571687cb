"""The engines beside the local backend of an agent, by the kind of work that each runs: Docker for containers, libvirt
for VMs. Both are the backends that a server has, with this machine as their only host."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Union

from dovetail.agent.inventory.reading import FoundMachine
from dovetail.agent.settings import AgentSettings
from dovetail.backends.contract import Refusal
from dovetail.model.node import Node
from dovetail.model.resources import CPU, MEMORY, capacity_of
from dovetail.model.workloads.workload import Workload, WorkloadKind

if TYPE_CHECKING:
    from dovetail.backends.docker.backend import DockerBackend
    from dovetail.backends.libvirt.backend import LibvirtBackend

Engine = Union["DockerBackend", "LibvirtBackend"]
_MISSING = {
    WorkloadKind.CONTAINER: "this node has no container engine; give its agent one: docker in its settings",
    WorkloadKind.VM: "this node has no hypervisor; give its agent one: libvirt in its settings",
}


def engines_of(settings: AgentSettings, name: str, machine: FoundMachine) -> dict[WorkloadKind, Engine]:
    """`name`: of the node."""
    found: dict[WorkloadKind, Engine] = {}
    if settings.docker is not None:
        from dovetail.backends.docker.backend import DockerBackend

        [host] = settings.docker.hosts
        gpus = settings.local.gpus if "gpus" in settings.local.model_fields_set else machine.gpus
        docker = settings.docker.model_copy(update={"hosts": [host.model_copy(update={"name": name, "gpus": gpus})]})
        found[WorkloadKind.CONTAINER] = DockerBackend("agent", docker, settings.data / "containers")
    if settings.libvirt is not None:
        from dovetail.backends.libvirt.backend import LibvirtBackend

        [hypervisor] = settings.libvirt.hypervisors
        here = [hypervisor.model_copy(update={"name": name})]
        libvirt = settings.libvirt.model_copy(update={"hypervisors": here})
        found[WorkloadKind.VM] = LibvirtBackend("agent", libvirt, settings.data / "vms")
    return found


def kind_of_engine(spec: Workload) -> WorkloadKind | None:
    """The kind of the engine that runs it; None: no engine, it is a command."""
    if spec.kind is WorkloadKind.VM:
        return WorkloadKind.VM
    return WorkloadKind.CONTAINER if spec.run.image is not None else None


def engine_for(engines: Mapping[WorkloadKind, Engine], kind: WorkloadKind) -> Engine:
    """Raises Refusal."""
    if kind not in engines:
        raise Refusal(_MISSING[kind])
    return engines[kind]


def with_engines(node: Node, described: Mapping[WorkloadKind, Node]) -> Node:
    """The node of the machine, with what its engines add. `described`: as each engine that answers sees the machine; a
    hypervisor leaves out what VMs of others have."""
    labels = node.labels
    for engine in described.values():
        labels = engine.labels | labels
    capacity = node.capacity
    if WorkloadKind.VM in described:
        own, hypervisor = capacity.amounts(), described[WorkloadKind.VM].capacity.amounts()
        less = {name: min(own.get(name, 0), hypervisor.get(name, 0)) for name in (CPU, MEMORY)}
        capacity = capacity_of(hypervisor | own | less)  # huge pages are the hypervisor's to know
    return node.model_copy(update={"kinds": [*node.kinds, *described], "labels": labels, "capacity": capacity})
