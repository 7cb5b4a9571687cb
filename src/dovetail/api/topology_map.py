"""The route that draws the cluster: every node in a few characters, and what changed since the last look."""

import time
from typing import Annotated

from fastapi import Query, Request

from dovetail.api.protocol.body import Namespace, plane_of
from dovetail.api.protocol.openapi import Routes
from dovetail.api.protocol.replies import Json
from dovetail.api.protocol.shared_answers import accepted_age_s
from dovetail.control.plane import ControlPlane
from dovetail.engine.pieces import in_one
from dovetail.engine.questions.map_questions import MapAnswer, MapUplink, WorkloadOnMap
from dovetail.engine.questions.map_rows import MapHealth
from dovetail.responses.topology_map import MapLink, MapNodes, MapWorkload, TopologyMap

router = Routes(tags=["nodes"])

LEGEND = [health.name.lower() for health in MapHealth]


@router.get("/topology/map")
async def topology_map(
    request: Request,
    after: Annotated[str | None, Query(max_length=60, description="the `version` of the last answer")] = None,
    workload: Annotated[str | None, Query(max_length=200, description="also say where its tasks are")] = None,
    namespace: Namespace = None,
) -> Json[TopologyMap]:
    """The cluster in columns: domains, and of each node its GPUs, what is in use, its health, who holds most of it,
    what is fragmented, and what is expected in an hour.

    With `after`, only nodes that changed since that version, and `gone`; a version of another server or of an older map
    gets all of it (`full`). `workload`, a name as everywhere (a group stands for all its workloads): the nodes of its
    tasks, the level that it reached, the estimated time of its traffic and the links between its domains.
    With `Cache-Control: max-age=SECONDS` the map may be so old: those who follow it then get the same changes.
    """
    plane = plane_of(request)
    named = None if workload is None else await plane.names.find(workload, namespace)
    since = _version_in(plane, after)
    max_age_s = accepted_age_s(request.scope)
    found = await plane.ask(lambda _: plane.questions.map.map(time.time(), since, max_age_s))
    answer: TopologyMap = {
        "version": f"{_server(plane)}-{found.version}",
        "full": found.full,
        "levels": found.levels,
        "legend": LEGEND,
        "tenants": found.tenants,
        "backends": found.backends,
        "nodes": columns_of(found),
        "gone": found.gone,
    }
    if found.places is not None:
        answer["domains"] = [{"name": one.name, "level": one.level, "parent": one.parent} for one in found.places]
    if named is not None:
        first = named.workloads[0]
        on_map = await plane.ask(lambda _: in_one(lambda: plane.questions.map.workloads_on(named.ids)))
        answer["workload"] = _workload(first["id"], first["namespace"], named.group or first["name"], on_map)
    return Json(answer)


def _server(plane: ControlPlane) -> int:
    """Tells one run of the server from another: versions begin anew with each."""
    return int(plane.started_at * 1000)


def _version_in(plane: ControlPlane, after: str | None) -> int | None:
    """None: of no map that this server knows."""
    server, _, version = (after or "").partition("-")
    is_ours = server == str(_server(plane)) and version.isascii() and version.isdigit() and len(version) < 19
    return int(version) if is_ours else None


def columns_of(found: MapAnswer) -> MapNodes:
    nodes = found.nodes
    return {
        "row": found.rows,
        "name": [one.name for one in nodes],
        "domain": found.domains,
        "backend": found.owners,
        "gpus": [one.gpus for one in nodes],
        "gpu_used": [one.gpu_used for one in nodes],
        "cpu_share": [one.cpu_share for one in nodes],
        "memory_share": [one.memory_share for one in nodes],
        "health": [int(one.health) for one in nodes],
        "tenant": found.holders,
        "fragment": [one.fragment for one in nodes],
        "forecast": [one.forecast for one in nodes],
    }


def _workload(id_: int, namespace: str, name: str, found: WorkloadOnMap) -> MapWorkload:
    estimate = found.estimate
    return {
        "id": id_,
        "namespace": namespace,
        "name": name,
        "row": found.rows,
        "tasks": found.tasks,
        "level": found.level,
        "domain": found.domain,
        "traffic_s": None if estimate is None else estimate.all_reduce.seconds,
        "best_s": None if estimate is None else estimate.all_reduce.best_seconds,
        "traffic_bytes": 0 if estimate is None else estimate.size_bytes,
        "links": [_link(one) for one in found.links],
    }


def _link(one: MapUplink) -> MapLink:
    known = one.carries is not None and one.carries > 0
    return {
        "level": one.level,
        "name": one.name,
        "tasks": one.tasks,
        "up_mbps": one.carries,
        "load": round(min(1.0, max(0.0, one.held / one.carries)), 4) if known and one.carries else None,
    }
