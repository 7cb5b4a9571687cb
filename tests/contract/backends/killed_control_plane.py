"""A control plane to be killed at random moments, and what has to hold afterwards.

It binds what has not finished and writes down what it hears of ends, as the real one does with its store; every seventh
attempt it stops after binding. It ends by itself when everything has finished. A backend's tests run it as a program of
their own (`control`), kill it again and again (`live_and_die`), and look at what ran (`assert_each_ran_once`).
"""

import asyncio
import random
import subprocess
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.contract.backends.conformance import CollectedReports, Rig, Subject
from tests.servers.warm_process import WarmProcess

from dovetail.backends.contract import Assignment, Refusal
from dovetail.model.event import Event, TaskFinished


def _is_stopped(workload: int) -> bool:
    return workload % 7 == 0


async def control(
    folder: Path,
    attempts: int,
    subject: Subject,
    *,
    placed: Callable[[Assignment], Assignment] = lambda work: work,
    at_once: int = 1,
) -> None:
    finished_file = folder / "finished"
    known = finished_file.read_text().splitlines() if finished_file.exists() else []
    finished = {line.split()[0] for line in known if line.endswith(".")}  # a line cut off by the kill does not count
    backend, reports = subject.backend_factory(), CollectedReports(subject)
    all_over = asyncio.Event()

    async def report(event: Event) -> None:
        await reports.report(event)
        if isinstance(event, TaskFinished) and event.key not in finished:
            with finished_file.open("a") as file:
                file.write(f"{event.key} {event.exit_code} .\n")
            finished.add(event.key)
        if len(finished) == attempts:
            all_over.set()

    await backend.start(report)
    rig = Rig(subject, backend, reports)
    works = [placed(rig.work(number, 0.2)) for number in range(1, attempts + 1)]
    todo = [work for work in works if work.key not in finished]
    turns = asyncio.Semaphore(at_once)

    async def command(work: Assignment) -> None:
        async with turns:
            try:
                await backend.bind(work)
            except Refusal:
                await backend.stop(work.key, "refused")
            if _is_stopped(work.task.workload):
                await backend.stop(work.key, "every seventh")

    await asyncio.gather(*map(command, todo))
    if len(finished) == attempts:
        all_over.set()
    await all_over.wait()
    await backend.close()


def live_and_die(command: Sequence[str], lives: int, seconds: tuple[float, float]) -> None:
    """So many lives, each of which ends within those seconds; then one that may go on to the end."""
    chance = random.Random(7)
    for _ in range(lives):
        life = WarmProcess(command)
        try:
            life.wait(timeout=chance.uniform(*seconds))
            break
        except subprocess.TimeoutExpired:
            life.kill()
            life.wait()
    assert WarmProcess(command).wait() == 0


def assert_each_ran_once(starts_file: Path, folder: Path, attempts: int) -> None:
    starts = Counter(starts_file.read_text().split())
    ends = dict(line.split()[:2] for line in (folder / "finished").read_text().splitlines())
    for number in range(1, attempts + 1):
        key = f"{number}.0.1"
        if _is_stopped(number):
            assert starts[key] <= 1
            assert ends[key] == "None" or starts[key] == 1
        else:
            assert (starts[key], ends[key]) == (1, "0"), key
