"""What the engine asks the world to do.

Commands are keyed and idempotent: carried out twice they equal once. The key names one attempt of one task.
"""

from dataclasses import dataclass

from dovetail.model.task import TaskId


def attempt_key(task: TaskId, attempt: int) -> str:
    return f"{task.workload}.{task.replica}.{attempt}"


@dataclass(frozen=True, slots=True)
class Bind:
    """Start the task on the node.

    Before: the task is placed there. After: the backend has it, under `key`. Undo: Stop with the same key.
    """

    task: TaskId
    node: str
    backend: str
    key: str


@dataclass(frozen=True, slots=True)
class Stop:
    """End one attempt.

    Before: it was bound under `key`, or may have been. After: nothing runs under `key`, and nothing will.
    """

    task: TaskId
    node: str
    backend: str
    key: str
    reason: str


@dataclass(frozen=True, slots=True)
class Wake:
    """Send a Tick at this moment even if nothing happens before."""

    at: float


Command = Bind | Stop | Wake
