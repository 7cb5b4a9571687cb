"""What a backend is: the system that owns nodes and runs tasks.

Every call is asynchronous and idempotent by key, and a backend is eventually consistent: what it reports is true
of some recent moment, in order for each key. `bind` that raises `Refusal` is sure that nothing runs under the key
and nothing will; any other exception means "unknown", and the caller asks again with the same key. How recent, and
whether a backend sees at once what it was told itself, it says in its `capabilities`.

A key ends once. Whatever comes back under a key whose end was reported, such as a task on a node that was thought to be
gone, is stopped and not reported again: nothing runs twice unnoticed.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, runtime_checkable

from dovetail.model.event import Event
from dovetail.model.node import Node
from dovetail.model.task import TaskId
from dovetail.model.workloads.workload import Workload


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a backend can do beyond the contract, and how far what it says can be relied on."""

    processes: bool = False  # runs commands on the node as they are
    containers: bool = False  # runs images
    gpus: bool = False  # gives a task the GPUs that were chosen for it
    logs: bool = False  # keeps the output of tasks
    observes: bool = False  # reports what nodes really use
    gang: bool = False  # can start several tasks as one
    requeue: bool = False  # can run a task again by itself
    suspend: bool = False
    migrate: bool = False  # moves a running task to another of its nodes: it is a `MigratingBackend`
    executes: bool = False  # can run a command beside a task
    sees_own_writes: bool = True  # `status` knows of a bind or stop that has returned
    stale_for_s: float = 0.0  # a change in the backend may be reported so much later, when all is well

    def words(self) -> list[str]:
        """What it can do, by name."""
        return [name for name in _ABILITIES if getattr(self, name)]


_ABILITIES = (
    *("processes", "containers", "gpus", "logs", "observes"),
    *("gang", "requeue", "suspend", "migrate", "executes"),
)


class Phase(StrEnum):
    """How far an attempt has come."""

    ACCEPTED = "accepted"  # bound, and not running yet
    RUNNING = "running"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Status:
    """`exit_code` None of an attempt that ended: it was stopped, or lost."""

    phase: Phase
    exit_code: int | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Price:
    """What a node costs while it is there, whoever uses it."""

    per_hour: float
    currency: str = "USD"


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

    def variables(self) -> dict[str, str]:
        """What a task finds in its environment beside its own variables, whoever runs it."""
        return {
            "DOVETAIL_WORKLOAD": self.spec.name,
            "DOVETAIL_TASK": str(self.task),
            "DOVETAIL_REPLICA": str(self.task.replica),
            "DOVETAIL_REPLICAS": str(self.spec.replicas),
            "DOVETAIL_NODE": self.node,
            "DOVETAIL_ATTEMPT": self.key.rpartition(".")[2],
        }


@dataclass(frozen=True, slots=True)
class LogChunk:
    text: str
    next_offset: int
    ended: bool  # the task has ended and there is nothing after this


Report = Callable[[Event], Awaitable[None]]


class Backend(Protocol):
    """One folder a backend; none imports another."""

    name: str
    capabilities: Capabilities

    async def nodes(self) -> list[Node]:
        """Its nodes as they are now. Empty where others introduce them. Raises when the system cannot be reached:
        this is how whoever asks finds out."""
        ...

    async def prices(self) -> Mapping[str, Price]:
        """By node, of those whose price is known."""
        ...

    async def status(self, key: str) -> Status:
        """What became of an attempt, asked of the system itself. Raises KeyError for a key it never heard of."""
        ...

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


@runtime_checkable
class MigratingBackend(Protocol):
    """What a backend with `capabilities.migrate` can do besides."""

    async def migrate(self, key: str, node: str) -> None:
        """Make the attempt continue on another of the backend's nodes, under the same key. Migrating it again to the
        same node changes nothing. Raises Refusal if it still runs where it was: the caller then stops it."""
        ...
