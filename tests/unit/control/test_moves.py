"""How a Move is carried out: live where the backend migrates, as a stop where it does not."""

import asyncio

import pytest
from tests.unit.control.test_plane import work

from dovetail.backends.contract import (
    Assignment,
    Capabilities,
    LogChunk,
    NeverMigrated,
    Price,
    Refusal,
    Report,
    Status,
    StillMoving,
)
from dovetail.control.backends.execution import Executor
from dovetail.control.loop.inbox import InboxEvents
from dovetail.control.settings import LoopSettings
from dovetail.model.command import Move
from dovetail.model.event import Event, MoveRefused, TaskMoved
from dovetail.model.node import Node
from dovetail.model.task import TaskId
from dovetail.model.workloads.workload import Workload

TASK = TaskId(1, 0)


class Mover:
    """A backend that notes what it is asked to do."""

    name = "lab"

    def __init__(self, *, migrate: bool = True, refuses: Refusal | None = None) -> None:
        self.capabilities = Capabilities(migrate=migrate)
        self.refuses = refuses
        self.takes_calls = 1
        self.asked: list[tuple[str, str]] = []
        self.called = asyncio.Event()

    async def migrate(self, key: str, node: str) -> None:
        self.asked.append(("migrate", node))
        self.called.set()
        if len(self.asked) < self.takes_calls:
            raise StillMoving
        if self.refuses is not None:
            raise self.refuses

    async def check_migration(self, key: str, node: str) -> None: ...

    async def stop(self, key: str, reason: str) -> None:
        self.asked.append(("stop", reason))

    async def nodes(self) -> list[Node]:
        return []

    async def prices(self) -> dict[str, Price]:
        return {}

    async def status(self, key: str) -> Status:
        raise KeyError(key)

    async def start(self, report: Report) -> None: ...

    async def bind(self, assignment: Assignment) -> None: ...

    async def reconcile(self, assignments: list[Assignment]) -> None: ...

    async def logs(self, key: str, offset: int, limit: int) -> LogChunk:
        raise KeyError(key)

    async def close(self) -> None: ...


def carried_out(backend: Mover, *, live: bool = True) -> list[Event]:
    """The events that follow from one Move from a to b."""

    async def run() -> list[Event]:
        told: list[InboxEvents] = []

        async def spec_of(_: int) -> Workload:
            return work("web")

        executor = Executor(backend, spec_of, told.append, LoopSettings())
        executor.begin()
        executor.put(Move(TASK, "a", "lab", "1.0.1", "drained", "b", live))
        assert await executor.settled_within(10)
        await executor.close()
        assert [done for event_count in told for done in event_count.done] == [("stop", "1.0.1")]
        return [event for event_count in told for event in event_count.events]

    return asyncio.run(run())


def test_a_backend_that_migrates_moves_the_task_live() -> None:
    backend = Mover()
    assert carried_out(backend) == [TaskMoved(TASK, "1.0.1", "b")]
    assert backend.asked == [("migrate", "b")]


def test_a_move_that_takes_longer_than_a_call_is_asked_for_again_and_counts_as_no_failure() -> None:
    backend = Mover()
    backend.takes_calls = 3
    assert carried_out(backend) == [TaskMoved(TASK, "1.0.1", "b")]
    assert backend.asked == [("migrate", "b")] * 3


@pytest.mark.parametrize(("migrate", "live"), [(False, True), (True, False)])
def test_everywhere_else_a_move_is_a_stop(migrate: bool, live: bool) -> None:
    backend = Mover(migrate=migrate)
    assert carried_out(backend, live=live) == []
    assert backend.asked == [("stop", "drained")]


def test_a_task_that_the_backend_could_not_migrate_runs_on_and_the_engine_hears_why() -> None:
    backend = Mover(refuses=Refusal("its disk is local"))
    assert carried_out(backend) == [MoveRefused(TASK, "1.0.1", "its disk is local")]
    assert backend.asked == [("migrate", "b")]


def test_a_task_of_a_kind_that_is_never_migrated_is_stopped() -> None:
    backend = Mover(refuses=NeverMigrated("only VMs are migrated live"))
    assert carried_out(backend) == []
    assert backend.asked == [("migrate", "b"), ("stop", "drained")]


def test_a_migration_that_the_backend_reports_by_itself_settles_its_move_and_none_that_follows() -> None:
    async def run() -> tuple[list[tuple[str, str]], list[Event]]:
        told: list[InboxEvents] = []
        backend = Mover()
        backend.takes_calls = 2

        async def spec_of(_: int) -> Workload:
            return work("web")

        executor = Executor(backend, spec_of, told.append, LoopSettings())
        executor.begin()
        executor.put(Move(TASK, "a", "lab", "1.0.1", "asked for", "b", True))
        await backend.called.wait()
        assert not executor.has_moved(TaskMoved(TASK, "1.0.1", "elsewhere"))
        assert executor.has_moved(TaskMoved(TASK, "1.0.1", "b"))
        executor.put(Move(TASK, "b", "lab", "1.0.1", "asked for", "c", True))
        assert await executor.settled_within(10)
        await executor.close()
        return backend.asked, [event for one in told for event in one.events]

    asked, events = asyncio.run(run())
    assert asked == [("migrate", "b"), ("migrate", "c")]
    assert events == [TaskMoved(TASK, "1.0.1", "b"), TaskMoved(TASK, "1.0.1", "c")]
