"""Commands of the engine to backends and to the control loop.

Commands are idempotent. The key identifies one attempt of one task.
"""

import re
from dataclasses import dataclass

from dovetail.model.task import TaskId
from dovetail.model.text.strict import shown

_NUMBER = r"(0|[1-9][0-9]{0,17})"
_KEY = re.compile(rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}", re.ASCII)


def attempt_key(task: TaskId, attempt: int) -> str:
    return f"{task.workload}.{task.replica}.{attempt}"


def task_of_key(key: str) -> TaskId:
    """The task of an attempt key. Raises ValueError for anything else, since keys are used as file names."""
    match = _KEY.fullmatch(key)
    if not match:
        raise ValueError(f"{shown(key)} is not the key of an attempt; keys are three whole numbers such as 12.0.1")
    return TaskId(int(match[1]), int(match[2]))


@dataclass(frozen=True, slots=True)
class GangStart:
    """Tasks of a gang that were placed together on one backend, and should start together. `id`: the key of the first
    of them. `tasks`: how many they are."""

    id: str
    tasks: int


@dataclass(frozen=True, slots=True)
class Bind:
    """Start the task on the node.

    Precondition: the task is placed there. Postcondition: the backend has accepted it under `key`. Undo: Stop with the
    same key. `devices`: the slots of the GPUs that it gets, whole or shared. `gang`: the tasks that it starts with.
    """

    task: TaskId
    node: str
    backend: str
    key: str
    devices: tuple[int, ...] = ()
    gang: GangStart | None = None


@dataclass(frozen=True, slots=True)
class Stop:
    """End one attempt.

    Precondition: it may have been bound under `key`. Postcondition: nothing runs under `key`, now or later.
    """

    task: TaskId
    node: str
    backend: str
    key: str
    reason: str


@dataclass(frozen=True, slots=True)
class Move(Stop):
    """Move one attempt to another node of its backend.

    Before: it is bound under `key` on `node`, and its capacity is reserved on `target`. After: it runs on `target`
    under the same key, if `live` allows that and the backend migrates live. If that fails, it runs on where it was.
    Otherwise a Move is a Stop: nothing runs under `key`, and a Bind on `target` follows under the next key. A restart
    sends an open Move again.
    """

    target: str
    live: bool = False


@dataclass(frozen=True, slots=True)
class Wake:
    """Send a Tick at this time, even if no event comes before."""

    at: float


Command = Bind | Stop | Wake
