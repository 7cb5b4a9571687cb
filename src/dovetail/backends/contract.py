"""What a backend is: the system that owns nodes and runs tasks.

Every call is asynchronous and idempotent by key, and a backend is eventually consistent: what it reports is true
of some recent moment, in order for each key. `bind` that raises `Refusal` is sure that nothing runs under the key
and nothing will; any other exception means "unknown", and the caller asks again with the same key.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from dovetail.model.event import Event
from dovetail.model.task import TaskId
from dovetail.model.workload import Workload


class Refusal(Exception):
    """The backend will not run this attempt, and is sure that nothing of it runs."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """One attempt of one task on one node. `key` names it for ever. `devices`: the slots of the GPUs it has there."""

    key: str
    task: TaskId
    node: str
    spec: Workload
    devices: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class LogChunk:
    text: str
    next_offset: int
    ended: bool  # the task has ended and there is nothing after this


Report = Callable[[Event], Awaitable[None]]


class Backend(Protocol):
    """One folder a backend; none imports another."""

    name: str

    async def start(self, report: Report) -> None:
        """Begin: report NodeJoined for every node and re-adopt what still runs from before a restart.

        From now on the backend reports TaskStarted, TaskFinished, NodeObserved, NodeHealthChanged as they happen.
        Reports are repeated rather than lost: the engine ignores what it already knows.
        """
        ...

    async def bind(self, assignment: Assignment) -> None:
        """Make the task run on its node. Binding the same key again changes nothing. Raises Refusal."""
        ...

    async def stop(self, key: str, reason: str) -> None:
        """End the attempt: a TaskFinished (exit_code None) follows, also for a key the backend never heard of,
        which it will refuse from then on."""
        ...

    async def reconcile(self, assignments: list[Assignment]) -> None:
        """After a restart: these attempts were confirmed bound before. Report what became of each; an attempt
        of which no trace is left gets TaskFinished with exit_code None and a reason."""
        ...

    async def logs(self, key: str, offset: int, limit: int) -> LogChunk:
        """Captured output of an attempt from a byte offset. Raises KeyError for a key without logs."""
        ...

    async def close(self) -> None:
        """Stop watching. What runs goes on running where the backend can leave it running."""
        ...
