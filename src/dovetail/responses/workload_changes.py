"""Answers of routes that change workloads after they were submitted."""

from typing_extensions import TypedDict

from dovetail.responses.workloads import AcceptedWorkload


class CancelledWorkloads(TypedDict):
    """Those that were asked to stop, or would be; oldest first."""

    workloads: list[AcceptedWorkload]


class StartedCommand(TypedDict):
    """`id`: under which its output is read. `task` and `node`: next to what it runs, and where. `takes_input`: whether
    input can be sent."""

    id: str
    task: str
    node: str
    takes_input: bool


class TakenInput(TypedDict):
    """`offset`: of the next byte; smaller than what was sent if there was no room for it."""

    offset: int


class RetriedWorkload(AcceptedWorkload):
    """`tasks`: the numbers of the tasks that run again."""

    tasks: list[int]
