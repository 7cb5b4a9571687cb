"""Answers about discovery: where services are reached, and what changed about that."""

from typing_extensions import TypedDict


class EndpointItem(TypedDict):
    """A ready replica. `workload` is its id; `ports`: the number of each by name."""

    namespace: str
    service: str
    index: int
    revision: int
    workload: int
    node: str
    address: str
    ports: dict[str, int]


class EndpointRow(EndpointItem):
    """`name`: as it can be typed. `distance`: from the asking node, 0 to 100; null if none asks."""

    name: str
    distance: float | None


class ServiceEndpoints(TypedDict):
    """`version`: of the endpoints of all services."""

    namespace: str
    service: str
    version: int
    items: list[EndpointRow]


class ServiceItem(TypedDict):
    """A service that has a name, with endpoints or without. `protocols`: tcp or udp, by the name of a port."""

    namespace: str
    name: str
    replicas: int
    protocols: dict[str, str]
    labels: dict[str, str]


class NodeAddressItem(TypedDict):
    name: str
    address: str


class EndpointChanges(TypedDict):
    """What changed after a version. `full`: this is everything, and what the asker had before is void. Services that
    are gone by namespace and name, endpoints by the id of their workload, nodes by name."""

    version: int
    full: bool
    services: list[ServiceItem]
    services_gone: list[list[str]]
    endpoints: list[EndpointItem]
    endpoints_gone: list[int]
    nodes: list[NodeAddressItem]
    nodes_gone: list[str]


class DistanceRow(TypedDict):
    """`distances`: from `node` to each other node, 0 to 100."""

    node: str
    distances: dict[str, float]


class PrometheusTargets(TypedDict):
    """As the HTTP service discovery of Prometheus reads them."""

    targets: list[str]
    labels: dict[str, str]
