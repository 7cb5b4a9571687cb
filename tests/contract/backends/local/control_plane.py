"""A control plane in one file, to be killed: `python control_plane.py <folder> <attempts> <cgroup parent>`.

It binds what has not finished and writes down what it hears of ends, as the real one does with its store; every seventh
attempt it stops after binding. It ends by itself when everything has finished.
"""

import asyncio
import sys
from pathlib import Path

from tests.contract.backends.conformance import Ear, Rig
from tests.contract.backends.local.rig import local_subject

from dovetail.backends.contract import Refusal
from dovetail.model.event import Event, TaskFinished


def is_stopped(workload: int) -> bool:
    return workload % 7 == 0


async def control(folder: Path, attempts: int, cgroup_parent: str) -> None:
    finished_file = folder / "finished"
    known = finished_file.read_text().splitlines() if finished_file.exists() else []
    finished = {line.split()[0] for line in known if line.endswith(".")}  # a line cut off by the kill does not count
    subject = local_subject(folder, "auto", cgroup_parent)
    backend, ear = subject.backend_factory(), Ear(subject)
    all_over = asyncio.Event()

    async def report(event: Event) -> None:
        await ear.report(event)
        if isinstance(event, TaskFinished) and event.key not in finished:
            with finished_file.open("a") as file:
                file.write(f"{event.key} {event.exit_code} .\n")
            finished.add(event.key)
        if len(finished) == attempts:
            all_over.set()

    await backend.start(report)
    rig = Rig(subject, backend, ear)
    todo = [work for number in range(1, attempts + 1) if (work := rig.work(number, 0.2)).key not in finished]
    confirmed = todo[::3]  # some are believed to be bound from before; in the first life none of these leaves a trace
    if known:
        await backend.reconcile([work for work in confirmed if (folder / "runs" / work.key / "order").exists()])
    for work in todo:
        try:
            await backend.bind(work)
        except Refusal:
            await backend.stop(work.key, "refused")
        if is_stopped(work.task.workload):
            await backend.stop(work.key, "every seventh")
    if len(finished) == attempts:
        all_over.set()
    await all_over.wait()
    await backend.close()


if __name__ == "__main__":
    asyncio.run(control(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]))
