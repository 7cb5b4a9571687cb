"""Routes of agents: what they report of their nodes, what they are told to do, and what they answer when asked.

`backends.registered.protocol` states the rules that an agent must keep. Most heartbeats are answered by `fast_reports`
before they come here.
"""

from typing import Annotated, Any, Literal

from fastapi import Query, Request
from pydantic import Field

from dovetail.api.protocol.body import MAX_ID, model_in, plane_of
from dovetail.api.protocol.long_poll import LONGEST_WAIT_S, answer_or_closing
from dovetail.api.protocol.openapi import Routes, takes
from dovetail.api.protocol.replies import Json, NoContent
from dovetail.backends.contract import Assignment
from dovetail.backends.peer_migration import PeerMove
from dovetail.backends.registered.protocol import HeartbeatReply, TaskReport
from dovetail.model.resources import Capacity
from dovetail.model.task_flows import TaskFlows
from dovetail.model.task_use import TaskUse
from dovetail.model.text.quantity import Count, MeasuredCores
from dovetail.model.text.strict import Strict
from dovetail.responses.nodes import NodeOrders, RunOrder

router = Routes(tags=["nodes"])


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


Words = Annotated[str, Field(min_length=1, max_length=300)]
Size = Annotated[int, Field(ge=0, le=MAX_ID)]


class ReportedMove(Strict):
    """A live migration of a VM between two nodes with agents."""

    key: Annotated[str, Field(pattern=r"^\d{1,18}\.\d{1,9}\.\d{1,9}$")]
    source: Words
    target: Words
    number: Words


class Heartbeat(Strict):
    """`answers`: the agent waits for its orders (`GET /nodes/NAME/orders`), and answers questions. `moves`: live
    migrations to or from this node that the server has not settled (`vm_settle`)."""

    used: MeasuredUse | None = None
    answers: bool = False
    tasks: Annotated[list[Reported], Field(max_length=10_000)] = []
    moves: Annotated[list[ReportedMove], Field(max_length=1000)] = []


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


class ToldLeaving(Strict):
    """What a node must have to take in a VM: the mark of its agent, and shared storage if it has disks."""

    cluster: Words
    disks: bool


class ToldPeer(Strict):
    """How the hypervisor of a node takes in VMs. `cpus`: of each NUMA cell."""

    uri: Annotated[str, Field(min_length=1, max_length=500)]
    address: Annotated[str, Field(max_length=300)] | None = None
    cpus: Annotated[dict[str, Annotated[str, Field(max_length=20_000)]], Field(max_length=1000)] = {}


class ToldProgress(Strict):
    source: Words
    target: Words
    state: Words
    elapsed_s: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    total_bytes: Size = 0
    sent_bytes: Size = 0
    remaining_bytes: Size = 0
    dirty_bytes_per_s: Size | None = None
    downtime_s: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    rounds: Size = 0
    words: str = ""


class ToldPresence(Strict):
    """A VM that is migrated, as one side sees it. `power` null: it is not there."""

    power: Annotated[str, Field(max_length=30)] | None = None
    moving: bool = False
    move: ReportedMove | None = None
    progress: ToldProgress | None = None


class CallAnswer(Strict):
    """`text`, `next_offset` and `ended` answer `logs`; `offset` answers `log_tail` and `log_since`, where null is
    nothing; `vms` answers `vms` and `vm_offer`; `snapshots` answers `vm_snapshots`; `leaving`, `peer` and `presence`
    answer `vm_leaving`, `vm_peer` and `vm_presence`. `unknown`: the agent does not know
    the attempt, or keeps no output of it. `refused`: why what was asked is not done."""

    unknown: bool = False
    refused: Annotated[str, Field(max_length=2000)] = ""
    vms: Annotated[list[SeenVm], Field(max_length=10_000)] = []
    snapshots: Annotated[list[SeenSnapshot], Field(max_length=10_000)] = []
    leaving: ToldLeaving | None = None
    peer: ToldPeer | None = None
    presence: ToldPresence | None = None
    text: Annotated[str, Field(max_length=4 * 2**20)] = ""
    next_offset: Annotated[int, Field(ge=0, le=MAX_ID)] = 0
    ended: bool = False
    offset: Annotated[int, Field(ge=0, le=MAX_ID)] | None = None


@router.post("/nodes/{name}/heartbeat", openapi_extra=takes(Heartbeat, required=False))
async def heartbeat(request: Request, name: str) -> Json[NodeOrders]:
    """The agent of a registered node reports what runs there, and learns what to run and to stop. Both lists of the
    answer are repeated until the node has reported what they ask for."""
    heard = await model_in(request, Heartbeat)
    used = None if heard.used is None else heard.used.amounts()
    nodes = plane_of(request).nodes
    found = await nodes.heartbeat(name, used, reports_in(heard), answers=heard.answers, moves=moves_in(heard))
    return Json(orders_of(found))


def reports_in(heard: Heartbeat) -> list[TaskReport]:
    return [TaskReport(task.key, task.state, task.exit_code, task.reason, task.use, task.flows) for task in heard.tasks]


def moves_in(heard: Heartbeat) -> list[PeerMove]:
    return [PeerMove(one.key, one.source, one.target, one.number) for one in heard.moves]


@router.get("/nodes/{name}/orders")
async def orders(
    request: Request,
    name: str,
    after: Annotated[int, Query(ge=0, le=MAX_ID, description="the `version` of the last answer")] = 0,
    wait_s: Annotated[float, Query(ge=0, le=LONGEST_WAIT_S, description="how long the server waits for a change")] = 0,
) -> Json[NodeOrders]:
    """What the agent of a registered node has to do, as soon as that has changed. Who asks this way is asked for the
    output of tasks, too."""
    return Json(orders_of(await answer_or_closing(request, plane_of(request).nodes.orders(name, after, wait_s))))


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
