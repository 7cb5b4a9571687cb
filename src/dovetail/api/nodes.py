"""Routes of nodes: register, look at, label and taint, cordon and drain."""

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import Field
from starlette.responses import Response

from dovetail.api import answers
from dovetail.api.amounts import resources_of
from dovetail.api.body import model_in, plane_of
from dovetail.api.description import takes
from dovetail.api.replies import Json, Text
from dovetail.control.errors import NotFound
from dovetail.control.plane import ControlPlane
from dovetail.engine.questions.questions import NodeUse
from dovetail.model.node import Node
from dovetail.model.text.strict import Strict, closest
from dovetail.model.workloads.selection import LabelKey, LabelValue, Taint

router = APIRouter(prefix="/nodes", tags=["nodes"])

SLICE = 256  # nodes described before others get their turn
Reason = Annotated[str, Field(max_length=500)]


class NodeChange(Strict):
    """Labels that are null are taken away; taints, if given, replace all."""

    labels: Annotated[dict[LabelKey, LabelValue | None], Field(max_length=1000)] = {}
    taints: Annotated[list[Taint], Field(max_length=100)] | None = None


class Why(Strict):
    reason: Reason = ""


def use_of(plane: ControlPlane, name: str) -> NodeUse:
    try:
        return plane.questions.node(name)
    except KeyError:
        near = closest(name, plane.engine.state.cluster.rows) if len(plane.engine.state.cluster.rows) < 10_000 else ""
        raise NotFound(f"no node {name[:100]!r}.{near} GET /api/v1/nodes lists them") from None


def _row(use: NodeUse) -> dict[str, Any]:
    return {
        "name": use.name,
        "backend": use.backend,
        "status": use.status,
        "reason": use.reason,
        "online": use.online,
        "cordoned": use.cordoned,
        "drained": use.drained,
        "labels": use.labels,
        "taints": use.taints,
        "load": round(use.load, 4),
        "tasks": use.tasks,
        "resources": resources_of(use),
    }


def _detail(plane: ControlPlane, name: str) -> dict[str, Any]:
    found = _row(use_of(plane, name))
    found["definition"] = plane.engine.state.cluster.node(name).model_dump(mode="json")
    found["gpus"] = [{"slot": gpu.slot, **gpu.device._asdict(), "used": gpu.used} for gpu in plane.questions.gpus(name)]
    return found


@router.get("")
async def nodes(request: Request) -> Response:
    """All nodes, by name, with what is in use on each."""
    plane = plane_of(request)
    rows: list[dict[str, Any]] = []
    for number, name in enumerate(sorted(plane.engine.state.cluster.rows)):
        if number % SLICE == SLICE - 1:
            await asyncio.sleep(0)
        if name in plane.engine.state.cluster.rows:  # it may have left in between
            rows.append(_row(plane.questions.node(name)))
    return Json({"items": rows})


@router.post("", openapi_extra=takes(Node), status_code=201)
async def register(request: Request) -> Response:
    """Make a node known that fetches its work with heartbeats; of a node that is known, change what is known (200)."""
    node = (await model_in(request, Node)).model_copy(update={"backend": "registered"})
    plane = plane_of(request)
    known = node.name in plane.engine.state.cluster.rows
    await plane.nodes.register(node)
    return Json(_detail(plane, node.name), 200 if known else 201)


@router.get("/{name}")
async def node(request: Request, name: str) -> Response:
    return Json(_detail(plane_of(request), name))


@router.delete("/{name}", status_code=204)
async def remove(request: Request, name: str, reason: Annotated[str, Query(max_length=500)] = "removed") -> Response:
    """Forget a node for good; what it ran waits for another place."""
    await plane_of(request).nodes.remove(name, reason)
    return Response(status_code=204)


@router.patch("/{name}", openapi_extra=takes(NodeChange))
async def change(request: Request, name: str) -> Response:
    wanted = await model_in(request, NodeChange)
    plane = plane_of(request)
    await plane.nodes.patch(name, dict(wanted.labels), wanted.taints)
    return Json(_detail(plane, name))


@router.post("/{name}/cordon", openapi_extra=takes(Why, required=False))
async def cordon(request: Request, name: str) -> Response:
    """Let it take no new work; what runs there goes on."""
    why = await model_in(request, Why)
    plane = plane_of(request)
    await plane.nodes.cordon(name, True, why.reason)
    return Json(_detail(plane, name))


@router.post("/{name}/uncordon", openapi_extra=takes(Why, required=False))
async def uncordon(request: Request, name: str) -> Response:
    """Let it take work again; this also ends a drain."""
    why = await model_in(request, Why)
    plane = plane_of(request)
    await plane.nodes.cordon(name, False, why.reason)
    return Json(_detail(plane, name))


@router.post("/{name}/drain", openapi_extra=takes(Why, required=False))
async def drain(request: Request, name: str) -> Response:
    """Cordon it and move its work elsewhere."""
    why = await model_in(request, Why)
    plane = plane_of(request)
    await plane.nodes.drain(name, why.reason)
    return Json(_detail(plane, name))


@router.get("/{name}/diagnostics")
async def diagnostics(request: Request, name: str) -> Response:
    """The node in words."""
    plane = plane_of(request)
    return Text(answers.node_in_words(use_of(plane, name), plane.questions.gpus(name)))


@router.get("/{name}/tasks")
async def tasks(request: Request, name: str) -> Response:
    """What holds capacity there."""
    plane = plane_of(request)
    use_of(plane, name)
    return Json({"items": await plane.read(plane.store.node_tasks, name)})
