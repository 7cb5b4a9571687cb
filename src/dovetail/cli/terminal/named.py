"""Workloads as they are typed: the server says what a name stands for, and a group's name stands for all its workloads.

`refs` first, so that a newer workload of the same name cannot come between two questions of one command.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from dovetail.cli.terminal.output import Format, show

if TYPE_CHECKING:
    from dovetail.cli.render.parts.text import Drawing
    from dovetail.client import Client
    from dovetail.responses.workloads import AcceptedWorkload, WorkloadRow

T = TypeVar("T")


def refs(client: "Client", name: str, namespace: str | None) -> list[str]:
    """The id of the workload, or of each workload of a group; with the task that was named, as in `17.3`."""
    found = client.named(name, namespace)
    task = "" if found["replica"] is None else f".{found['replica']}"
    return [f"{row['id']}{task}" for row in found["workloads"]]


def typed_name(row: "AcceptedWorkload | WorkloadRow") -> str:
    """As it can be typed from anywhere: `train`, `team/train`."""
    return row["name"] if row["namespace"] == "default" else f"{row['namespace']}/{row['name']}"


def show_each(answers: Sequence[T], output: Format, view: "Callable[[T, bool], Drawing]") -> None:
    """One answer as it is; those about a group below one another, as data in a list."""

    def drawn(wide: bool) -> "Drawing":
        from dovetail.cli.render.parts.text import Stack, Text

        first, *others = (view(answer, wide) for answer in answers)
        return Stack(first, *(part for other in others for part in (Text(""), other)))

    show(answers[0] if len(answers) == 1 else list(answers), output, drawn)
