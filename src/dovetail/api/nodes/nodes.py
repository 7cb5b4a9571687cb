"""Routes of nodes: register, inspect, label and taint, cordon and drain; reports of failures. What their agents report
and ask for is `agents`."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Annotated, Self, cast

from fastapi import Query, Request
from pydantic import Field, model_validator

from dovetail.access.tokens import TokenKind
from dovetail.api.nodes.amounts import node_in_words, quarantine_of, resources_of
from dovetail.api.nodes.inventory import inventory_in_words
from dovetail.api.protocol.body import MAX_ID, MOST_ROWS, Reason, model_in, plane_of
from dovetail.api.protocol.guard import check_registers
from dovetail.api.protocol.openapi import Routes, takes
from dovetail.api.protocol.replies import CreatedJson, Json, NoContent, PlainText
from dovetail.api.protocol.row_list import SortedBy
from dovetail.api.task_use import with_use
from dovetail.control.plane import ControlPlane
from dovetail.control.services.nodes import NodeService
from dovetail.engine.pieces import IsSpent, Pieces, in_one
from dovetail.engine.questions.node_list import NODE_SORTS, STATUSES
from dovetail.engine.questions.node_questions import NodeUse
from dovetail.model.node import Node
from dovetail.model.text.complaint import Complaint, Invalid
from dovetail.model.text.strict import Strict, closest, shown
from dovetail.model.workloads.affinity import HOST, Level
from dovetail.model.workloads.selection import LabelKey, LabelValue, Taint
from dovetail.responses import ItemList
from dovetail.responses.nodes import (
    FailureReport,
    NodeDetail,
    NodeGpu,
    NodeInventory,
    NodePage,
    NodeRow,
    NodeTask,
    RegisteredNode,
)

router = Routes(tags=["nodes"])

SLICE = 256  # nodes of a list that are described in one piece


class NodeChange(Strict):
    """A label that is null is removed. Taints, if given, replace all taints."""

    labels: Annotated[dict[LabelKey, LabelValue | None], Field(max_length=1000)] = {}
    taints: Annotated[list[Taint], Field(max_length=100)] | None = None


class Why(Strict):
    reason: Reason = ""


class ReportedFailure(Strict):
    """A domain by `level` and `name`, or one `node`."""

    level: Level | None = None
    name: Annotated[str, Field(min_length=1, max_length=300)] | None = None
    node: Annotated[str, Field(min_length=1, max_length=300)] | None = None
    reason: Reason = ""

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.node is None) == (self.level is None or self.name is None):
            raise ValueError("give level and name of a domain, or node")
        return self


def _row(use: NodeUse) -> NodeRow:
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


def _detail(plane: ControlPlane, name: str) -> NodeDetail:
    plane.nodes.must_exist(name)
    known = plane.questions.nodes
    gpus = [{"slot": gpu.slot, **gpu.device._asdict(), "used": gpu.used} for gpu in known.gpus(name)]
    definition = known.definition(name)
    inventory = None if definition.inventory is None else definition.inventory.model_dump(mode="json")
    return {
        **_row(known.use(name)),
        "definition": definition.model_dump(mode="json", exclude={"inventory"}),
        "gpus": cast("list[NodeGpu]", gpus),
        "inventory": cast("NodeInventory | None", inventory),
        "quarantine": quarantine_of(name, known.quarantine(name)),
    }


@router.get("/nodes")
async def nodes(
    request: Request,
    search: Annotated[str, Query(max_length=200, description="a part of the name")] = "",
    status: Annotated[str, Query(max_length=200, description="one of these, divided by commas")] = "",
    sort: Annotated[str, SortedBy(NODE_SORTS), Query(description="`-` before it: descending")] = "name",
    limit: Annotated[int | None, Query(ge=1, le=MAX_ID, description="all if left out")] = None,
    offset: Annotated[int, Query(ge=0, le=MAX_ID, description="so many are left out")] = 0,
) -> Json[NodePage]:
    """Nodes with what is in use on each: all by name, or a page of those that are asked for. `sort` by use is by the
    resource that is used most; by health the worst come first."""
    plane = plane_of(request)
    statuses = {word.strip() for word in status.split(",") if word.strip()}
    if strange := sorted(statuses - set(STATUSES)):
        words = f"unknown status {shown(strange[0])}.{closest(strange[0], STATUSES)} Known: {', '.join(STATUSES)}"
        raise Invalid([Complaint("query parameter", None, "status", words)])
    order = await plane.ask(lambda _: plane.questions.nodes.ordered(search, statuses, sort))
    names = order.names[offset : None if limit is None else offset + limit]
    rows: list[NodeRow] = []
    for first in range(0, len(names), SLICE):
        rows += await plane.ask(partial(_rows, plane, names[first : first + SLICE]))
    return Json({"items": rows, "total": len(order.names), "counts": order.counts})


def _rows(plane: ControlPlane, names: list[str], _: IsSpent) -> Pieces[list[NodeRow]]:
    """Without nodes that were removed meanwhile."""
    known = plane.questions.nodes
    return in_one(lambda: [_row(known.use(name)) for name in names if name in known])


@router.post("/nodes", openapi_extra=takes(Node))
async def register(request: Request) -> Json[NodeDetail] | CreatedJson[RegisteredNode]:
    """Register a node whose agent fetches work with heartbeats (201), or change what is known about it (200).

    A new node gets a token of its own, with which its agent speaks for it. New nodes are admitted by the admin token or
    by a join token (`POST /tokens/join`). So is the agent of a machine that a backend has launched: the node is known,
    and its description stays what the backend says.
    """
    node = (await model_in(request, Node)).model_copy(update={"backend": "registered"})
    plane, caller = plane_of(request), request.state.caller
    joins = plane.nodes.is_launched(node.name) and caller.kind is TokenKind.JOIN
    joins = joins and (caller.node is not None or not plane.access.has_token(node.name))
    known = node.name in plane.questions.nodes and not joins
    check_registers(caller, node.name, is_known=known)
    if caller.token is not None:
        await plane.access.spend(caller.token)
    await plane.nodes.register(node)
    detail = _detail(plane, node.name)
    if known:
        return Json(detail)
    made: RegisteredNode = {**detail, "token": await plane.access.node_token(node.name)}
    return CreatedJson(made)


@router.get("/nodes/{name}")
async def node(request: Request, name: str) -> Json[NodeDetail]:
    return Json(_detail(plane_of(request), name))


@router.delete("/nodes/{name}")
async def remove(request: Request, name: str, reason: Annotated[str, Query(max_length=500)] = "removed") -> NoContent:
    """Remove a node for good. Its tasks wait for another node."""
    plane = plane_of(request)
    await plane.nodes.remove(name, reason)
    await plane.access.forget_node(name)
    return NoContent()


@router.patch("/nodes/{name}", openapi_extra=takes(NodeChange))
async def change(request: Request, name: str) -> Json[NodeDetail]:
    wanted = await model_in(request, NodeChange)
    plane = plane_of(request)
    await plane.nodes.patch(name, dict(wanted.labels), wanted.taints)
    return Json(_detail(plane, name))


@router.post("/nodes/{name}/cordon", openapi_extra=takes(Why, required=False))
async def cordon(request: Request, name: str) -> Json[NodeDetail]:
    """Let it take no new work. Its tasks keep running."""
    return await _act(request, name, NodeService.cordon)


@router.post("/nodes/{name}/uncordon", openapi_extra=takes(Why, required=False))
async def uncordon(request: Request, name: str) -> Json[NodeDetail]:
    """Let it take work again. This also ends a drain."""
    return await _act(request, name, NodeService.uncordon)


@router.post("/nodes/{name}/drain", openapi_extra=takes(Why, required=False))
async def drain(request: Request, name: str) -> Json[NodeDetail]:
    """Cordon it and move its tasks to other nodes."""
    return await _act(request, name, NodeService.drain)


async def _act(
    request: Request, name: str, action: Callable[[NodeService, str, str], Awaitable[None]]
) -> Json[NodeDetail]:
    why = await model_in(request, Why)
    plane = plane_of(request)
    await action(plane.nodes, name, why.reason)
    return Json(_detail(plane, name))


@router.get("/nodes/{name}/diagnostics")
async def diagnostics(request: Request, name: str) -> PlainText:
    """The node described in text, one fact a line."""
    plane = plane_of(request)
    plane.nodes.must_exist(name)
    known = plane.questions.nodes
    words = node_in_words(known.use(name), known.gpus(name), quarantine_of(name, known.quarantine(name)))
    return PlainText(words + inventory_in_words(known.definition(name).inventory))


@router.get("/nodes/{name}/tasks")
async def tasks(request: Request, name: str) -> Json[ItemList[NodeTask]]:
    """The tasks that hold capacity there."""
    plane = plane_of(request)
    plane.nodes.must_exist(name)
    rows = await plane.read(plane.store.node_tasks, name)
    return Json({"items": cast("list[NodeTask]", with_use(plane, rows))})


@router.post("/failures", openapi_extra=takes(ReportedFailure))
async def fail(request: Request) -> CreatedJson[FailureReport]:
    """Report that a node or a whole domain has failed: cordon the nodes, give up the tasks that ran there, and recover
    gangs that lost tasks where possible.

    `recoveries` says for each of those gangs what is done at once. `uncordon` brings a node back.
    """
    plane = plane_of(request)
    failure = await model_in(request, ReportedFailure)
    level, name = (HOST, failure.node) if failure.node is not None else (failure.level, failure.name)
    assert level is not None
    assert name is not None
    before = await plane.read(plane.store.newest_history)
    lost = await plane.nodes.fail(level, name, failure.reason)
    recoveries = await _recoveries(plane, before)
    return CreatedJson({"level": level, "name": name, "nodes": lost, "recoveries": recoveries})


async def _recoveries(plane: ControlPlane, after: int) -> list[str]:
    """The lines about recoveries in the history after this one."""
    found: list[str] = []
    while True:
        lines = await plane.read(plane.store.history, None, None, after, MOST_ROWS)
        found += [line["message"] for line in lines if line["kind"] == "recovery"]
        if len(lines) < MOST_ROWS:
            return found
        after = lines[-1]["seq"]
