"""Answers about workloads, their tasks and the output of tasks."""

from typing import Any, NotRequired

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
    queue: str | None  # its path; None for work of a server that did not write it down
    ran_s: float  # without the time between two attempts; it goes on counting from `running_since`, if that is known
    running_since: float | None


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
    placed_at: float | None  # when the first of its tasks got a node
    bound_at: float | None  # when a backend first accepted one; None also where the history does not go back so far


class WorkloadPage(TypedDict):
    """Newest first, or as sorted; `cursor` asks for the next page, None after the last. `total` of all pages, and
    `counts`: by state, whatever states were asked for; None where they were not counted."""

    items: list[WorkloadRow]
    cursor: str | None
    total: NotRequired[int | None]
    counts: NotRequired[dict[str, int] | None]


class MeasuredTaskUse(TypedDict):
    """What a running task was measured to use, at `measured_at`; None: not measured there. Pressures: the share of ten
    seconds in which some process of it waited for CPU, memory or disk. Disk and network count since its start. `gpus`:
    how many GPUs it keeps busy."""

    cpu_cores: float | None
    memory_bytes: int | None
    cpu_pressure: float | None
    memory_pressure: float | None
    io_pressure: float | None
    disk_read_bytes: int | None
    disk_written_bytes: int | None
    network_received_bytes: int | None
    network_sent_bytes: int | None
    gpus: float | None
    gpu_memory_bytes: int | None
    measured_at: float


class TaskRow(TypedDict):
    """`use`: of a running task whose use was measured."""

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
    use: NotRequired[MeasuredTaskUse]


class TaskPage(TypedDict):
    """`total`: how many tasks were meant, on this page and others."""

    items: list[TaskRow]
    total: int


class AttemptRow(TypedDict):
    """One attempt to run a task. `state`: how it ended (`failed`, `evicted`, `preempted`, `moved`, …), or the state of
    the task for its latest one. An attempt that migrated live is one row for each of its nodes."""

    workload: int
    replica: int
    attempt: int
    node: str
    backend: str
    placed_at: float
    started_at: float | None
    ended_at: float | None
    state: str
    message: str
    exit_code: int | None


class AttemptPage(TypedDict):
    """Newest first. `total`: how many attempts were meant, on this page and others."""

    items: list[AttemptRow]
    total: int


class UsageRow(WorkloadRow):
    """A workload with what it used. `cpu` and `gpu`: of one task. Hours are those in which its tasks ran."""

    cpu: float
    gpu: float
    attempts: int  # that ran
    exit_code: int | None  # the highest of its tasks
    waited_s: float
    cpu_hours: float
    gpu_hours: float


class UsageTotal(TypedDict):
    workloads: int
    attempts: int
    cpu_hours: float
    gpu_hours: float


class UsagePage(TypedDict):
    """Newest first; `cursor` asks for the next page, None after the last. `total`: of all pages."""

    items: list[UsageRow]
    cursor: str | None
    total: UsageTotal
