"""Execution of commands: each backend has its own queue and workers, so one backend's failures never delay another.

A command is in the outbox, durably, before it comes here, and leaves it only after a definite answer. Anything else,
including no answer within `call_timeout`, is retried with the same key and backoff. While the circuit breaker is open
nothing is sent, and the backend's nodes are unavailable. A command that keeps failing while others succeed delays no
other. `probe` asks an idle backend, so that failures are known before work is placed there.
"""

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable

import structlog

from dovetail.asyncio_tasks import cancel
from dovetail.backends.contract import (
    Assignment,
    Backend,
    MigratingBackend,
    NeverMigrated,
    Refusal,
    Status,
    StillMoving,
)
from dovetail.control.backends.breaker import FIRST_PAUSE_S, LONGEST_PAUSE_S, Breaker, Circuit, Subject
from dovetail.control.backends.health import CallHealth
from dovetail.control.loop.inbox import InboxEvents
from dovetail.control.settings import LoopSettings
from dovetail.model.backoff import Backoff
from dovetail.model.command import Bind, Move, Stop
from dovetail.model.event import BackendHealthChanged, BindFailed, Event, MoveRefused, TaskBound, TaskMoved
from dovetail.model.node import Node
from dovetail.model.task import TaskId
from dovetail.model.workloads.workload import Workload

log = structlog.get_logger()

Name = tuple[str, str]


def outbox_name(command: Bind | Stop) -> Name:
    """Kind and key, as in the outbox."""
    return ("bind" if isinstance(command, Bind) else "stop"), command.key


class OutgoingCommands(asyncio.Queue[Bind | Stop]):
    """Commands to one backend in order of arrival; others may pass those that are `doubtful` now. A command that failed
    comes back after a pause of its own, which doubles each time; no worker waits for it."""

    def __init__(self, doubtful: Callable[[Bind | Stop], bool]) -> None:
        self._doubtful = doubtful
        self._backoffs: dict[Name, Backoff] = {}
        self._aside: dict[Name, asyncio.TimerHandle] = {}
        super().__init__()

    def put_aside(self, command: Bind | Stop) -> None:
        """It failed: retry it after its pause."""
        name = outbox_name(command)
        backoff = self._backoffs.setdefault(name, Backoff(FIRST_PAUSE_S, LONGEST_PAUSE_S))
        self._aside[name] = asyncio.get_running_loop().call_later(backoff.next_s(), self._back, command)

    def forget(self, name: Name) -> None:
        """It is settled: forget its pause."""
        self._backoffs.pop(name, None)

    def clear(self) -> None:
        for handle in self._aside.values():
            handle.cancel()
        self._aside.clear()

    def _back(self, command: Bind | Stop) -> None:
        self._aside.pop(outbox_name(command), None)
        self.put_nowait(command)

    # --- as asyncio's queue asks for it ------------------------------------------------------------------------

    def _init(self, maxsize: int) -> None:  # noqa: ARG002 - its signature
        self._queue: deque[Bind | Stop] = deque()

    def _put(self, item: Bind | Stop) -> None:
        self._queue.append(item)

    def _get(self) -> Bind | Stop:
        for position, command in enumerate(self._queue):
            if not self._doubtful(command):
                del self._queue[position]
                return command
        return self._queue.popleft()


class Executor:
    """One backend's commands, in order of arrival, `parallel` at a time. `cleaned` takes secrets out of what the
    backend's client says."""

    def __init__(
        self,
        backend: Backend,
        spec_of: Callable[[int], Awaitable[Workload]],
        tell: Callable[[InboxEvents], None],
        settings: LoopSettings,
        health: CallHealth | None = None,
        cleaned: Callable[[str], str] = str,
    ) -> None:
        self.backend = backend
        self.health = health or CallHealth()
        self.cleaned = cleaned
        self._spec_of = spec_of
        #: What a task is started with, if that is more than its definition says.
        self.prepare: Callable[[Workload, TaskId], Workload] | None = None
        self._tell = tell
        self._settings = settings
        self._open: dict[tuple[str, str], Bind | Stop] = {}  # not settled yet, by kind and key
        self._all_settled = asyncio.Event()
        self._all_settled.set()
        self._workers: list[asyncio.Task[None]] = []
        self._probing: asyncio.Task[bool] | None = None
        self._told = ""  # the failure of a probe that was logged last
        self._stopping: set[str] = set()  # keys whose Bind must not be sent any more
        self._binding: set[str] = set()  # keys whose Bind is being answered
        self._breaker = Breaker(self._probe, self._subjects, self._changed, settings.slow_call)
        self._outgoing = OutgoingCommands(lambda command: self._breaker.doubts(command.task.workload))

    @property
    def circuit(self) -> Circuit:
        return self._breaker.circuit

    @property
    def waiting(self) -> int:
        """How many commands have no definite answer yet."""
        return len(self._open)

    def unsettled(self) -> list[Bind | Stop]:
        """Those commands, in order of arrival."""
        return list(self._open.values())

    def is_settled(self, key: str) -> bool:
        """Whether no command about this attempt is on its way."""
        return ("bind", key) not in self._open and ("stop", key) not in self._open

    async def status(self, key: str) -> Status:
        """Asked of the system. Raises KeyError for an attempt that it does not know."""
        async with asyncio.timeout(self._settings.call_timeout):
            return await self.backend.status(key)

    async def settled_within(self, seconds: float) -> bool:
        """Whether all commands are settled within that time."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._all_settled.wait()
        return not self._open

    def begin(self) -> None:
        """Start the workers; before this, commands only queue up."""
        self._workers = [asyncio.create_task(self._work()) for _ in range(self._settings.parallel)]

    def put(self, command: Bind | Stop) -> None:
        if isinstance(command, Stop):
            self._stopping.add(command.key)
        self._open[outbox_name(command)] = command
        self._all_settled.clear()
        self._outgoing.put_nowait(command)

    def has_moved(self, event: TaskMoved) -> bool:
        """The backend reports a move. True if a Move command had asked for it: that command is settled now, and the
        next move of this attempt is a new one."""
        command = self._open.get(("stop", event.key))
        if not isinstance(command, Move) or command.target != event.node:
            return False
        self._stopping.discard(event.key)
        self._settled("stop", event.key, [event])
        return True

    async def close(self) -> None:
        await cancel(*self._workers, self._probing)
        self._outgoing.clear()
        await self._breaker.end()

    # --- commands ----------------------------------------------------------------------------------------------

    async def _work(self) -> None:
        while True:
            trial = self.circuit is not Circuit.CLOSED and await self._breaker.enter()
            command = await self._outgoing.get()
            if not self._breaker.admits(trial):  # the breaker opened while it waited for a command
                self._outgoing.put_nowait(command)
            elif not await self._try(command):
                self._outgoing.put_aside(command)
            await asyncio.sleep(0)  # a backend that answers at once must not keep others from their turn

    async def _try(self, command: Bind | Stop) -> bool:
        """True when the command is settled: done, refused or no longer needed."""
        kind, key = outbox_name(command)
        spec = None
        if isinstance(command, Bind):
            try:
                spec = await self._spec_of(command.task.workload)
            except Exception as error:  # the store's trouble, not the backend's
                log.warning("a definition cannot be read", key=key, error=f"{type(error).__name__}: {error}")
                self._breaker.withdrew()
                return False
        if spec is not None and key in self._stopping:  # its Stop is on the way and will be answered by the backend
            self._settled(kind, key, [])
        if self._open.get((kind, key)) is not command:  # settled, or followed by another one
            self._breaker.withdrew()
            return True
        began = time.monotonic()
        try:
            async with asyncio.timeout(self._settings.call_timeout):
                events = await (self._stop(command) if isinstance(command, Stop) else self._bind(command, spec))
        except StillMoving:
            self._breaker.withdrew()
            return False
        except Exception as error:  # a backend's client may raise anything: the outcome is unknown, so retry
            self._failed(kind, key, began, error, command.task.workload)
            return False
        self._succeeded(kind, began, command.task.workload)
        if self._open.get((kind, key)) is command:
            self._settled(kind, key, events)
        return True

    def _settled(self, kind: str, key: str, events: list[Event]) -> None:
        self._open.pop((kind, key), None)
        self._outgoing.forget((kind, key))
        if kind == "bind" and ("stop", key) not in self._open:
            self._stopping.discard(key)
        if not self._open:
            self._all_settled.set()
        self._tell(InboxEvents(events, [(kind, key)]))

    async def _bind(self, command: Bind, spec: Workload | None) -> list[Event]:
        assert spec is not None
        if self.prepare is not None:
            spec = self.prepare(spec, command.task)
        self._binding.add(command.key)
        try:
            asked = Assignment(command.key, command.task, command.node, spec, command.devices, command.gang)
            await self.backend.bind(asked)
        except Refusal as refusal:
            return [BindFailed(command.task, command.key, self.cleaned(str(refusal)), refusal.cause)]
        finally:
            self._binding.discard(command.key)
        return [TaskBound(command.task, command.key)]

    async def _stop(self, command: Stop) -> list[Event]:
        if isinstance(command, Move) and (moved := await self._migrated(command)) is not None:
            self._stopping.discard(command.key)
            return [moved]
        await self.backend.stop(command.key, command.reason)
        if command.key in self._binding:  # its answer may be the only word about its end; it is not sent again
            return []
        self._stopping.discard(command.key)
        if ("bind", command.key) in self._open:  # set aside for a retry, and must not run any more
            self._settled("bind", command.key, [])
        return []

    async def _migrated(self, command: Move) -> TaskMoved | MoveRefused | None:
        """None: it has to be stopped, and started again on its target."""
        if not command.live or not self.backend.capabilities.migrate:
            return None
        assert isinstance(self.backend, MigratingBackend)
        try:
            await self.backend.migrate(command.key, command.target)
        except NeverMigrated:
            return None
        except Refusal as refusal:
            reason = self.cleaned(str(refusal))
            log.info("backend refuses to migrate", key=command.key, reason=reason)
            return MoveRefused(command.task, command.key, reason)
        return TaskMoved(command.task, command.key, command.target)

    # --- health ------------------------------------------------------------------------------------------------

    def _subjects(self) -> Iterable[Subject]:
        return (command.task.workload for command in self._open.values())

    def probe(self) -> None:
        """Ask it something that changes nothing, unless it is being asked, has not begun or is left alone."""
        idle = self._probing is None or self._probing.done()
        if idle and self._workers and self.circuit is Circuit.CLOSED:
            self._probing = asyncio.create_task(self._probe(counts=True))

    async def _probe(self, *, counts: bool = False) -> bool:
        """Ask something that changes nothing. `counts`: the answer counts for the breaker, as with any call."""
        began = time.monotonic()
        nodes = await self.nodes(counts=counts)
        return nodes is not None and time.monotonic() - began <= self._settings.slow_call

    async def nodes(self, *, counts: bool = False) -> list[Node] | None:
        """The backend's nodes as it names them now; None if it does not answer."""
        began = time.monotonic()
        try:
            async with asyncio.timeout(self._settings.call_timeout):
                found = await self.backend.nodes()
        except Exception as error:
            self._failed("nodes", "", began, error, None, counts=counts)
            return None
        self._succeeded("nodes", began, None, counts=counts)
        return found

    def _failed(
        self, call: str, key: str, began: float, error: Exception, subject: Subject, *, counts: bool = True
    ) -> None:
        took_s = time.monotonic() - began
        words = self.cleaned(said(error, took_s))
        asked_in_vain = call == "nodes" and words == self._told  # said once, however often it is probed
        self._told = words if call == "nodes" else self._told
        tell = log.debug if asked_in_vain else log.warning
        tell("backend call failed", backend=self.backend.name, call=call, key=key, error=words)
        self.health.failed(call, took_s, words)
        if counts:
            self._breaker.failed(subject, words)

    def _succeeded(self, call: str, began: float, subject: Subject, *, counts: bool = True) -> None:
        took_s = time.monotonic() - began
        self._told = ""
        self.health.succeeded(call, took_s)
        if counts:
            self._breaker.succeeded(subject, took_s)

    def _changed(self, available: bool, reason: str) -> None:
        self._tell(InboxEvents([BackendHealthChanged(self.backend.name, available, reason)]))


def said(error: Exception, took_s: float) -> str:
    """An error of a backend's client in one line."""
    if isinstance(error, TimeoutError):
        return f"no answer within {took_s:.3g} s"
    return f"{type(error).__name__}: {error}"
