"""Endpoints for tests: a mirror with a few services."""

from collections.abc import Iterable
from typing import Any

from dovetail.discovery.endpoint import DiscoveredService, Endpoint
from dovetail.discovery.mirror import EndpointMirror, endpoint_item, service_item
from dovetail.responses.discovery import EndpointChanges


def endpoint(service: str, index: int, node: str, address: str, revision: int = 1, **more: Any) -> Endpoint:
    workload = more.pop("workload", 1_000 * revision + 10 * sum(map(ord, service)) + index)
    namespace = more.pop("namespace", "default")
    return Endpoint(namespace, service, index, revision, workload, node, address, more or {"http": 20_000 + index})


def changes(
    *endpoints: Endpoint,
    services: list[DiscoveredService] | None = None,
    full: bool = True,
    version: int = 1,
    **more: Any,
) -> EndpointChanges:
    """Services that are not given are made up from their endpoints."""
    if services is None:
        keys = {one.key: one for one in endpoints}
        services = [
            DiscoveredService(*key, replicas=3, protocols=dict.fromkeys(one.ports, "tcp")) for key, one in keys.items()
        ]
    nodes = {one.node: one.address for one in endpoints}
    found: EndpointChanges = {
        "version": version,
        "full": full,
        "services": [service_item(one) for one in services],
        "services_gone": [],
        "endpoints": [endpoint_item(one) for one in endpoints],
        "endpoints_gone": [],
        "nodes": [{"name": name, "address": address} for name, address in nodes.items()],
        "nodes_gone": [],
    }
    return {**found, **more}  # type: ignore[typeddict-item]


def mirror(*endpoints: Endpoint, services: list[DiscoveredService] | None = None) -> EndpointMirror:
    found = EndpointMirror()
    found.apply(changes(*endpoints, services=services))
    return found


def by_id(endpoints: Iterable[Endpoint]) -> dict[int, Endpoint]:
    return {one.workload: one for one in endpoints}
