"""Routes of nodes: register, inspect, label and taint, cordon and drain; heartbeats of agents; reports of failures.

`backends.registered.protocol` states the rules that an agent must keep. Most heartbeats are answered by `fast_reports`
before they come here.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Annotated, Any, Literal, Self, cast

from fastapi import Query, Request
from pydantic import Field, model_validator

from dovetail.access.tokens import TokenKind
from dovetail.api.nodes.amounts import node_in_words, quarantine_of, resources_of
from dovetail.api.nodes.inventory import inventory_in_words
from dovetail.api.protocol.body import MAX_ID, MOST_ROWS, Reason, model_in, plane_of
from dovetail.api.protocol.guard import check_registers
from dovetail.api.protocol.openapi import Routes, takes
from dovetail.api.protocol.problems import HttpProblem
from dovetail.api.protocol.replies import CreatedJson, Json, NoContent, PlainText
from dovetail.api.protocol.row_list import SortedBy
from dovetail.api.task_use import with_use
from dovetail.backends.contract import Assignment
from dovetail.backends.registered.protocol import HeartbeatReply, TaskReport
from dovetail.control.plane import ControlPlane
from dovetail.control.services.nodes import NodeService
from dovetail.engine.pieces import IsSpent, Pieces, in_one
from dovetail.engine.questions.node_list import NODE_SORTS, STATUSES
from dovetail.engine.questions.node_questions import NodeUse
from dovetail.model.node import Node
from dovetail.model.resources import Capacity
from dovetail.model.task_flows import TaskFlows
from dovetail.model.task_use import TaskUse
from dovetail.model.text.complaint import Complaint, Invalid
from dovetail.model.text.quantity import Count, MeasuredCores
from dovetail.model.text.strict import Strict, closest, shown
from dovetail.model.workloads.affinity import HOST, Level
from dovetail.model.workloads.selection import LabelKey, LabelValue, Taint
from dovetail.responses import ItemList
from dovetail.responses.nodes import (
    FailureReport,
    NodeDetail,
    NodeGpu,
    NodeInventory,
    NodeOrders,
    NodePage,
    NodeRow,
    NodeTask,
    RegisteredNode,
    RunOrder,
)

router = Routes(tags=["nodes"])

LONGEST_WAIT_S = 60.0
SLICE = 256  # nodes of a list that are described in one piece


class NodeChange(Strict):
    """A label that is null is removed. Taints, if given, replace all taints."""

    labels: Annotated[dict[LabelKey, LabelValue | None], Field(max_length=1000)] = {}
    taints: Annotated[list[Taint], Field(max_length=100)] | None = None


class Why(Strict):
    reason: Reason = ""


class MeasuredUse(Capacity):
    """What is in use on the node, as measured there."""

    cpu: MeasuredCores = 0.0
    slots: Count = 0


class Reported(Strict):
    key: Annotated[str, Field(pattern=r"^\d{1,18}\.\d{1,9}\.\d{1,9}$")]
    state: Literal["running", "finished"]
    exit_code: Annotated[int, Field(ge=-(2**31), lt=2**31)] | None = None
    reason: Annotated[str, Field(max_length=1000)] = ""
    use: TaskUse | None = None
    flows: TaskFlows | None = None


class Heartbeat(Strict):
    """`answers`: the agent waits for its orders (`GET /nodes/NAME/orders`), and answers questions."""

    used: MeasuredUse | None = None
    answers: bool = False
    tasks: Annotated[list[Reported], Field(max_length=10_000)] = []


class SeenVm(Strict):
    """A VM of the hypervisor beside the agent. `key`: of the attempt that it is; null if others made it."""

    name: Annotated[str, Field(max_length=300)]
    key: Annotated[str, Field(max_length=300)] | None = None
    power: Annotated[str, Field(max_length=30)]
    cpus: Annotated[int, Field(ge=0, le=MAX_ID)]
    memory_bytes: Annotated[int, Field(ge=0, le=MAX_ID)]
    used_memory_bytes: Annotated[int, Field(ge=0, le=MAX_ID)] | None = None
    cpu_time_s: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None


class SeenSnapshot(Strict):
    name: Annotated[str, Field(max_length=300)]
    made_at: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    power: Annotated[str, Field(max_length=30)]
    current: bool


class CallAnswer(Strict):
    """`text`, `next_offset` and `ended` answer `logs`; `offset` answers `log_tail` and `log_since`, where null is
    nothing; `vms` answers `vms` and `vm_offer`; `snapshots` answers `vm_snapshots`. `unknown`: the agent does not know
    the attempt, or keeps no output of it. `refused`: why what was asked is not done."""

    unknown: bool = False
    refused: Annotated[str, Field(max_length=2000)] = ""
    vms: Annotated[list[SeenVm], Field(max_length=10_000)] = []
    snapshots: Annotated[list[SeenSnapshot], Field(max_length=10_000)] = []
    text: Annotated[str, Field(max_length=4 * 2**20)] = ""
    next_offset: Annotated[int, Field(ge=0, le=MAX_ID)] = 0
    ended: bool = False
    offset: Annotated[int, Field(ge=0, le=MAX_ID)] | None = None


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


@router.post("/nodes/{name}/heartbeat", openapi_extra=takes(Heartbeat, required=False))
async def heartbeat(request: Request, name: str) -> Json[NodeOrders]:
    """The agent of a registered node reports what runs there, and learns what to run and to stop. Both lists of the
    answer are repeated until the node has reported what they ask for."""
    heard = await model_in(request, Heartbeat)
    used = None if heard.used is None else heard.used.amounts()
    nodes = plane_of(request).nodes
    return Json(orders_of(await nodes.heartbeat(name, used, reports_in(heard), answers=heard.answers)))


def reports_in(heard: Heartbeat) -> list[TaskReport]:
    return [TaskReport(task.key, task.state, task.exit_code, task.reason, task.use, task.flows) for task in heard.tasks]


@router.get("/nodes/{name}/orders")
async def orders(
    request: Request,
    name: str,
    after: Annotated[int, Query(ge=0, le=MAX_ID, description="the `version` of the last answer")] = 0,
    wait_s: Annotated[float, Query(ge=0, le=LONGEST_WAIT_S, description="how long the server waits for a change")] = 0,
) -> Json[NodeOrders]:
    """What the agent of a registered node has to do, as soon as that has changed. Who asks this way is asked for the
    output of tasks, too."""
    wait = asyncio.create_task(plane_of(request).nodes.orders(name, after, wait_s))
    closing = asyncio.create_task(request.app.state.closing.wait())
    try:
        await asyncio.wait({wait, closing}, return_when=asyncio.FIRST_COMPLETED)
        if not wait.done():
            raise HttpProblem(503, "the server is stopping; ask again", headers={"Retry-After": "1"})
        return Json(orders_of(wait.result()))
    finally:
        for task in (wait, closing):
            task.cancel()


@router.post("/nodes/{name}/calls/{call}", openapi_extra=takes(CallAnswer))
async def answer(request: Request, name: str, call: str) -> NoContent:
    """The agent of a registered node answers a question (`calls` of its orders)."""
    given = await model_in(request, CallAnswer)
    plane_of(request).nodes.answer(name, call, answer_of(given))
    return NoContent()


def answer_of(given: CallAnswer) -> dict[str, Any] | None:
    """None: the agent does not know the attempt."""
    return None if given.unknown else given.model_dump(exclude={"unknown"})


def orders_of(reply: HeartbeatReply) -> NodeOrders:
    return {
        "run": [_order(assignment) for assignment in reply.run],
        "stop": reply.stop,
        "kill": reply.kill,
        "calls": [{"id": one.id, "kind": one.kind, "key": one.key, "asked": one.asked} for one in reply.calls],
        "version": reply.version,
    }


def _order(assignment: Assignment) -> RunOrder:
    spec = assignment.spec
    return {
        "key": assignment.key,
        "namespace": spec.namespace,
        "name": spec.name,
        "replica": assignment.task.replica,
        "replicas": spec.replicas,
        "run": {
            **spec.run.model_dump(mode="json", exclude_defaults=True),
            "env": spec.run.env | (assignment.variables() if spec.vm is None else {}),
        },
        "resources": spec.resources.model_dump(mode="json", exclude_defaults=True),
        "limits": spec.limits.model_dump(mode="json", exclude_none=True),
        "deadline": spec.deadline.model_dump(mode="json", exclude_none=True),
        "grace_s": spec.disruption.grace,
        "devices": list(assignment.devices),
        "vm": None if spec.vm is None else spec.vm.model_dump(mode="json", exclude_defaults=True),
    }


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
