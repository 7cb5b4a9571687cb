"""Routes of discovery: where services are reached, for clients, for copies of the whole table, and for Prometheus."""

import re
from typing import Annotated, Any

from fastapi import Query, Request

from dovetail.api.protocol.body import MAX_ID, Namespace, plane_of
from dovetail.api.protocol.long_poll import LONGEST_WAIT_S, answer_or_closing
from dovetail.api.protocol.openapi import Routes
from dovetail.api.protocol.replies import Json
from dovetail.control.services.discovery import ENDPOINT, NODE, SERVICE, TableKey
from dovetail.discovery.change_table import TableChanges
from dovetail.discovery.endpoint import DiscoveredService, Endpoint
from dovetail.discovery.mirror import endpoint_item, service_item
from dovetail.discovery.ordering import in_turn, tiers
from dovetail.model.workloads.workload import DEFAULT_NAMESPACE
from dovetail.responses.discovery import (
    DistanceRow,
    EndpointChanges,
    EndpointRow,
    PrometheusTargets,
    ServiceEndpoints,
)

router = Routes(tags=["discovery"])

_META = "__meta_dovetail_"


@router.get("/services/{ref}/endpoints")
async def endpoints(
    request: Request,
    ref: str,
    namespace: Namespace = None,
    start: Annotated[
        str | None, Query(alias="from", max_length=300, description="the asking node: nearest endpoints first")
    ] = None,
) -> Json[ServiceEndpoints]:
    """Where a service is reached: its ready replicas."""
    plane = plane_of(request)
    record = (await plane.services.get(ref, namespace)).record
    distances = None
    if start is not None:
        plane.nodes.must_exist(start)
        distances = plane.discovery.distances(start, to_endpoints=True)
    version, found = plane.discovery.endpoints(record.key)
    ordered = in_turn(tiers(found, distances), 0)
    rows = [_row(one, None if distances is None else distances.get(one.node)) for one in ordered]
    return Json({"namespace": record.namespace, "service": record.name, "version": version, "items": rows})


@router.get("/endpoints")
async def changes(
    request: Request,
    after: Annotated[int, Query(ge=0, le=MAX_ID, description="the `version` of the last answer")] = 0,
    wait_s: Annotated[float, Query(ge=0, le=LONGEST_WAIT_S, description="how long the server waits for a change")] = 0,
) -> Json[EndpointChanges]:
    """All endpoints, then what changed about them, as soon as it has: ask again with the `version` of the answer."""
    return Json(_changes(await answer_or_closing(request, plane_of(request).discovery.changes(after, wait_s))))


@router.get("/nodes/{name}/distances")
async def distances(
    request: Request,
    name: str,
    endpoints: Annotated[bool, Query(description="only to nodes where some service is reached")] = False,
) -> Json[DistanceRow]:
    """How far all other nodes are from this one, 0 to 100."""
    plane = plane_of(request)
    plane.nodes.must_exist(name)
    found = plane.discovery.distances(name, to_endpoints=endpoints)
    return Json({"node": name, "distances": {node: round(distance, 3) for node, distance in found.items()}})


@router.get("/discovery/prometheus")
async def prometheus(
    request: Request,
    namespace: Annotated[str | None, Query(max_length=300, description="only services in this one")] = None,
    port: Annotated[str | None, Query(max_length=300, description="only ports of this name")] = None,
) -> Json[list[PrometheusTargets]]:
    """Every TCP port of every endpoint, as the HTTP service discovery of Prometheus (`http_sd_configs`) reads them."""
    discovery = plane_of(request).discovery
    _, found = discovery.endpoints()
    services = discovery.services()
    targets = [
        _target(one, services[one.key], name)
        for one in found
        if one.key in services and namespace in (None, one.namespace)
        for name in one.ports
        if port in (None, name) and services[one.key].protocols.get(name, "tcp") == "tcp"
    ]
    return Json(targets)


def _row(one: Endpoint, distance: float | None) -> EndpointRow:
    service = one.service if one.namespace == DEFAULT_NAMESPACE else f"{one.namespace}/{one.service}"
    rounded = None if distance is None else round(distance, 3)
    return {**endpoint_item(one), "name": f"{service}.{one.index}", "distance": rounded}


def _changes(found: TableChanges[TableKey, Any]) -> EndpointChanges:
    put: dict[str, list[Any]] = {SERVICE: [], ENDPOINT: [], NODE: []}
    dropped: dict[str, list[Any]] = {SERVICE: [], ENDPOINT: [], NODE: []}
    for (kind, key), value in found.put:
        put[kind].append({"name": key, "address": value} if kind == NODE else value)
    for kind, key in found.dropped:
        dropped[kind].append(key)
    return {
        "version": found.version,
        "full": found.full,
        "services": [service_item(one) for one in put[SERVICE]],
        "services_gone": dropped[SERVICE],
        "endpoints": [endpoint_item(one) for one in put[ENDPOINT]],
        "endpoints_gone": dropped[ENDPOINT],
        "nodes": put[NODE],
        "nodes_gone": dropped[NODE],
    }


def _target(one: Endpoint, service: DiscoveredService, port: str) -> PrometheusTargets:
    host = f"[{one.address}]" if ":" in one.address else one.address
    labels = {
        "namespace": one.namespace,
        "service": one.service,
        "replica": str(one.index),
        "revision": str(one.revision),
        "node": one.node,
        "port": port,
        **{f"label_{re.sub('[^A-Za-z0-9_]', '_', key)}": value for key, value in service.labels.items()},
    }
    return {"targets": [f"{host}:{one.ports[port]}"], "labels": {_META + key: value for key, value in labels.items()}}
