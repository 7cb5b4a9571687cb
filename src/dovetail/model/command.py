"""What the engine asks the world to do.

Commands are keyed and idempotent: carried out twice they equal once. The key names one attempt of one task.
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
    """The task whose attempt a key names. Raises ValueError for anything that is not a key: keys name files too."""
    match = _KEY.fullmatch(key)
    if not match:
        raise ValueError(f"{shown(key)} is not the key of an attempt; keys are three whole numbers such as 12.0.1")
    return TaskId(int(match[1]), int(match[2]))


@dataclass(frozen=True, slots=True)
class Bind:
    """Start the task on the node.

    Before: the task is placed there. After: the backend has it, under `key`. Undo: Stop with the same key. `devices`:
    the slots of the GPUs it has there, or has a share of.
    """

    task: TaskId
    node: str
    backend: str
    key: str
    devices: tuple[int, ...] = ()


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
class Move(Stop):
    """Move one attempt to another node of its backend.

    Before: it is bound under `key` on `node`, and its capacity is reserved on `target`. After: it runs on `target`
    under the same key, if `live` allows that and the backend migrates live. Otherwise a Move is a Stop: nothing runs
    under `key`, and a Bind on `target` follows under the next key. After a restart an open Move is sent as a Stop.
    """

    target: str
    live: bool = False


@dataclass(frozen=True, slots=True)
class Wake:
    """Send a Tick at this moment even if nothing happens before."""

    at: float


Command = Bind | Stop | Wake
