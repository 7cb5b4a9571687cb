"""The backend on the real clock: what it reports, in order, and that it survives being closed and pestered."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from dovetail.backends.contract import Assignment, Backend, Refusal
from dovetail.backends.simulated import backend as backend_module
from dovetail.backends.simulated.backend import SimulatedBackend
from dovetail.backends.simulated.settings import SimulatedSettings
from dovetail.model.command import attempt_key
from dovetail.model.event import Event, NodeJoined, TaskFinished, TaskStarted
from dovetail.model.task import TaskId
from dovetail.model.workloads.workload import Workload

DAYS = {"median": "2d", "sigma": 0}


def new_backend(**fields: Any) -> SimulatedBackend:
    fixed = {"groups": [{"prefix": "n", "count": 2}], "forever": True}
    backend: Backend = SimulatedBackend("sim", SimulatedSettings.model_validate(fixed | fields))
    assert isinstance(backend, SimulatedBackend)
    return backend


def attempt(number: int = 1, node: str = "n-1", **run: Any) -> Assignment:
    task = TaskId(number, 0)
    return Assignment(attempt_key(task, 1), task, node, Workload.model_validate({"name": "w", "run": run}))


class Listener:
    """Hears every report; `next` waits for the following one that is not about a node."""

    def __init__(self) -> None:
        self.heard: asyncio.Queue[Event] = asyncio.Queue()

    async def report(self, event: Event) -> None:
        self.heard.put_nowait(event)

    async def next(self) -> Event:
        while True:
            event = await self.heard.get()
            if isinstance(event, TaskStarted | TaskFinished):
                return event


@asynccontextmanager
async def running(**fields: Any) -> AsyncIterator[tuple[SimulatedBackend, Listener]]:
    backend, listener = new_backend(**fields), Listener()
    await backend.start(listener.report)
    try:
        yield backend, listener
    finally:
        await backend.close()


def play(story: Callable[[], Awaitable[None]]) -> None:
    async def whole() -> None:
        async with asyncio.timeout(60):
            await story()

    asyncio.run(whole())


def test_all_nodes_have_joined_when_start_returns() -> None:
    async def story() -> None:
        async with running() as (_, listener):
            joined = [listener.heard.get_nowait() for _ in range(2)]
            assert [event.node.name for event in joined if isinstance(event, NodeJoined)] == ["n-1", "n-2"]

    play(story)


def test_days_of_virtual_time_pass_in_a_moment_at_a_high_speed() -> None:
    async def story() -> None:
        async with running(forever=False, run_time=DAYS, speed=1e6) as (backend, listener):
            one = attempt()
            await backend.bind(one)
            assert await listener.next() == TaskStarted(one.task, one.key)
            assert await listener.next() == TaskFinished(one.task, one.key, 0, "exit status 0")
            assert (await backend.logs(one.key, 0, 10_000)).ended

    play(story)


def test_a_bind_wakes_a_backend_that_sleeps_for_long() -> None:
    async def story() -> None:
        async with running() as (backend, listener):
            slow, quick = attempt(1, simulate={"run_time": "1h"}), attempt(2, simulate={"run_time": "1ms"})
            await backend.bind(slow)
            assert await listener.next() == TaskStarted(slow.task, slow.key)
            await asyncio.sleep(0.01)
            await backend.bind(quick)
            assert await listener.next() == TaskStarted(quick.task, quick.key)
            assert await listener.next() == TaskFinished(quick.task, quick.key, 0, "exit status 0")

    play(story)


def test_binding_waits_for_the_bind_delay_and_starting_for_the_start_delay() -> None:
    async def story() -> None:
        async with running(bind_delay="1h", start_delay="1h", speed=1e6) as (backend, listener):
            one = attempt()
            await backend.bind(one)
            assert await listener.next() == TaskStarted(one.task, one.key)

    play(story)


def test_a_stop_is_answered_and_bars_the_key() -> None:
    async def story() -> None:
        async with running() as (backend, listener):
            one, never = attempt(1), attempt(2)
            await backend.bind(one)
            await backend.stop(one.key, "cancelled")
            await backend.stop(never.key, "evicted")
            assert [await listener.next(), await listener.next()] == [
                TaskFinished(one.task, one.key, None, "cancelled"),
                TaskFinished(never.task, never.key, None, "evicted"),
            ]
            for barred in (one, never):
                with pytest.raises(Refusal):
                    await backend.bind(barred)

    play(story)


def test_a_new_process_takes_up_what_it_is_told_of() -> None:
    async def story() -> None:
        async with running() as (backend, listener):
            known, lost = attempt(1), attempt(2, node="elsewhere")
            await backend.reconcile([known, lost])
            heard = {await listener.next(), await listener.next()}
            assert TaskStarted(known.task, known.key) in heard
            assert TaskFinished(lost.task, lost.key, None, "simulated node elsewhere is gone") in heard

    play(story)


def test_nothing_is_lost_while_the_backend_is_closed() -> None:
    async def story() -> None:
        backend, first, second = new_backend(), Listener(), Listener()
        await backend.start(first.report)
        one = attempt(1, simulate={"run_time": "10ms"})
        await backend.bind(one)
        await backend.close()
        await backend.close()
        await backend.start(second.report)
        assert await second.next() == TaskStarted(one.task, one.key)
        assert await second.next() == TaskFinished(one.task, one.key, 0, "exit status 0")
        with pytest.raises(RuntimeError, match="started already"):
            await backend.start(second.report)
        await backend.close()

    play(story)


def test_a_report_that_fails_is_made_again_and_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend_module, "REPORT_RETRY_S", 0.0)

    async def story() -> None:
        listener, backend, refused = Listener(), new_backend(), 0

        async def report(event: Event) -> None:
            nonlocal refused
            if isinstance(event, TaskStarted) and refused < 3:
                refused += 1
                raise ConnectionError("the queue is closed for a moment")
            await listener.report(event)

        await backend.start(report)
        one = attempt(simulate={"run_time": 0})
        await backend.bind(one)
        assert await listener.next() == TaskStarted(one.task, one.key)
        assert await listener.next() == TaskFinished(one.task, one.key, 0, "exit status 0")
        assert refused == 3
        await backend.close()

    play(story)


def test_thousands_of_attempts_are_each_started_once_and_ended_once_in_that_order() -> None:
    async def story() -> None:
        async with running(
            forever=False, run_time={"median": 100, "sigma": 2}, failure_rate=0.2, start_delay=5, speed=1e5
        ) as (backend, listener):
            wanted = [attempt(number, f"n-{number % 2 + 1}") for number in range(3000)]
            for one in wanted:
                await backend.bind(one)
                await backend.bind(one)
            state: dict[str, str] = {}
            for _ in range(2 * len(wanted)):
                event = await listener.next()
                assert isinstance(event, TaskStarted | TaskFinished)
                if isinstance(event, TaskStarted):
                    assert event.key not in state
                    state[event.key] = "started"
                else:
                    assert state[event.key] == "started"
                    state[event.key] = "ended"
            assert set(state.values()) == {"ended"}
            assert set(state) == {one.key for one in wanted}

    play(story)
