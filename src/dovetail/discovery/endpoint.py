"""The nouns of discovery: services, their endpoints, and the addresses of nodes."""

from collections.abc import Mapping
from dataclasses import dataclass, field

ServiceKey = tuple[str, str]  # namespace and name


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A ready replica. `workload` is its id, and the id of the endpoint; `ports`: the number of each by name."""

    namespace: str
    service: str
    index: int
    revision: int
    workload: int
    node: str
    address: str
    ports: Mapping[str, int] = field(default_factory=dict)

    @property
    def key(self) -> ServiceKey:
        return self.namespace, self.service


@dataclass(frozen=True, slots=True)
class DiscoveredService:
    """A service that has a name, with endpoints or without. `replicas`: how many there should be. `protocols`: tcp or
    udp, by the name of a port."""

    namespace: str
    name: str
    replicas: int = 0
    protocols: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def key(self) -> ServiceKey:
        return self.namespace, self.name
