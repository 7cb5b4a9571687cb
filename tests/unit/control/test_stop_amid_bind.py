"""A stop that is answered while the bind of the same attempt is not: what the bind says is the last word."""

import asyncio

from tests.unit.control.test_moves import TASK, Mover
from tests.unit.control.test_plane import work

from dovetail.backends.contract import Assignment, Refusal
from dovetail.control.backends.execution import Executor
from dovetail.control.loop.inbox import InboxEvents
from dovetail.control.settings import LoopSettings
from dovetail.model.command import Bind, Stop
from dovetail.model.event import BindFailed
from dovetail.model.workloads.workload import Workload

KEY = "1.0.1"


class SlowBinder(Mover):
    """A bind ends with `answer` when it is stopped."""

    def __init__(self, answer: Exception) -> None:
        super().__init__(migrate=False)
        self.answer = answer
        self.stopped = asyncio.Event()

    async def bind(self, assignment: Assignment) -> None:
        self.asked.append(("bind", assignment.key))
        self.called.set()
        await self.stopped.wait()
        await asyncio.sleep(0.01)
        raise self.answer

    async def stop(self, key: str, reason: str) -> None:
        await super().stop(key, reason)
        self.stopped.set()


def settled(backend: SlowBinder) -> list[InboxEvents]:
    async def run() -> list[InboxEvents]:
        told: list[InboxEvents] = []

        async def spec_of(_: int) -> Workload:
            return work("web")

        executor = Executor(backend, spec_of, told.append, LoopSettings())
        executor.begin()
        executor.put(Bind(TASK, "a", "lab", KEY))
        await backend.called.wait()
        executor.put(Stop(TASK, "a", "lab", KEY, "cancelled"))
        assert await executor.settled_within(10)
        await executor.close()
        return told

    return asyncio.run(run())


def test_its_refusal_is_heard() -> None:
    told = settled(SlowBinder(Refusal("no such image")))
    assert [done for each in told for done in each.done] == [("stop", KEY), ("bind", KEY)]
    assert [event for each in told for event in each.events] == [BindFailed(TASK, KEY, "no such image")]


def test_without_an_answer_it_is_not_sent_again() -> None:
    backend = SlowBinder(ConnectionError("reset"))
    told = settled(backend)
    assert [done for each in told for done in each.done] == [("stop", KEY), ("bind", KEY)]
    assert not [event for each in told for event in each.events]
    assert backend.asked == [("bind", KEY), ("stop", "cancelled")]
