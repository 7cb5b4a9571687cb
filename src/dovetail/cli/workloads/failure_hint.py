"""Where to look when work has failed."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dovetail.cli.terminal.named import typed_name

if TYPE_CHECKING:
    from dovetail.client import Client
    from dovetail.responses.workloads import WorkloadDetail


def failure_hint(client: "Client", rows: "Sequence[WorkloadDetail]") -> str:
    """The commands that show the output of a task that failed, and the story of its workload; empty if all is well."""
    unlucky = next((row for row in rows if row["state"] != "succeeded"), None)
    if unlucky is None:
        return ""
    failed = client.task_page(unlucky["id"], state="failed", limit=1)["items"]
    name = typed_name(unlucky)
    task = f"{name}.{failed[0]['replica']}" if failed else name
    return f"its output: dovetail logs {task}; its story: dovetail describe {name}"
