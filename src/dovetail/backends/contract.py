"""What a backend is: the system that owns nodes and runs tasks.

Every call is asynchronous and idempotent by key, and a backend is eventually consistent: what it reports was true at
some recent time, and its reports on one key are in order. If `bind` raises `Refusal`, nothing runs under the key and
nothing will. Any other exception means "unknown", and the caller repeats the call with the same key. `capabilities`
says how old a report may be, and whether a backend sees its own writes at once.

A key ends once. If something returns under a key whose end was reported, such as a task on a node that was thought to
be lost, the backend stops it and does not report it again: nothing runs twice unnoticed.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Protocol, runtime_checkable

from dovetail.model.command import GangStart
from dovetail.model.device import Device
from dovetail.model.event import Event
from dovetail.model.failure_cause import FailureCause
from dovetail.model.node import Node
from dovetail.model.task import TaskId
from dovetail.model.task_use import TaskUse
from dovetail.model.workloads.array_indices import parse_array
from dovetail.model.workloads.workload import Workload

ARRAY_INDEX = "DOVETAIL_ARRAY_INDEX"


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a backend can do beyond the contract, and how consistent its reports are."""

    processes: bool = False  # runs commands on the node as they are
    containers: bool = False  # runs images
    gpus: bool = False  # gives a task the GPUs that the scheduler chose
    logs: bool = False  # captures the output of tasks
    observes: bool = False  # reports the measured use of nodes
    gang: bool = False  # starts the tasks of a gang together, or none
    requeue: bool = False  # can restart a task by itself
    suspend: bool = False
    migrate: bool = False  # can move running tasks, or some, to another node: it is a `MigratingBackend`
    executes: bool = False  # can run a command next to a task: it is an `ExecutingBackend`
    attaches: bool = False  # can attach to a running task: it is an `AttachingBackend`
    machines: bool = False  # runs VMs that can be switched off, snapshot and adopted: it is a `MachineControl`
    sees_own_writes: bool = True  # `status` reflects a bind or stop that has returned
    stale_for_s: float = 0.0  # the usual delay until a change in the backend is reported

    def words(self) -> list[str]:
        """The names of what it can do."""
        return [each.name for each in fields(self) if each.name not in _CONSISTENCY and getattr(self, each.name)]


_CONSISTENCY = ("sees_own_writes", "stale_for_s")


class Phase(StrEnum):
    """How far an attempt is."""

    ACCEPTED = "accepted"  # bound, not running yet
    RUNNING = "running"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Status:
    """`exit_code` is None if the attempt has not ended, was stopped or was lost."""

    phase: Phase
    exit_code: int | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Price:
    """What a node costs while it exists, used or not."""

    per_hour: float
    currency: str = "USD"


class Refusal(Exception):
    """The backend will not run this attempt, and nothing of it runs.

    `cause` says whose fault that is (`FailureCause`). A backend that reports a refusal later does so with `BindFailed`,
    which has a cause too, as `TaskFinished` has. `backends/failure_rules.py` reads causes from an engine's words.
    """

    def __init__(self, words: str, cause: FailureCause = FailureCause.UNKNOWN) -> None:
        super().__init__(words)
        self.cause = cause


class WorkloadRefusal(Refusal):
    """The workload is at fault: every node of the backend would refuse it."""

    def __init__(self, words: str) -> None:
        super().__init__(words, FailureCause.WORKLOAD)


class NeverMigrated(Refusal):
    """It is of a kind that is not migrated live here: to move, it has to be stopped and started again."""


class StillMoving(Exception):
    """A migration goes on, and takes longer than one call: ask again. Nothing has failed."""


class UnusableSetting(Exception):
    """A setting with which the backend can never work as things are here: a file, a socket or a command is missing.
    `field` is its path in the settings."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


@dataclass(frozen=True, slots=True)
class Assignment:
    """One attempt of one task on one node. `key` identifies it for ever. `devices`: the slots of its GPUs there.
    `gang`: the tasks that it starts with; a backend with `capabilities.gang` starts all of them or none."""

    key: str
    task: TaskId
    node: str
    spec: Workload
    devices: tuple[int, ...] = ()
    gang: GangStart | None = None

    def variables(self) -> dict[str, str]:
        """Variables that every backend adds to the task's environment. Numbers of replicas begin at 0."""
        array = self.spec.array
        index = {} if array is None else {ARRAY_INDEX: str(parse_array(array).index_of(self.task.replica))}
        return {
            "DOVETAIL_WORKLOAD": self.spec.name,
            "DOVETAIL_TASK": str(self.task),
            "DOVETAIL_REPLICA": str(self.task.replica),
            "DOVETAIL_REPLICAS": str(self.spec.replicas),
            "DOVETAIL_NODE": self.node,
            "DOVETAIL_ATTEMPT": self.key.rpartition(".")[2],
            **index,
        }

    def device_ids(self, known: Sequence[Device]) -> list[str]:
        """Its GPUs of these: by UUID if all are known, because numbers change when a GPU fails; else by number."""
        uuids = [known[slot].uuid for slot in self.devices if slot < len(known)]
        named = [uuid for uuid in uuids if uuid is not None]
        return named if len(named) == len(self.devices) else [str(slot) for slot in self.devices]


class NoOutput(KeyError):
    """There is no output of an attempt, and `why` says why and what to do: its node keeps it, say."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


@dataclass(frozen=True, slots=True)
class LogChunk:
    text: str
    next_offset: int
    ended: bool  # the task has ended, and this is the last chunk


@dataclass(frozen=True, slots=True)
class TerminalSize:
    rows: int
    columns: int


Report = Callable[[Event], Awaitable[None]]
#: What a command reads, in order, with changes of its terminal's size in between. Its end is the end of the input.
CommandInput = AsyncIterator[bytes | TerminalSize]


class Backend(Protocol):
    """One package per backend; none imports another."""

    name: str
    capabilities: Capabilities

    async def nodes(self) -> list[Node]:
        """Its current nodes. Empty if others register them. Raises if the system cannot be reached: callers use this
        to find out."""

    async def prices(self) -> Mapping[str, Price]:
        """By node, for nodes whose price is known."""

    async def status(self, key: str) -> Status:
        """The state of an attempt, asked of the system itself. Raises KeyError for an unknown key."""

    async def start(self, report: Report) -> None:
        """Report NodeJoined for every node, and adopt what still runs from before a restart.

        From now on the backend reports TaskStarted, TaskFinished, NodeObserved and NodeHealthChanged as they happen,
        and TaskWaiting if it knows why an accepted task does not start.
        It repeats a report rather than losing it: the engine ignores what it already knows.
        """

    async def bind(self, assignment: Assignment) -> None:
        """Run the task on its node. Binding the same key again changes nothing. Raises Refusal."""

    async def stop(self, key: str, reason: str) -> None:
        """End the attempt: a TaskFinished (exit_code None) follows. The same holds for an unknown key, which the
        backend refuses from then on."""

    async def reconcile(self, assignments: list[Assignment]) -> None:
        """After a restart: these attempts were confirmed as bound before. Report the state of each. An attempt of which
        no trace is left gets TaskFinished with exit_code None and a reason."""

    async def logs(self, key: str, offset: int, limit: int) -> LogChunk:
        """The captured output of an attempt from a byte offset. Raises KeyError for a key without logs."""

    async def close(self) -> None:
        """Stop watching. Tasks go on running where the backend can leave them running."""


@runtime_checkable
class TimedLogs(Protocol):
    """The additional interface of a backend that knows when an attempt wrote what."""

    async def log_since(self, key: str, at: float) -> int | None:
        """The byte offset of what was written since that time, or a little before; None if that is not known. Raises
        KeyError for a key without logs."""


@runtime_checkable
class IndexedLogs(TimedLogs, Protocol):
    """The additional interface of a backend that finds places in the output of an attempt without reading all of it."""

    async def log_tail(self, key: str, lines: int) -> int:
        """The byte offset at which the last lines begin. Raises KeyError for a key without logs."""


@dataclass(frozen=True, slots=True)
class MeasuredTask:
    """What an attempt uses, and its processes as its machine numbers them, if they are known."""

    use: TaskUse
    pids: frozenset[int] = frozenset()


@runtime_checkable
class MeasuringBackend(Protocol):
    """The additional interface of a backend that can measure what its attempts use."""

    async def measure(self) -> Mapping[str, MeasuredTask]:
        """By key, for the attempts that run. Rates are those since the last call."""


@runtime_checkable
class MigratingBackend(Protocol):
    """The additional interface of a backend with `capabilities.migrate`."""

    async def migrate(self, key: str, node: str) -> None:
        """Move the attempt to another node of the backend, under the same key. Migrating it again to the same node
        changes nothing. Raises Refusal if it still runs where it was, NeverMigrated for attempts of a kind that is
        never migrated live, and StillMoving."""

    async def check_migration(self, key: str, node: str) -> None:
        """Raises Refusal, with what to do, if it could not be migrated there now. Begins nothing."""


class NodeCredentials(Protocol):
    """What the control plane gives a backend that launches machines, so that their agents can join."""

    async def join_token(self, node: str, valid_s: float) -> str:
        """A token with which one agent may join as this node, once."""

    async def ended(self, node: str, *, revoke: bool) -> None:
        """The machine has ended, and its agent is not missed. `revoke`: nor may it come back with its token."""


@runtime_checkable
class LaunchingBackend(Protocol):
    """The additional interface of a backend that launches machines, which then run an agent of ours. It is called
    before `start`. Its nodes are those that it names and no others: one that it does not name any more is gone."""

    def use_credentials(self, credentials: NodeCredentials) -> None: ...


@runtime_checkable
class SavingBackend(Protocol):
    """The additional interface of a backend that powers machines off."""

    @property
    def saved_kwh(self) -> float:
        """What machines did not use while they were off."""


@runtime_checkable
class KillingBackend(Protocol):
    """The additional interface of a backend that gives tasks a grace period, and can do without."""

    async def kill(self, key: str, reason: str) -> None:
        """As `stop`, without grace, also for an attempt that was asked to end before."""


@runtime_checkable
class ExecutingBackend(Protocol):
    """The additional interface of a backend with `capabilities.executes`."""

    def execute(
        self, key: str, command: Sequence[str], given: CommandInput | None = None, terminal: TerminalSize | None = None
    ) -> AsyncGenerator[bytes | int]:
        """Run a command where the attempt runs, with its directory, environment and limits. Yields what the command
        writes, and last its exit code. Closing the generator ends the command where the backend can do that.

        `given`: what it reads; None: nothing. `terminal`: it runs in a terminal of that size.

        Raises KeyError if no such attempt runs now, Refusal for what the backend cannot do."""


@runtime_checkable
class AttachingBackend(Protocol):
    """The additional interface of a backend with `capabilities.attaches`."""

    def attach(self, key: str, given: CommandInput | None = None) -> AsyncGenerator[bytes | int]:
        """Follow what the attempt writes from now on, and pass on `given` to it; that needs `run.stdin`. Yields nothing
        (`b""`) once it is attached, then the output, and last the exit code of the attempt. Closing the generator
        detaches: the attempt goes on.

        Raises KeyError if no such attempt runs now, Refusal if it ended without an exit code."""
