"""One backend under test, and the same backend started: its reports, and shortcuts for common steps."""

import asyncio
import functools
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, ParamSpec, TypeVar

import pytest

from dovetail.backends.contract import Assignment, Backend, Refusal
from dovetail.model.command import attempt_key
from dovetail.model.event import (
    BindFailed,
    Event,
    NodeHealthChanged,
    NodeJoined,
    TaskFinished,
    TaskStarted,
    TaskWaiting,
)
from dovetail.model.node import Node
from dovetail.model.task import TaskId
from dovetail.model.workloads.workload import Workload

PATIENCE_S = 60.0
LONG_S = 3600.0
_WORKLOADS: Iterator[int] = count(1)
T = TypeVar("T", TaskStarted, TaskFinished, TaskWaiting, BindFailed)
E = TypeVar("E", bound=Event)
Hook = TypeVar("Hook")
P = ParamSpec("P")


async def _short_sleep() -> None:
    await asyncio.sleep(0.01)


@dataclass
class Subject:
    """One backend under test: how to make it, which work it runs, what it can do, and how to inject faults.

    The hooks cause what no caller of a backend can: a network that loses replies, a node that is away for a while. A
    test without its hook is skipped with one line, so a suite without skips has tested the backend against all of these
    faults. `lossy_proxy` has the hooks for a backend that talks to its system over a socket.
    """

    backend_factory: Callable[[], Backend]
    """Makes a backend on the same state each time: a second call is a restart of the control plane."""
    workload: Callable[[float, int, str], Workload]
    """A workload that runs for so many seconds, exits with a code and prints a text."""
    unrunnable: list[Workload] = field(default_factory=list)
    """Workloads that this backend must refuse."""
    times_run: Callable[[str], int] | None = None
    """How often the command of an attempt was started, if that can be counted from outside."""
    runs_now: Callable[[str], bool] | None = None
    """Whether the command of an attempt is running now, asked of the system and not of the backend."""
    let_time_pass: Callable[[], Awaitable[None]] = _short_sleep
    """Called while a test waits; advances a virtual clock."""
    keeps_running_while_closed: bool = True
    knows_lost_attempts: bool = True
    """After a restart it can distinguish an attempt that it ran from an unknown one."""
    captures_output: bool = True
    owns_its_nodes: bool = True
    """It knows its nodes. False if nodes register themselves."""
    nodes_used: int = 1
    """How many of its first nodes the tests use, in turn: several where a node takes one task at a time."""
    remembers_ends: bool = True
    """After a restart it still knows how attempts ended."""

    cut_replies: Callable[[], AbstractAsyncContextManager[None]] | None = None
    """While inside, the system executes calls and its replies are lost. Calls may fail, but not with Refusal."""
    break_calls: Callable[[], AbstractAsyncContextManager[None]] | None = None
    """While inside, the system cannot be reached, or every call fails."""
    hold_reply: Callable[[str], AbstractAsyncContextManager[None]] | None = None
    """While inside, calls about this key get no reply. Others do."""
    cut_off: Callable[[str], AbstractAsyncContextManager[None]] | None = None
    """While inside, the node of this key's attempt is cut off. It comes back with its processes still running."""


class CollectedReports:
    """Collects a backend's reports and waits for them. While `failing`, reports fail; while `failing_ends`, those of
    ends."""

    def __init__(self, subject: Subject) -> None:
        self.received: list[Event] = []
        self.failing = self.failing_ends = False
        self.failed_ends = 0
        self._subject = subject

    async def report(self, event: Event) -> None:
        is_end = isinstance(event, TaskFinished)
        if self.failing or (self.failing_ends and is_end):
            self.failed_ends += is_end
            raise ConnectionError("the control plane cannot be reached")
        self.received.append(event)

    async def until(self, kind: type[T], key: str) -> T:
        await self.until_true(lambda: bool(self.about(kind, key)), f"{kind.__name__} of {key}")
        return self.about(kind, key)[0]

    async def until_true(self, holds: Callable[[], bool], what: str) -> None:
        async with patience(what):
            while not holds():
                await self._subject.let_time_pass()

    def of(self, kind: type[E]) -> list[E]:
        return [event for event in self.received if isinstance(event, kind)]

    def about(self, kind: type[T], key: str) -> list[T]:
        return [event for event in self.of(kind) if event.key == key]

    @property
    def nodes(self) -> list[Node]:
        """As last reported, in the order of their first report."""
        return list({event.node.name: event.node for event in self.of(NodeJoined)}.values())

    def online(self, node: str) -> bool:
        """As last reported."""
        online = False
        for event in self.received:
            if isinstance(event, NodeJoined) and event.node.name == node:
                online = True
            elif isinstance(event, NodeHealthChanged) and event.name == node:
                online = event.online
        return online


class Rig:
    """A started backend, its reports, and shortcuts for common steps."""

    def __init__(self, subject: Subject, backend: Backend, reports: CollectedReports) -> None:
        self.subject, self.backend, self.reports = subject, backend, reports

    def assignment(self, workload: int, spec: Workload, attempt: int = 1) -> Assignment:
        task = TaskId(workload, 0)
        node = self.reports.nodes[workload % self.subject.nodes_used]
        return Assignment(attempt_key(task, attempt), task, node.name, spec)

    def work(self, workload: int, run_s: float = 0.0, exit_code: int = 0, text: str = "") -> Assignment:
        return self.assignment(workload, self.subject.workload(run_s, exit_code, text))

    def new_work(self, run_s: float = 0.0, exit_code: int = 0, text: str = "") -> Assignment:
        """Of a workload that no other test uses."""
        return self.work(next(_WORKLOADS), run_s, exit_code, text)

    async def bind_new(self, run_s: float = 0.0, exit_code: int = 0, text: str = "") -> Assignment:
        work = self.new_work(run_s, exit_code, text)
        await self.backend.bind(work)
        return work

    async def start_new(self, run_s: float = LONG_S, exit_code: int = 0) -> Assignment:
        """Bind it, and wait for the report of its start."""
        work = await self.bind_new(run_s, exit_code)
        await self.reports.until(TaskStarted, work.key)
        return work

    async def finished(self, key: str) -> TaskFinished:
        """Its end. All reports of the end must agree."""
        first = await self.reports.until(TaskFinished, key)
        ends = {(end.task, end.exit_code) for end in self.reports.about(TaskFinished, key)}
        assert len(ends) == 1, f"several ends were reported of {key}: {ends}"
        return first

    async def running(self, key: str) -> None:
        """Wait until it has started and, if runs are counted, was counted: a process that is killed early never is."""
        await self.reports.until(TaskStarted, key)
        if (times_run := self.subject.times_run) is not None:
            await self.reports.until_true(lambda: times_run(key) > 0, f"the first step of {key}")

    async def until_bound(self, work: Assignment) -> None:
        """Like the control plane: repeat the call until there is an answer. Refusal is one."""
        await self.until_answered(lambda: self.backend.bind(work))

    async def until_stopped(self, key: str, reason: str) -> None:
        await self.until_answered(lambda: self.backend.stop(key, reason))

    async def until_answered(self, call: Callable[[], Awaitable[object]]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while True:
                try:
                    await call()
                except Refusal:
                    raise
                except Exception:  # unknown: repeat the call until the timeout
                    await self.subject.let_time_pass()
                else:
                    return

    def assert_run_once(self, *keys: str) -> None:
        if self.subject.times_run is not None:
            assert [self.subject.times_run(key) for key in keys] == [1] * len(keys)

    def assert_never_run(self, key: str) -> None:
        if self.subject.times_run is not None:
            assert self.subject.times_run(key) == 0


@asynccontextmanager
async def patience(what: str) -> AsyncIterator[None]:
    """Fails the test if the block takes too long."""
    try:
        async with asyncio.timeout(PATIENCE_S):
            yield
    except TimeoutError:
        raise AssertionError(f"waited {PATIENCE_S:.0f} s in vain for {what}") from None


@asynccontextmanager
async def started(subject: Subject) -> AsyncIterator[Rig]:
    backend, reports = subject.backend_factory(), CollectedReports(subject)
    await backend.start(reports.report)
    try:
        yield Rig(subject, backend, reports)
    finally:
        await backend.close()


def run_async(scene: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(scene())


def in_event_loop(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """Make an asynchronous test an ordinary one that runs in an event loop of its own."""

    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        asyncio.run(test(*args, **kwargs))

    return run


async def cancel_after(turns: int, call: Awaitable[Any]) -> None:
    """Start a call and cancel it after so many turns of the event loop, as in a shutdown."""
    asking = asyncio.ensure_future(call)
    for _ in range(turns):
        await asyncio.sleep(0)
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)


def next_attempt(work: Assignment, attempt: int = 2) -> Assignment:
    """Another attempt of the same task."""
    return replace(work, key=attempt_key(work.task, attempt))


def needed(hook: Hook | None, name: str) -> Hook:
    """The hook; skips the test without it."""
    if hook is None:
        pytest.skip(f"this backend's Subject has no {name}")
    return hook


class Conformance:
    """The fixture of all groups of tests."""

    @pytest.fixture
    def subject(self) -> Subject:
        raise NotImplementedError("give a fixture `subject` that returns the Subject of your backend")
