"""A replica of a service as the workload that the engine places: named for its service, its revision and its index.

Guarantees: replicas of one revision differ in name and environment only, so they share a shape. Two replicas that
listen on the same port never share a node, whatever their services.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from dovetail.model.services.health import HealthCheck
from dovetail.model.services.service import Service
from dovetail.model.workloads.affinity import HOST, Affinity, Peers, Spread
from dovetail.model.workloads.roles import SERVICE_LABEL
from dovetail.model.workloads.workload import RestartPolicy, TaskTemplate, Workload, WorkloadKind

REVISION_LABEL = "dovetail/revision"
PORT_LABEL = "dovetail/port-{}"
#: Ports that replicas are given. Outside the range that Linux takes for outgoing connections.
FIRST_PORT, LAST_PORT = 20_000, 31_999
#: Failure domains over which replicas are spread, where nodes have these labels; the nearest counts most.
SPREAD_OVER = {HOST: 0.3, "rack": 0.2, "zone": 0.1}

_REPLICA = re.compile(r"(.+)-r(\d{1,9})-(\d{1,9})", re.ASCII)
_SHARED = tuple(TaskTemplate.model_fields)


@dataclass(frozen=True, slots=True)
class ReplicaName:
    """`web-r2-0`: replica 0 of service web, in its second revision."""

    service: str
    revision: int
    index: int

    def __str__(self) -> str:
        return f"{self.service}-r{self.revision}-{self.index}"

    @staticmethod
    def read(workload: str) -> "ReplicaName | None":
        found = _REPLICA.fullmatch(workload)
        return None if found is None else ReplicaName(found[1], int(found[2]), int(found[3]))

    @staticmethod
    def of(workload: Workload) -> "ReplicaName | None":
        """None for a workload that is no replica, whatever its name looks like."""
        found = ReplicaName.read(workload.name)
        if found is None or workload.restart is not RestartPolicy.ALWAYS:
            return None
        expected = {SERVICE_LABEL: found.service, REVISION_LABEL: str(found.revision)}
        return found if expected.items() <= workload.labels.items() else None


def replica_workload(service: Service, revision: int, index: int, ports: Mapping[str, int]) -> Workload:
    """`ports`: the number of every port of the replica, by name."""
    given = {name: getattr(service, name) for name in _SHARED if name in service.model_fields_set}
    labels = {**service.labels, SERVICE_LABEL: service.name, REVISION_LABEL: str(revision)}
    fixed = [port for port in service.ports if port.port is not None]
    labels |= {PORT_LABEL.format(port.port): port.protocol for port in fixed}
    apart = [_apart(PORT_LABEL.format(port.port), port.protocol) for port in fixed]
    environment = {**service.run.env, **_environment(service, revision, index, ports)}
    own = {
        "name": str(ReplicaName(service.name, revision, index)),
        "kind": WorkloadKind.CONTAINER if service.run.image else WorkloadKind.JOB,
        "service": service.name,
        "labels": labels,
        "affinity": [*service.affinity, *apart],
        "spread": service.spread or _spread(service),
        "restart": RestartPolicy.ALWAYS,
        "run": service.run.model_copy(update={"env": environment}),
    }
    return Workload.model_validate(given | own)


def _apart(label: str, protocol: str) -> Affinity:
    return Affinity(apart=Peers(labels={label: protocol}, namespaces=["*"]), within=HOST)


def _spread(service: Service) -> list[Spread]:
    """By default over failure domains, as far as that is possible."""
    if service.affinity:
        return []
    return [Spread(over=level, weight=weight) for level, weight in SPREAD_OVER.items()]


def _environment(service: Service, revision: int, index: int, ports: Mapping[str, int]) -> dict[str, str]:
    found = {"DOVETAIL_SERVICE": service.name, "DOVETAIL_REVISION": str(revision), "DOVETAIL_INDEX": str(index)}
    found |= {port.variable: str(ports[port.name]) for port in service.ports}
    if service.ports:
        found["PORT"] = str(ports[service.ports[0].name])
    return found


def ports_of(service: Service, workload: Workload) -> dict[str, int]:
    """The number of every port of a replica, read back from its definition."""
    found = {port.name: workload.run.env.get(port.variable, "") for port in service.ports}
    return {name: int(number) for name, number in found.items() if number.isdigit()}


def port_of_check(service: Service, check: HealthCheck, ports: Mapping[str, int]) -> int | None:
    """The number of the port that a check asks."""
    if isinstance(check.port, int):
        return check.port
    name = check.port or (service.ports[0].name if service.ports else "")
    return ports.get(name)
