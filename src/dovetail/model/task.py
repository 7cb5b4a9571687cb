"""The state machine of a task: a table of its transitions, each with the reason for it."""

from enum import StrEnum
from typing import NamedTuple


class TaskId(NamedTuple):
    workload: int
    replica: int

    def __str__(self) -> str:
        return f"{self.workload}.{self.replica}"


class TaskState(StrEnum):
    PENDING = "pending"  # has no node yet
    PLACED = "placed"  # a node was chosen and its capacity taken; the backend has not confirmed yet
    BOUND = "bound"  # the backend has accepted it
    RUNNING = "running"
    STOPPING = "stopping"  # a stop command was sent; the capacity is free when the backend confirms
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def finished(self) -> bool:
        return self in FINISHED

    @property
    def holds_node(self) -> bool:
        return self in HOLDING


#: The reason of a task that its backend has accepted and cannot start now, and of its workload.
WAITS_TO_START = "waits_to_start"

FINISHED = frozenset({TaskState.SUCCEEDED, TaskState.FAILED, TaskState.CANCELLED})
HOLDING = frozenset({TaskState.PLACED, TaskState.BOUND, TaskState.RUNNING, TaskState.STOPPING})

MOVES: dict[tuple[TaskState, TaskState], str] = {
    (TaskState.PENDING, TaskState.PLACED): "a node was chosen",
    (TaskState.PENDING, TaskState.CANCELLED): "cancelled before it was placed",
    (TaskState.PENDING, TaskState.FAILED): "it can never be placed",
    (TaskState.PLACED, TaskState.BOUND): "the backend accepted it",
    (TaskState.PLACED, TaskState.RUNNING): "the backend started it at once",
    (TaskState.PLACED, TaskState.PENDING): "the backend refused it, or its node left; try elsewhere",
    (TaskState.PLACED, TaskState.STOPPING): "cancelled or evicted before the backend confirmed",
    (TaskState.PLACED, TaskState.SUCCEEDED): "it ran to its end before the first report",
    (TaskState.PLACED, TaskState.FAILED): "it failed before the first report",
    (TaskState.BOUND, TaskState.RUNNING): "the backend started it",
    (TaskState.BOUND, TaskState.SUCCEEDED): "it ran to its end between two reports",
    (TaskState.BOUND, TaskState.FAILED): "it failed between two reports",
    (TaskState.BOUND, TaskState.PENDING): "it failed and is retried, or its node left",
    (TaskState.BOUND, TaskState.STOPPING): "cancelled or evicted",
    (TaskState.RUNNING, TaskState.SUCCEEDED): "exit status 0",
    (TaskState.RUNNING, TaskState.FAILED): "it failed and has no retries left",
    (TaskState.RUNNING, TaskState.PENDING): "it failed and is retried, or its node left",
    (TaskState.RUNNING, TaskState.STOPPING): "cancelled or evicted",
    (TaskState.FAILED, TaskState.PENDING): "a user asked for it again",
    (TaskState.CANCELLED, TaskState.PENDING): "it was stopped because others failed, and a user asked for them again",
    (TaskState.STOPPING, TaskState.CANCELLED): "stopped as asked",
    (TaskState.STOPPING, TaskState.PENDING): "evicted; waits for another node",
    (TaskState.STOPPING, TaskState.RUNNING): "migrated live; it continues on another node",
    (TaskState.STOPPING, TaskState.SUCCEEDED): "it ended by itself first",
    (TaskState.STOPPING, TaskState.FAILED): "it ended by itself first",
}


class WorkloadState(StrEnum):
    PENDING = "pending"  # some task waits, none holds a node
    STARTING = "starting"  # some task holds a node, none runs yet
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def finished(self) -> bool:
        return self in _ENDED


_ENDED = frozenset({WorkloadState.SUCCEEDED, WorkloadState.FAILED, WorkloadState.CANCELLED})
