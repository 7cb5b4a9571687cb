"""What every backend must do, as tests that any backend can inherit.

A backend's test module makes a `Subject` for its backend, gives it as the fixture `subject`, and inherits:

    class TestMyBackend(BackendConformance):
        @pytest.fixture
        def subject(self, tmp_path: Path) -> Subject:
            return Subject(backend_factory=lambda: MyBackend(...), workload=..., unrunnable=...)

The tests run against the real backend and wait for its reports; nothing is asserted about how long they take.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import TypeVar

import pytest

from dovetail.backends.contract import Assignment, Backend, Refusal
from dovetail.model.command import attempt_key
from dovetail.model.event import Event, NodeJoined, TaskFinished, TaskStarted
from dovetail.model.task import TaskId
from dovetail.model.workload import Workload

PATIENCE_S = 60.0
LONG_S = 3600.0
T = TypeVar("T", TaskStarted, TaskFinished)


async def _short_sleep() -> None:
    await asyncio.sleep(0.01)


@dataclass
class Subject:
    """One backend under test, and what it can do."""

    backend_factory: Callable[[], Backend]
    """A backend over the same state each time: calling it again is a restart of the control plane."""
    workload: Callable[[float, int, str], Workload]
    """Work that prints a text, runs for so many seconds and exits with a code."""
    unrunnable: list[Workload] = field(default_factory=list)
    """Work this backend must refuse."""
    times_run: Callable[[str], int] | None = None
    """How often the command of an attempt was really started, where that can be counted from outside."""
    let_time_pass: Callable[[], Awaitable[None]] = _short_sleep
    """Called while a test waits: a backend on a virtual clock moves it."""
    keeps_running_while_closed: bool = True
    knows_lost_attempts: bool = True
    """After a restart it can tell an attempt it ran from one it never heard of."""
    captures_output: bool = True


class Ear:
    """Hears a backend's reports and waits for them."""

    def __init__(self, subject: Subject) -> None:
        self.heard: list[Event] = []
        self._subject = subject

    async def report(self, event: Event) -> None:
        self.heard.append(event)

    async def until(self, kind: type[T], key: str) -> T:
        async with asyncio.timeout(PATIENCE_S):
            while True:
                found = self.about(kind, key)
                if found:
                    return found[0]
                await self._subject.let_time_pass()

    def about(self, kind: type[T], key: str) -> list[T]:
        return [event for event in self.heard if isinstance(event, kind) and getattr(event, "key", None) == key]

    @property
    def node(self) -> str:
        return next(event.node.name for event in self.heard if isinstance(event, NodeJoined))


class Rig:
    """A started backend, its reports, and short ways to say what the tests say often."""

    def __init__(self, subject: Subject, backend: Backend, ear: Ear) -> None:
        self.subject, self.backend, self.ear = subject, backend, ear

    def assignment(self, workload: int, spec: Workload, attempt: int = 1) -> Assignment:
        task = TaskId(workload, 0)
        return Assignment(attempt_key(task, attempt), task, self.ear.node, spec)

    def work(self, workload: int, run_s: float = 0.0, exit_code: int = 0, text: str = "") -> Assignment:
        return self.assignment(workload, self.subject.workload(run_s, exit_code, text))


@asynccontextmanager
async def started(subject: Subject) -> AsyncIterator[Rig]:
    backend, ear = subject.backend_factory(), Ear(subject)
    await backend.start(ear.report)
    try:
        yield Rig(subject, backend, ear)
    finally:
        await backend.close()


def run_async(scene: Callable[[], Awaitable[None]]) -> None:
    async def whole() -> None:
        await scene()

    asyncio.run(whole())


_WORKLOADS: Iterator[int] = count(1)


class BackendConformance:
    """Inherit and give the fixture `subject`."""

    @pytest.fixture
    def subject(self) -> Subject:
        raise NotImplementedError("give a fixture `subject` that returns the Subject of your backend")

    @pytest.fixture
    def number(self) -> int:
        """Of a workload no other test uses."""
        return next(_WORKLOADS)

    def test_a_started_backend_introduces_its_nodes(self, subject: Subject) -> None:
        async def scene() -> None:
            async with started(subject) as rig:
                nodes = [event.node for event in rig.ear.heard if isinstance(event, NodeJoined)]
                assert nodes
                assert {node.backend for node in nodes} == {rig.backend.name}

        run_async(scene)

    @pytest.mark.parametrize("exit_code", [0, 3])
    def test_the_end_of_a_task_is_reported_with_its_exit_code(
        self, subject: Subject, number: int, exit_code: int
    ) -> None:
        async def scene() -> None:
            async with started(subject) as rig:
                work = rig.work(number, 0.0, exit_code)
                await rig.backend.bind(work)
                finished = await rig.ear.until(TaskFinished, work.key)
                assert (finished.task, finished.exit_code) == (work.task, exit_code)
                assert finished.reason

        run_async(scene)

    def test_a_start_is_reported_before_the_end(self, subject: Subject, number: int) -> None:
        async def scene() -> None:
            async with started(subject) as rig:
                work = rig.work(number, 0.2)
                await rig.backend.bind(work)
                await rig.ear.until(TaskFinished, work.key)
                kinds = [type(event) for event in rig.ear.heard if getattr(event, "key", None) == work.key]
                assert kinds.index(TaskStarted) < kinds.index(TaskFinished)

        run_async(scene)

    def test_binding_twice_is_binding_once(self, subject: Subject, number: int) -> None:
        async def scene() -> None:
            async with started(subject) as rig:
                work = rig.work(number, 0.1)
                await asyncio.gather(*(rig.backend.bind(work) for _ in range(4)))
                await rig.backend.bind(work)
                await rig.ear.until(TaskFinished, work.key)
                await rig.backend.bind(work)
                assert {event.exit_code for event in rig.ear.about(TaskFinished, work.key)} == {0}
                if subject.times_run:
                    assert subject.times_run(work.key) == 1

        run_async(scene)

    def test_two_attempts_of_one_task_are_two_runs(self, subject: Subject, number: int) -> None:
        async def scene() -> None:
            async with started(subject) as rig:
                spec = subject.workload(0.0, 1, "")
                for attempt in (1, 2):
                    work = rig.assignment(number, spec, attempt)
                    await rig.backend.bind(work)
                    assert (await rig.ear.until(TaskFinished, work.key)).exit_code == 1

        run_async(scene)

    def test_a_stopped_task_ends_without_an_exit_code(self, subject: Subject, number: int) -> None:
        async def scene() -> None:
            async with started(subject) as rig:
                work = rig.work(number, LONG_S)
                await rig.backend.bind(work)
                await rig.ear.until(TaskStarted, work.key)
                await rig.backend.stop(work.key, "no longer wanted")
                await rig.backend.stop(work.key, "no longer wanted")
                finished = await rig.ear.until(TaskFinished, work.key)
                assert finished.exit_code is None
                assert "no longer wanted" in finished.reason

        run_async(scene)

    def test_stopping_right_after_binding_ends_the_task(self, subject: Subject, number: int) -> None:
        async def scene() -> None:
            async with started(subject) as rig:
                work = rig.work(number, LONG_S)
                await rig.backend.bind(work)
                await rig.backend.stop(work.key, "changed my mind")
                assert (await rig.ear.until(TaskFinished, work.key)).exit_code is None

        run_async(scene)

    def test_stopping_an_unknown_key_reports_its_end_and_refuses_it_from_then_on(
        self, subject: Subject, number: int
    ) -> None:
        async def scene() -> None:
            async with started(subject) as rig:
                work = rig.work(number)
                await rig.backend.stop(work.key, "never mind")
                finished = await rig.ear.until(TaskFinished, work.key)
                assert (finished.task, finished.exit_code) == (work.task, None)
                with pytest.raises(Refusal):
                    await rig.backend.bind(work)
                if subject.times_run:
                    assert subject.times_run(work.key) == 0

        run_async(scene)

    def test_what_it_cannot_run_is_refused_with_a_reason(self, subject: Subject, number: int) -> None:
        async def scene() -> None:
            async with started(subject) as rig:
                for attempt, spec in enumerate(subject.unrunnable):
                    with pytest.raises(Refusal, match=r"\w"):
                        await rig.backend.bind(rig.assignment(number, spec, attempt))

        run_async(scene)

    def test_a_running_task_is_found_again_after_a_restart(self, subject: Subject, number: int) -> None:
        async def scene() -> None:
            async with started(subject) as before:
                work = before.work(number, LONG_S)
                await before.backend.bind(work)
                await before.ear.until(TaskStarted, work.key)
            async with started(subject) as after:
                await after.backend.reconcile([work])
                await after.ear.until(TaskStarted, work.key)
                assert not after.ear.about(TaskFinished, work.key)
                await after.backend.stop(work.key, "enough")
                assert (await after.ear.until(TaskFinished, work.key)).exit_code is None
            if subject.times_run:
                assert subject.times_run(work.key) == 1

        run_async(scene)

    def test_a_task_that_ended_while_nobody_watched_is_reported_after_a_restart(
        self, subject: Subject, number: int
    ) -> None:
        if not subject.keeps_running_while_closed:
            pytest.skip("this backend does not run while it is closed")

        async def scene() -> None:
            async with started(subject) as before:
                work = before.work(number, 0.3, 7)
                await before.backend.bind(work)
            async with started(subject) as after:
                await after.backend.reconcile([work])
                assert (await after.ear.until(TaskFinished, work.key)).exit_code == 7
                await after.backend.bind(work)  # the control plane did not know that this had been done
                assert {event.exit_code for event in after.ear.about(TaskFinished, work.key)} == {7}
            if subject.times_run:
                assert subject.times_run(work.key) == 1

        run_async(scene)

    def test_an_attempt_without_a_trace_is_reported_as_lost(self, subject: Subject, number: int) -> None:
        if not subject.knows_lost_attempts:
            pytest.skip("this backend cannot tell lost attempts from running ones")

        async def scene() -> None:
            async with started(subject) as rig:
                work = rig.work(number)
                await rig.backend.reconcile([work])
                finished = await rig.ear.until(TaskFinished, work.key)
                assert finished.exit_code is None
                assert finished.reason
                if subject.times_run:
                    assert subject.times_run(work.key) == 0

        run_async(scene)

    def test_output_is_read_in_pieces_until_its_end(self, subject: Subject, number: int) -> None:
        if not subject.captures_output:
            pytest.skip("this backend does not capture output")

        async def scene() -> None:
            async with started(subject) as rig:
                text = "grüße, 世界\n"
                work = rig.work(number, 0.0, 0, text)
                await rig.backend.bind(work)
                await rig.ear.until(TaskFinished, work.key)
                offset, found, ended = 0, "", False
                while not ended:
                    chunk = await rig.backend.logs(work.key, offset, 5)
                    assert chunk.next_offset > offset or chunk.ended
                    offset, found, ended = chunk.next_offset, found + chunk.text, chunk.ended
                assert text in found

        run_async(scene)

    def test_a_key_without_logs_is_a_key_error(self, subject: Subject, number: int) -> None:
        async def scene() -> None:
            async with started(subject) as rig:
                with pytest.raises(KeyError):
                    await rig.backend.logs(attempt_key(TaskId(number, 9), 1), 0, 100)

        run_async(scene)
