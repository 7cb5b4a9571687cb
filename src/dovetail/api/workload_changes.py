"""Routes for workloads after they were submitted: cancel a selection, retry, attach, run commands next to tasks."""

from typing import TYPE_CHECKING, Annotated, cast
from urllib.parse import quote

from fastapi import Query, Request
from pydantic import Field

from dovetail.api.protocol.body import MAX_ID, Namespace, Reason, content_in, model_in, plane_of
from dovetail.api.protocol.openapi import Routes, takes, takes_bytes
from dovetail.api.protocol.problems import HttpProblem
from dovetail.api.protocol.replies import AcceptedJson, CreatedJson, Json, NoContent, PlainText
from dovetail.api.questions.planning import planned_preemption
from dovetail.backends.contract import TerminalSize
from dovetail.control.errors import NotFound
from dovetail.control.services.task_commands import ExecInput
from dovetail.control.services.workload_changes import WorkloadSelection
from dovetail.control.services.workload_names import Row, typed
from dovetail.model.task import TaskId, WorkloadState
from dovetail.model.text.complaint import Complaint, Invalid
from dovetail.model.text.strict import Strict
from dovetail.model.workloads.run import Word
from dovetail.responses.questions import PlannedPreemption
from dovetail.responses.workload_changes import CancelledWorkloads, RetriedWorkload, StartedCommand, TakenInput
from dovetail.responses.workloads import AcceptedWorkload

if TYPE_CHECKING:
    from dovetail.control.plane import ControlPlane

router = Routes(tags=["workloads"])

_Text = Annotated[str, Field(min_length=1, max_length=300)]


class Cancellation(Strict):
    """Which workloads: those of `ids`, or those for which everything that is given holds. `match` is a pattern of names
    such as `train-*`; `queue` stands for the queues below it as well. `dry_run` only says which. `force`: tasks are
    killed without grace."""

    ids: Annotated[list[Annotated[int, Field(ge=0, le=MAX_ID)]], Field(max_length=100_000)] | None = None
    namespace: _Text | None = None
    match: _Text | None = None
    user: _Text | None = None
    state: WorkloadState | None = None
    queue: _Text | None = None
    reason: Reason = "cancelled by a user"
    dry_run: bool = False
    force: bool = False


class TerminalWish(Strict):
    """The size of a terminal."""

    rows: Annotated[int, Field(ge=1, le=10_000)] = 24
    columns: Annotated[int, Field(ge=1, le=10_000)] = 80

    def size(self) -> TerminalSize:
        return TerminalSize(self.rows, self.columns)


class ExecWish(Strict):
    """`stdin`: what the command reads; nothing if left out. `interactive`: more is sent to `/exec/ID/input`.
    `terminal`: the command runs in a terminal of that size."""

    command: Annotated[list[Word], Field(min_length=1, max_length=1000)]
    stdin: Annotated[str, Field(max_length=1024 * 1024)] = ""
    interactive: bool = False
    terminal: TerminalWish | None = None


class PreemptionWish(Strict):
    """`tasks`: whom to stop, such as `default/batch-7.0`; a workload stands for all its tasks. `dry_run` only says what
    that would do."""

    tasks: Annotated[list[_Text], Field(min_length=1, max_length=1000)]
    dry_run: bool = False


class RetryWish(Strict):
    reason: Reason = "asked to run again"


@router.post("/workloads/cancel", openapi_extra=takes(Cancellation))
async def cancel_selected(request: Request) -> AcceptedJson[CancelledWorkloads] | Json[CancelledWorkloads]:
    """Cancel all unfinished workloads of a selection (202), or only say which they are (200)."""
    wanted, plane = await model_in(request, Cancellation), plane_of(request)
    selection = WorkloadSelection(wanted.namespace, wanted.match, wanted.user, wanted.state, wanted.queue)
    if wanted.ids is None and selection == WorkloadSelection(wanted.namespace):
        words = "say which: ids, match, user, state or queue; match '*' means all"
        raise Invalid([Complaint("request", None, "", words)])
    found = await plane.changes.selected(selection)
    if wanted.ids is not None:
        named = set(wanted.ids)
        found = [row for row in found if row["id"] in named]
    if not wanted.dry_run:
        asked = set(await plane.changes.cancel([row["id"] for row in found], wanted.reason))
        found = [row for row in found if row["id"] in asked]
        if wanted.force:
            await plane.commands.kill(sorted(asked), wanted.reason)
    fields = AcceptedWorkload.__annotations__
    items = cast("list[AcceptedWorkload]", [{name: row[name] for name in fields} for row in found])
    answer: CancelledWorkloads = {"workloads": items}
    return Json(answer) if wanted.dry_run else AcceptedJson(answer)


@router.post("/workloads/{ref}/retry", openapi_extra=takes(RetryWish, required=False))
async def retry(request: Request, ref: str, namespace: Namespace = None) -> AcceptedJson[RetriedWorkload]:
    """Let its failed tasks run again, with all their retries, whether the workload has ended or not. Tasks that
    succeeded stay as they are."""
    wish, plane = await model_in(request, RetryWish), plane_of(request)
    row, task = await plane.names.one(ref, namespace)
    if task is not None:
        words = f"one task cannot be retried alone; retry the failed tasks of the workload: {typed(row)}"
        raise HttpProblem(409, words)
    tasks = await plane.changes.retry(row, wish.reason)
    return AcceptedJson({"id": row["id"], "namespace": row["namespace"], "name": row["name"], "tasks": tasks})


@router.post("/workloads/{ref}/preempt", openapi_extra=takes(PreemptionWish))
async def preempt(
    request: Request, ref: str, namespace: Namespace = None
) -> AcceptedJson[PlannedPreemption] | Json[PlannedPreemption]:
    """Stop tasks of others for a workload that waits (202), or only say whom (200), as a suggestion of `explain` names
    them (`{"evict": […]}`). They wait again afterwards, and what they free is kept for this workload. 409 where it
    would not help, or where a task must not be disturbed."""
    wish, plane = await model_in(request, PreemptionWish), plane_of(request)
    row, task = await plane.names.one(ref, namespace)
    if task is not None:
        raise HttpProblem(409, f"others are stopped for a whole workload: {typed(row)}")
    found = await plane.changes.preemption(row, await _tasks_named(plane, wish.tasks, namespace))
    if wish.dry_run:
        return Json(planned_preemption(found))
    await plane.changes.preempt(row, found)
    return AcceptedJson(planned_preemption(found))


async def _tasks_named(plane: "ControlPlane", names: list[str], namespace: str | None) -> list[TaskId]:
    """A workload without a number stands for all its tasks that hold a node."""
    found: dict[TaskId, None] = {}
    for name in names:
        row, replica = await plane.names.one(name, namespace)
        replicas = plane.questions.workloads.holding(row["id"]) if replica is None else [replica]
        found |= {TaskId(row["id"], one): None for one in replicas}
    return list(found)


@router.post("/workloads/{ref}/exec", openapi_extra=takes(ExecWish))
async def execute(
    request: Request,
    ref: str,
    namespace: Namespace = None,
    replica: Annotated[int | None, Query(ge=0, le=MAX_ID)] = None,
) -> CreatedJson[StartedCommand]:
    """Run a command next to a running task: in its directory, with its environment and limits. The task is named as in
    `train.3`, or by `replica`; otherwise it is the first.

    Read its output under the id of the answer; it ends when nobody reads for a minute. 409: the backend cannot do this.
    """
    wish = await model_in(request, ExecWish)
    row, task = await _task_beside(request, ref, namespace, replica)
    given = ExecInput(wish.stdin.encode(), wish.interactive, None if wish.terminal is None else wish.terminal.size())
    id_, held = plane_of(request).commands.start(task, typed(row, task.replica), wish.command, given)
    return CreatedJson({"id": id_, "task": str(held.task), "node": held.node, "takes_input": wish.interactive})


@router.post("/workloads/{ref}/attach")
async def attach(
    request: Request,
    ref: str,
    namespace: Namespace = None,
    replica: Annotated[int | None, Query(ge=0, le=MAX_ID)] = None,
) -> CreatedJson[StartedCommand]:
    """Attach to a running task: follow what it writes from now on, and write to its input if it has `run.stdin` or
    is a VM, whose serial console this is.

    Output is read, and input sent, as with a command next to a task; the exit code is that of the task. To end it
    detaches: the task goes on. 409: the backend cannot do this.
    """
    row, task = await _task_beside(request, ref, namespace, replica)
    takes_input = bool((row["spec"].get("run") or {}).get("stdin")) or row["spec"].get("vm") is not None
    id_, held = await plane_of(request).commands.attach(task, typed(row, task.replica), takes_input=takes_input)
    return CreatedJson({"id": id_, "task": str(held.task), "node": held.node, "takes_input": takes_input})


async def _task_beside(request: Request, ref: str, namespace: str | None, replica: int | None) -> tuple[Row, TaskId]:
    """The task that is meant, with its workload."""
    plane = plane_of(request)
    row, named = await plane.names.one(ref, namespace)
    replica = replica if replica is not None else named or 0
    if replica >= row["replicas"]:
        raise NotFound(f"workload {row['namespace']}/{row['name']} has no replica {replica}; it has {row['replicas']}")
    return row, TaskId(row["id"], replica)


@router.post("/exec/{command}/input", openapi_extra=takes_bytes())
async def exec_input(
    request: Request,
    command: str,
    offset: Annotated[int, Query(ge=0, le=MAX_ID)] = 0,
    end: bool = False,
) -> Json[TakenInput]:
    """Send what the command reads next: the bytes from `offset` on. Bytes that were sent before count once. `end`: it
    reads no more after them. The answer says from where to go on; it may wait while the command reads slowly."""
    content = await content_in(request)
    taken = await plane_of(request).commands.write(command, content, offset, ended=end)
    return Json({"offset": taken})


@router.put("/exec/{command}/terminal", openapi_extra=takes(TerminalWish))
async def resize_exec(request: Request, command: str) -> NoContent:
    """Tell a command that the size of its terminal has changed."""
    wish = await model_in(request, TerminalWish)
    await plane_of(request).commands.resize(command, wish.size())
    return NoContent()


@router.get("/exec/{command}/output")
async def exec_output(
    request: Request,
    command: str,
    offset: Annotated[int, Query(ge=0, le=MAX_ID)] = 0,
) -> PlainText:
    """What the command wrote from a byte offset on; what is before it is dropped. Waits a few seconds for something.

    The headers X-Next-Offset, X-Ended, X-Exit-Code and X-Error say where to go on, whether it has ended, and how.
    """
    piece = await plane_of(request).commands.read(command, offset)
    ended = piece.exit_code is not None or bool(piece.error)
    headers = {"X-Next-Offset": str(piece.next_offset), "X-Ended": "true" if ended else "false"}
    if piece.exit_code is not None:
        headers["X-Exit-Code"] = str(piece.exit_code)
    if piece.error:
        headers["X-Error"] = quote(piece.error)
    return PlainText(piece.content, headers=headers)


@router.delete("/exec/{command}")
async def end_exec(request: Request, command: str) -> NoContent:
    """End the command, where its backend can do that, and forget its output."""
    await plane_of(request).commands.end(command)
    return NoContent()
