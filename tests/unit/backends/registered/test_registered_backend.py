"""Orders to registered nodes: repeated until reported, given to one node only, restored after a restart."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from dovetail.backends.contract import Assignment, Refusal
from dovetail.backends.registered.backend import RegisteredBackend
from dovetail.backends.registered.order_book import SETTLE_S
from dovetail.backends.registered.protocol import HeartbeatReply, TaskReport
from dovetail.model.event import Event, TaskFinished, TaskStarted
from dovetail.model.task import TaskId
from dovetail.model.workloads.workload import Workload


class Rig:
    def __init__(self) -> None:
        self.now_s = 0.0
        self.received: list[Event] = []
        self.failing = False
        self.backend = RegisteredBackend("registered", lambda: self.now_s)

    async def report(self, event: Event) -> None:
        if self.failing:
            raise ConnectionError("nobody listens")
        self.received.append(event)

    async def restart(self) -> None:
        self.backend = RegisteredBackend("registered", lambda: self.now_s)
        await self.backend.start(self.report)
        self.received.clear()


def work(number: int = 1, node: str = "a", attempt: int = 1) -> Assignment:
    return Assignment(f"{number}.0.{attempt}", TaskId(number, 0), node, Workload(name=f"work-{number}"))


def running(key: str) -> TaskReport:
    return TaskReport(key, "running")


def finished(key: str, exit_code: int | None = 0, reason: str = "") -> TaskReport:
    return TaskReport(key, "finished", exit_code, reason)


def played(scene: Callable[[Rig], Awaitable[None]]) -> None:
    async def whole() -> None:
        rig = Rig()
        await rig.backend.start(rig.report)
        await scene(rig)

    asyncio.run(whole())


def test_an_order_is_repeated_until_the_node_reports_it() -> None:
    async def scene(rig: Rig) -> None:
        await rig.backend.bind(work())
        for _ in range(3):
            assert await rig.backend.heartbeat("a", []) == HeartbeatReply([work()], [])
        assert await rig.backend.heartbeat("a", [running("1.0.1")]) == HeartbeatReply([], [])
        assert await rig.backend.heartbeat("a", []) == HeartbeatReply([], [])
        assert rig.received == [TaskStarted(TaskId(1, 0), "1.0.1")]

    played(scene)


def test_a_node_gets_only_its_own_orders() -> None:
    async def scene(rig: Rig) -> None:
        await rig.backend.bind(work(1, "a"))
        await rig.backend.bind(work(2, "b"))
        assert [order.key for order in (await rig.backend.heartbeat("b", [])).run] == ["2.0.1"]

    played(scene)


def test_a_stop_is_repeated_until_the_end_is_reported() -> None:
    async def scene(rig: Rig) -> None:
        await rig.backend.bind(work())
        await rig.backend.heartbeat("a", [])
        await rig.backend.stop("1.0.1", "cancelled")
        assert not rig.received
        for reports in ([], [running("1.0.1")], []):
            assert await rig.backend.heartbeat("a", reports) == HeartbeatReply([], ["1.0.1"])
        assert await rig.backend.heartbeat("a", [finished("1.0.1", None)]) == HeartbeatReply([], [])
        assert rig.received[-1] == TaskFinished(TaskId(1, 0), "1.0.1", None, "cancelled")

    played(scene)


def test_work_that_no_node_was_told_of_is_stopped_at_once() -> None:
    async def scene(rig: Rig) -> None:
        await rig.backend.bind(work())
        await rig.backend.stop("1.0.1", "cancelled")
        assert rig.received == [TaskFinished(TaskId(1, 0), "1.0.1", None, "cancelled")]
        assert await rig.backend.heartbeat("a", []) == HeartbeatReply([], [])
        with pytest.raises(Refusal, match="cancelled"):
            await rig.backend.bind(work())

    played(scene)


@pytest.mark.parametrize(("said", "heard"), [(0, 0), (1, 1), (143, None), (-9, None), (None, None)])
def test_what_a_signal_ended_after_a_stop_was_stopped(said: int | None, heard: int | None) -> None:
    async def scene(rig: Rig) -> None:
        await rig.backend.bind(work())
        await rig.backend.heartbeat("a", [])
        await rig.backend.stop("1.0.1", "cancelled")
        await rig.backend.heartbeat("a", [finished("1.0.1", said)])
        assert isinstance(rig.received[-1], TaskFinished)
        assert rig.received[-1].exit_code == heard

    played(scene)


def test_a_repeated_end_is_one_end() -> None:
    async def scene(rig: Rig) -> None:
        await rig.backend.bind(work())
        await rig.backend.heartbeat("a", [])
        for _ in range(3):
            assert await rig.backend.heartbeat("a", [finished("1.0.1", 3)]) == HeartbeatReply([], [])
        assert rig.received == [TaskFinished(TaskId(1, 0), "1.0.1", 3, "exit status 3")]

    played(scene)


def test_a_report_that_nobody_took_is_taken_when_it_is_repeated() -> None:
    async def scene(rig: Rig) -> None:
        await rig.backend.bind(work())
        rig.failing = True
        with pytest.raises(ConnectionError):
            await rig.backend.heartbeat("a", [finished("1.0.1")])
        rig.failing = False
        await rig.backend.heartbeat("a", [finished("1.0.1")])
        assert rig.received == [TaskFinished(TaskId(1, 0), "1.0.1", 0, "exit status 0")]

    played(scene)


def test_what_nobody_ordered_from_a_node_is_stopped_there() -> None:
    async def scene(rig: Rig) -> None:
        rig.now_s += SETTLE_S
        await rig.backend.bind(work(1, "b"))
        assert (await rig.backend.heartbeat("a", [running("1.0.1"), running("7.0.1")])).stop == ["1.0.1", "7.0.1"]
        assert not rig.received
        assert [order.key for order in (await rig.backend.heartbeat("b", [])).run] == ["1.0.1"]

    played(scene)


def test_an_old_attempt_is_stopped_on_the_node_that_came_back_with_it() -> None:
    async def scene(rig: Rig) -> None:
        await rig.backend.bind(work(1, "a", attempt=1))
        await rig.backend.heartbeat("a", [finished("1.0.1", 1)])
        await rig.backend.bind(work(1, "b", attempt=2))
        assert (await rig.backend.heartbeat("a", [running("1.0.1")])).stop == ["1.0.1"]

    played(scene)


def test_a_node_has_no_say_about_work_of_another_node() -> None:
    async def scene(rig: Rig) -> None:
        await rig.backend.bind(work(1, "b"))
        await rig.backend.heartbeat("a", [finished("1.0.1", 0)])
        assert not rig.received
        await rig.backend.heartbeat("a", [finished("2.0.1", 0)])
        await rig.backend.bind(work(2, "b"))
        assert not rig.received
        assert [order.key for order in (await rig.backend.heartbeat("b", [])).run] == ["1.0.1", "2.0.1"]

    played(scene)


def test_after_a_restart_running_work_is_left_alone_until_its_orders_are_back() -> None:
    async def scene(rig: Rig) -> None:
        await rig.restart()
        assert await rig.backend.heartbeat("a", [running("1.0.1"), running("2.0.1")]) == HeartbeatReply([], [])
        await rig.backend.reconcile([work(1)])
        rig.now_s += SETTLE_S
        assert (await rig.backend.heartbeat("a", [running("1.0.1"), running("2.0.1")])).stop == ["2.0.1"]
        assert rig.received == [TaskStarted(TaskId(1, 0), "1.0.1")]

    played(scene)


def test_an_end_reported_before_the_orders_are_back_is_not_lost() -> None:
    async def scene(rig: Rig) -> None:
        await rig.restart()
        await rig.backend.heartbeat("a", [finished("1.0.1", 4), finished("2.0.1", 0)])
        assert not rig.received
        await rig.backend.reconcile([work(1)])
        await rig.backend.bind(work(2))
        assert rig.received == [
            TaskFinished(TaskId(1, 0), "1.0.1", 4, "exit status 4"),
            TaskFinished(TaskId(2, 0), "2.0.1", 0, "exit status 0"),
        ]
        assert await rig.backend.heartbeat("a", []) == HeartbeatReply([], [])

    played(scene)


def test_after_a_restart_a_stop_waits_for_the_node_again() -> None:
    async def scene(rig: Rig) -> None:
        await rig.restart()
        await rig.backend.reconcile([work(1)])
        await rig.backend.stop("1.0.1", "cancelled")
        assert not rig.received
        assert await rig.backend.heartbeat("a", []) == HeartbeatReply([], ["1.0.1"])

    played(scene)
