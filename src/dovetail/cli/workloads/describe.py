"""`dovetail describe`: everything about one workload on one page."""

import time
from typing import TYPE_CHECKING

from dovetail.cli import render
from dovetail.cli.terminal.output import Format, Output, show
from dovetail.cli.terminal.server import Namespace, Url, WorkloadName, connect

if TYPE_CHECKING:
    from dovetail.responses.combined import WorkloadDescription

MOST_TASKS = 20
MOST_HISTORY = 200


def command(
    name: WorkloadName, namespace: Namespace = "default", output: Output = Format.TABLE, url: Url = None
) -> None:
    """Everything about one workload: timeline, tasks, the latest decision, history."""
    with connect(url) as client:
        workload = client.workload(name, namespace)
        id_ = workload["id"]  # by id from here on, so that a newer one of the same name cannot mix in
        tasks = client.tasks(id_, limit=MOST_TASKS)
        decisions = client.decisions(id_, limit=1)
        history = client.history(id_, limit=MOST_HISTORY)
    whole: WorkloadDescription = {"workload": workload, "tasks": tasks, "decisions": decisions, "history": history}
    show(whole, output, lambda wide: render.description.description(**whole, now=time.time(), wide=wide))
