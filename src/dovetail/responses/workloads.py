"""Answers about workloads, their tasks and the output of tasks."""

from typing import Any

from typing_extensions import TypedDict


class AcceptedWorkload(TypedDict):
    id: int
    namespace: str
    name: str


class AcceptedWorkloads(TypedDict):
    accepted: list[AcceptedWorkload]


class TasksByState(TypedDict):
    pending: int
    active: int
    succeeded: int
    failed: int
    cancelled: int


class WorkloadRow(TasksByState):
    """A workload as lists show it."""

    id: int
    namespace: str
    name: str
    kind: str
    priority: str
    user: str | None
    service: str | None
    replicas: int
    submitted_at: float
    state: str
    reason: str
    message: str
    started_at: float | None
    finished_at: float | None


class TaskCounts(TasksByState):
    total: int


class PredictedStart(TypedDict):
    """When pending work will probably start: expected, earliest, latest; None where it cannot be predicted."""

    starts_at: float | None
    starts_early: float | None
    starts_late: float | None


class WorkloadDetail(WorkloadRow, PredictedStart):
    spec: dict[str, Any]
    tasks: TaskCounts


class WorkloadPage(TypedDict):
    """Newest first; `cursor` asks for the next page, None after the last."""

    items: list[WorkloadRow]
    cursor: str | None


class TaskRow(TypedDict):
    workload: int
    replica: int
    state: str
    attempt: int
    node: str | None
    backend: str | None
    reason: str
    message: str
    exit_code: int | None
    placed_at: float | None
    started_at: float | None
    finished_at: float | None
    failures: int
    bind_failures: int
    devices: list[int]  # slots of the GPUs it has on its node
