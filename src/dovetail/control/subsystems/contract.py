"""What a subsystem is: a part that runs beside the control loop, hears what became durable, and may put events.

Guarantees to a subsystem: it lives on a thread and an event loop of its own, so it may block; it hears durable steps
one at a time, in order, each at most once. Steps are lost while its queue is full or when it fails at one: what must
not be missed it reads from the store or from `ask` when it starts. A subsystem that raises or hangs is dropped, and
built anew after a pause that doubles each time.

Asked of a subsystem: `start` and `stop` end soon; questions are short, since the control loop waits for the answer.
Routes run in the server, not on its thread: they read its tables, or objects that are safe to share between threads.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from dovetail.engine.pieces import IsSpent, Pieces
from dovetail.engine.questions.questions import Questions
from dovetail.model.batch import Batch
from dovetail.model.event import Event
from dovetail.model.task import TaskId
from dovetail.model.workloads.workload import Workload
from dovetail.store.subsystem_tables import SubsystemTables

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class DurableStep:
    """One step of the control loop, after it was written. `names`: of workloads that it accepted or decided about.
    `written_at`: when it was durable."""

    batch: Batch
    names: Mapping[int, str]
    written_at: float = 0.0


class WorkAccess(Protocol):
    """What a subsystem can do with workloads, as a user can. All of it is called on the event loop of the control
    plane, and what it changes is durable when it returns."""

    async def submit(self, specs: list[Workload]) -> list[int]:
        """The ids of the new workloads: all or none. Raises Invalid and Conflict."""

    async def cancel(self, workloads: list[int], reason: str) -> None:
        """Raises Conflict where one has ended."""

    async def definitions(self, workloads: set[int]) -> dict[int, Workload]:
        """Of those that the store knows."""

    def cores(self, key: str) -> float | None:
        """The cores that an attempt uses; None where nobody measures them. May be called on any thread."""

    def unsettled_services(self) -> set[tuple[str, str]]:
        """By namespace and name: services that are being updated, or have fewer ready replicas than they should. May be
        called on any thread."""

    async def exit_code(self, task: TaskId, command: list[str]) -> int:
        """Run a command next to a running task. Raises ControlError if that cannot be done."""


@dataclass(frozen=True, slots=True)
class ControlAccess:
    """What subsystems reach of the control plane. `loop` is its event loop; everything else is called there."""

    loop: asyncio.AbstractEventLoop
    questions: Questions
    put: Callable[[list[Event]], None]
    probe_backends: Callable[[], None]
    work: WorkAccess | None = None
    ask_in_pieces: Callable[[Callable[[IsSpent], Pieces[Any]]], Awaitable[Any]] | None = None


@dataclass(frozen=True, slots=True)
class SubsystemContext:
    """Given to a subsystem when it is built. `settings`, `metrics` and `shared` are what its declaration names;
    `folder` is its own and may not exist yet; `tables` is None unless it declares migrations; `shared` outlives the
    subsystem, and is safe to use on any thread."""

    name: str
    settings: Any
    metrics: Any
    folder: Path
    tables: SubsystemTables | None
    control: ControlAccess
    shared: Any = None

    def put(self, events: Sequence[Event]) -> None:
        """Put events into the inbox of the control loop. Does not wait until they are durable."""
        self.control.loop.call_soon_threadsafe(self.control.put, list(events))

    async def ask(self, question: Callable[[Questions], T]) -> T:
        """The answer of a short function of `Questions`, which runs between two turns of the control loop."""
        return await self._there(lambda: question(self.control.questions))

    async def ask_in_pieces(self, question: Callable[[Questions], Pieces[T]]) -> T:
        """The answer to a long question, which is given a piece at a time between the turns of the control loop."""
        ask = self.control.ask_in_pieces
        assert ask is not None, "this control plane answers no long questions"

        async def asked() -> T:
            answer: T = await ask(lambda _: question(self.control.questions))
            return answer

        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(asked(), self.control.loop))

    async def with_work(self, call: Callable[[WorkAccess], Coroutine[Any, Any, T]]) -> T:
        """What a function of `WorkAccess` returns."""
        work = self.control.work
        assert work is not None, "this control plane gives no access to workloads"
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(call(work), self.control.loop))

    async def probe_backends(self) -> None:
        """Ask every backend in use something that changes nothing; its answer counts for its health and its breaker."""
        await self._there(self.control.probe_backends)

    def _there(self, call: Callable[[], T]) -> Awaitable[T]:
        async def called() -> T:
            return call()

        return asyncio.wrap_future(asyncio.run_coroutine_threadsafe(called(), self.control.loop))


class Subsystem:
    """The base, with a default for each part of the contract."""

    def __init__(self, context: SubsystemContext) -> None:
        self.context = context

    async def start(self) -> None:
        """Called first."""

    async def run(self) -> None:
        """What it does by itself, for as long as it takes; cancelled before `stop`. May return at once."""

    async def take(self, step: DurableStep) -> None:
        """A step became durable."""

    async def stop(self) -> None:
        """Called last, also after a failure of `run` or `take`."""
