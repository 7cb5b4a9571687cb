"""A stop that meets the start of a container or a VM reaches whoever starts it, in whatever order the two come."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from dovetail.agent.executors import Executors
from dovetail.agent.inventory.reading import read_machine
from dovetail.agent.settings import AgentSettings
from dovetail.backends.contract import Assignment, Refusal
from dovetail.model.event import Event
from dovetail.model.task import TaskId
from dovetail.model.workloads.workload import Workload, WorkloadKind

MEMORY = {"memory": "1GiB"}
VM = Workload.model_validate({"name": "guest", "kind": "vm", "resources": MEMORY, "vm": {"image": "debian.qcow2"}})


class SlowEngine:
    """It knows an attempt only some time after it was told of it."""

    def __init__(self) -> None:
        self.runs: set[str] = set()
        self.stopped: set[str] = set()

    async def bind(self, assignment: Assignment) -> None:
        await asyncio.sleep(0.05)
        if assignment.key not in self.stopped:
            self.runs.add(assignment.key)

    async def stop(self, key: str, reason: str) -> None:
        self.stopped.add(key)
        self.runs.discard(key)

    kill = stop

    async def knows(self, key: str) -> bool:
        return key in self.runs or key in self.stopped


async def nothing(_: Event) -> None:
    pass


@pytest.mark.parametrize("end", ["stop", "kill"])
@pytest.mark.parametrize("stop_first", [False, True])
@pytest.mark.parametrize("turns", [0, 1, 3, 10])
def test_a_stop_that_meets_a_start_leaves_nothing_running(
    tmp_path: Path, end: str, stop_first: bool, turns: int
) -> None:
    engine: Any = SlowEngine()
    work = Executors(AgentSettings(data=tmp_path), read_machine(), nothing, lambda: None)

    async def scene() -> None:
        await work.start()
        work._engines = {WorkloadKind.VM: engine}
        assignment = Assignment("1.0.1", TaskId(1, 0), "here", VM)
        both = [lambda: work.bind(assignment), lambda: getattr(work, end)("1.0.1", "changed my mind")]
        doing = []
        for begin in reversed(both) if stop_first else both:
            doing.append(asyncio.ensure_future(begin()))
            for _ in range(turns):
                await asyncio.sleep(0)
        outcomes = await asyncio.gather(*doing, return_exceptions=True)
        assert all(one is None or isinstance(one, Refusal) for one in outcomes), outcomes
        assert not engine.runs
        work._engines = {}
        await work.close()

    asyncio.run(scene())
