"""`dovetail describe`: everything about one workload, with what went wrong first."""

import time
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

from dovetail.cli import render
from dovetail.cli.terminal.named import refs, show_each
from dovetail.cli.terminal.output import Format, Output, show
from dovetail.cli.terminal.paging import every_page, every_slice
from dovetail.cli.terminal.parameters import Option
from dovetail.cli.terminal.server import Namespace, Url, WorkloadName, connect

if TYPE_CHECKING:
    from dovetail.cli.render.parts.text import Drawing
    from dovetail.client import Client
    from dovetail.responses.combined import WorkloadDescription
    from dovetail.responses.services import ServiceDetail


class TaskChoice(StrEnum):
    """Which tasks: those in one state, or all."""

    ALL = "all"
    PENDING = "pending"
    PLACED = "placed"
    BOUND = "bound"
    RUNNING = "running"
    STOPPING = "stopping"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


def command(
    name: WorkloadName,
    tasks: Annotated[
        TaskChoice | None, Option(metavar="STATE", help="Every task in this state, such as failed; or all.")
    ] = None,
    limit: Annotated[int, Option(metavar="N", min=1, help="How many tasks, attempts and lines of history.")] = 20,
    everything: Annotated[bool, Option("--all", help="Every task, attempt and line of history.")] = False,
    namespace: Namespace = None,
    output: Output = Format.TABLE,
    url: Url = None,
) -> None:
    """Everything about one workload: timeline, tasks, attempts, the latest decision, history.

    Failed and unusual tasks come first, then the newest. JSON and YAML hold everything. Of a service it shows the
    replicas and revisions; `dovetail describe web.0` is about one replica.
    """
    most = None if everything or output.is_data else limit
    state = None if tasks in (None, TaskChoice.ALL) else str(tasks)
    with connect(url) as client:
        service = client.named(name, namespace)["service"]
        if service is not None:
            where, _, name = service.partition("/")
            _show_service(client.service(name, namespace=where), output)
            return
        found = [
            _described(client, ref, state, None if tasks is not None else most, most)
            for ref in refs(client, name, namespace)
        ]
    now = time.time()
    counts = {whole["workload"]["id"]: number for whole, number in found}

    def drawn(whole: "WorkloadDescription", wide: bool) -> "Drawing":
        return render.description.description(whole, counts[whole["workload"]["id"]], now, wide)

    show_each([whole for whole, _ in found], output, drawn)


def _show_service(row: "ServiceDetail", output: Format) -> None:
    now = time.time()
    show(row, output, lambda wide: render.services.described_service(row, now, wide))


def _described(
    client: "Client", ref: str, state: str | None, most_tasks: int | None, most: int | None
) -> "tuple[WorkloadDescription, tuple[int, int, object]]":
    """The description, and how many tasks and attempts there are, and whether there is more history."""
    tasks, task_total = every_slice(
        lambda size, offset: client.task_page(ref, state=state, limit=size, offset=offset), most_tasks
    )
    attempts, attempt_total = every_slice(
        lambda size, offset: client.attempts(ref, repeated=True, limit=size, offset=offset), most
    )
    history, more = every_page(lambda size, cursor: client.history_page(ref, before=cursor, limit=size), most)
    whole: WorkloadDescription = {
        "workload": client.workload(ref),
        "tasks": tasks,
        "attempts": attempts,
        "decisions": client.decisions(ref, limit=1),
        "history": history,
    }
    return whole, (task_total, attempt_total, more)
