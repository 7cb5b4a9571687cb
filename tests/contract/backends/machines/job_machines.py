"""Machines in memory that run their user data: for tests of the backend that runs jobs by cloud-init alone."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import psutil
from tests.contract.backends.conformance import Subject
from tests.contract.backends.machines.memory_provider import MemoryProvider, machine_type
from tests.contract.backends.machines.room import NoTokens
from tests.servers.job_machines import ScriptMachine

from dovetail.backends.machines.cloud_init.backend import CloudInitBackend
from dovetail.backends.machines.cloud_init.settings import CloudInitSettings
from dovetail.backends.machines.provider import ConsoleText, Launch, Machine, MachineState
from dovetail.backends.machines.settings import MachineSettings
from dovetail.model.workloads.run import Run
from dovetail.model.workloads.workload import Workload

TYPES = 12
USER_DATA_BYTES = 16 * 1024


@dataclass
class JobProvider(MemoryProvider):
    """`loses`: answers of launches get lost. `held`: keys whose consoles give no answer. `live`: consoles show what
    they have now, or only what they had when the machine stood still. `other_system`: what machines run instead of
    their user data. `forbidden`: why consoles may not be read."""

    folder: Path = field(default_factory=Path)
    loses: bool = False
    held: set[str] = field(default_factory=set)
    live: bool = True
    other_system: str = ""
    forbidden: str = ""
    on: dict[str, ScriptMachine] = field(default_factory=dict)
    user_data_bytes: int = USER_DATA_BYTES

    async def machines(self, owner: str) -> list[Machine]:
        for name, one in self.there.items():
            if one.state is MachineState.RUNNING and name in self.on and not self.on[name].runs:
                self.there[name] = replace(one, state=MachineState.STOPPED, reason="it powered itself off")
        return await super().machines(owner)

    async def launch(self, launch: Launch) -> Machine:
        known = set(self.there)
        machine = await super().launch(launch)
        if machine.id not in known:
            assert launch.console
            self.on[machine.id] = ScriptMachine(self.folder / machine.id, self.other_system or launch.user_data)
            self.on[machine.id].start()
        if self.loses:
            raise ConnectionError("the answer was lost")
        return machine

    async def end(self, machine: Machine) -> None:
        await super().end(machine)
        if machine.id in self.on:
            self.on[machine.id].kill()

    async def console(self, machine: Machine) -> ConsoleText:
        self._reach()
        while any(self._has(machine.id, key) for key in self.held):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        if self.forbidden:
            raise PermissionError(self.forbidden)
        shown = self.live or self.there[machine.id].state is not MachineState.RUNNING
        return ConsoleText(self.on[machine.id].console() if shown else "", live=self.live)

    def _has(self, name: str, key: str) -> bool:
        workload, replica, attempt = key.split(".")
        text = (self.folder / name / "script").read_text()
        return f"'DOVETAIL_TASK': '{workload}.{replica}'" in text and f"'DOVETAIL_ATTEMPT': '{attempt}'" in text

    def close_all(self) -> None:
        for machine in self.on.values():
            machine.kill()

    @asynccontextmanager
    async def losing_answers(self) -> AsyncIterator[None]:
        self.loses = True
        yield
        self.loses = False

    @asynccontextmanager
    async def holding(self, key: str) -> AsyncIterator[None]:
        self.held.add(key)
        yield
        self.held.discard(key)

    @asynccontextmanager
    async def cutting_off(self, _key: str) -> AsyncIterator[None]:
        async with self.unreachable():
            yield


def job_provider(folder: Path) -> JobProvider:
    return JobProvider([machine_type(f"type{number}", 1.0 + number) for number in range(TYPES)], folder=folder)


def job_backend(provider: JobProvider, folder: Path, **run: object) -> CloudInitBackend:
    settings = MachineSettings(poll=0.05, reap_after=3600)
    made = CloudInitBackend("cloud", provider, settings, CloudInitSettings.model_validate(run), folder)
    made.use_credentials(NoTokens())
    return made


class CountedRuns:
    """Commands that write down that they run: one line for each start, in a file for each attempt."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True)

    def work(self, run_s: float, exit_code: int, text: str) -> Workload:
        here = f'echo $$ >> "{self._folder}/$DOVETAIL_TASK.$DOVETAIL_ATTEMPT"'
        script = f"{here}; printf %s '{text}'; sleep {run_s}; exit {exit_code}"
        return Workload(name="work", run=Run(command=["sh", "-c", script]))

    def times_run(self, key: str) -> int:
        return len(self._pids(key))

    def runs(self, key: str) -> bool:
        return any(psutil.pid_exists(pid) for pid in self._pids(key))

    def _pids(self, key: str) -> list[int]:
        path = self._folder / key
        return [int(line) for line in path.read_text().split()] if path.exists() else []


def job_subject(provider: JobProvider, folder: Path) -> Subject:
    runs = CountedRuns(folder / "runs")
    return Subject(
        lambda: job_backend(provider, folder / "backend"),
        runs.work,
        unrunnable=[
            Workload(name="boxed", run=Run(image="busybox", command=["true"])),
            Workload(name="secret", run=Run(command=["true"], env={"PASSWORD": "x"})),
            Workload(name="open", run=Run(command=["cat"], stdin=True)),
            Workload(name="empty"),
            Workload(name="long", run=Run(command=["echo", "x" * USER_DATA_BYTES])),
            Workload.model_validate({"name": "gang", "replicas": 2, "gang": {"min": 2}, "run": {"command": ["true"]}}),
        ],
        times_run=runs.times_run,
        runs_now=runs.runs,
        nodes_used=TYPES,
        cut_replies=provider.losing_answers,
        break_calls=provider.unreachable,
        hold_reply=provider.holding,
        cut_off=provider.cutting_off,
    )
