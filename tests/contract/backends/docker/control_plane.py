"""A control plane in one file, to be killed: `python control_plane.py <folder> <attempts> <url> <url>`.

It binds what has not finished, half of it on each host, and writes down what it hears of ends, as the real one does
with its store; every seventh attempt it stops after binding. It ends by itself when everything has finished.
"""

import asyncio
import sys
from dataclasses import replace
from pathlib import Path

from tests.contract.backends.conformance import Ear, Rig
from tests.contract.backends.docker.rig import docker_subject

from dovetail.backends.contract import Assignment, Refusal
from dovetail.model.event import Event, TaskFinished

HOSTS = ("one", "two")


def is_stopped(workload: int) -> bool:
    return workload % 7 == 0


async def control(folder: Path, attempts: int, urls: list[str]) -> None:
    finished_file = folder / "finished"
    known = finished_file.read_text().splitlines() if finished_file.exists() else []
    finished = {line.split()[0] for line in known if line.endswith(".")}  # a line cut off by the kill does not count
    hosts = [{"name": name, "url": url} for name, url in zip(HOSTS, urls, strict=True)]
    subject = docker_subject(folder, *hosts)
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
    works = [replace(rig.work(number, 0.2), node=HOSTS[number % 2]) for number in range(1, attempts + 1)]

    async def command(work: Assignment) -> None:
        try:
            await backend.bind(work)
        except Refusal:
            await backend.stop(work.key, "refused")
        if is_stopped(work.task.workload):
            await backend.stop(work.key, "every seventh")

    await asyncio.gather(*(command(work) for work in works if work.key not in finished))
    if len(finished) == attempts:
        all_over.set()
    await all_over.wait()
    await backend.close()


if __name__ == "__main__":
    asyncio.run(control(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]))
