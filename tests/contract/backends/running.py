"""One attempt from its bind to its end, for tests that look at what a command did."""

from tests.contract.backends.conformance import Subject, run_async, started

from dovetail.model.event import TaskFinished
from dovetail.model.workloads.workload import Workload


def run_to_end(subject: Subject, spec: Workload, workload: int = 1) -> tuple[TaskFinished, str]:
    """Run one attempt; how it ended and what it printed."""
    found: list[tuple[TaskFinished, str]] = []

    async def scene() -> None:
        async with started(subject) as rig:
            work = rig.assignment(workload, spec)
            await rig.backend.bind(work)
            finished = await rig.reports.until(TaskFinished, work.key)
            found.append((finished, (await rig.backend.logs(work.key, 0, 1_000_000)).text))

    run_async(scene)
    return found[0]
