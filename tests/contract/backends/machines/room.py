"""What happens on machines that a backend launches: each starts an agent, which ends with its machine.

A provider of machines, real or not, only says that machines run. `MachineRoom` asks it and lets a scripted agent beat
for each of them, so that the conformance suite runs through the whole backend. `backend_in_room` makes a backend with
that room beside it.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.contract.backends.conformance import Subject
from tests.contract.backends.scripted_agent import ScriptedAgent

from dovetail.backends.contract import Report
from dovetail.backends.machines.backend import MachineBackend
from dovetail.backends.machines.provider import MachineProvider
from dovetail.backends.machines.settings import JoinSettings, MachineSettings
from dovetail.model.workloads.run import Run, SimulatedRun
from dovetail.model.workloads.workload import Workload

BEAT_S = 0.01
LOOK_S = 0.2  # how often a real provider is asked what runs


@dataclass
class MachineRoom:
    """`running`: the node of each machine that runs now, by the provider's name for it. `look_s`: how often it is
    asked."""

    running: Callable[[], Awaitable[dict[str, str]]]
    look_s: float = LOOK_S
    agents: dict[str, ScriptedAgent] = field(default_factory=dict)  # by machine
    lost: dict[str, ScriptedAgent] = field(default_factory=dict)  # whose machines have ended
    _away: bool = False
    _loses_replies: bool = False
    _silent: set[str] = field(default_factory=set)

    async def serve(self, backend: MachineBackend) -> None:
        """Until cancelled."""
        while True:
            with contextlib.suppress(Exception):  # a provider that cannot be asked now is asked again
                await self._look()
            loop = asyncio.get_running_loop()
            until = loop.time() + self.look_s
            while True:
                for agent in list(self.agents.values()):
                    agent.cut_off, agent.loses_replies, agent.silent_about = (
                        self._away,
                        self._loses_replies,
                        self._silent,
                    )
                    with contextlib.suppress(ConnectionError):  # it tries again with its next heartbeat
                        await agent.beat(backend)
                await asyncio.sleep(BEAT_S)
                if loop.time() >= until:
                    break

    async def _look(self) -> None:
        running = await self.running()
        for machine, node in running.items():
            self.agents.setdefault(machine, ScriptedAgent(node))
        for machine in [machine for machine in self.agents if machine not in running]:
            self.lost[machine] = self.agents.pop(machine)

    def times_run(self, key: str) -> int:
        return sum(agent.started.get(key, 0) for agent in (*self.agents.values(), *self.lost.values()))

    def runs(self, key: str) -> bool:
        return any(agent.runs(key) for agent in self.agents.values())

    @asynccontextmanager
    async def away(self, _key: str = "") -> AsyncIterator[None]:
        self._away = True
        yield
        self._away = False

    @asynccontextmanager
    async def losing_replies(self) -> AsyncIterator[None]:
        self._loses_replies = True
        yield
        self._loses_replies = False

    @asynccontextmanager
    async def silence_about(self, key: str) -> AsyncIterator[None]:
        self._silent.add(key)
        yield
        self._silent.discard(key)


class NoTokens:
    """Credentials for agents that no server asks for any."""

    async def join_token(self, node: str, valid_s: float) -> str:
        return f"join-{node}"

    async def ended(self, node: str, *, revoke: bool) -> None:
        pass


class BackendInRoom(MachineBackend):
    room: MachineRoom
    _serving: asyncio.Task[None] | None = None

    async def start(self, report: Report) -> None:
        await super().start(report)
        self._serving = self._serving or asyncio.create_task(self.room.serve(self))

    async def close(self) -> None:
        if self._serving is not None:
            self._serving.cancel()
            await asyncio.wait([self._serving])
        await super().close()


JOIN = JoinSettings(server="http://127.0.0.1:1", install="")


def backend_in_room(
    provider: MachineProvider,
    room: MachineRoom,
    folder: Path,
    settings: MachineSettings | None = None,
    join: JoinSettings | None = JOIN,
    boot_within_s: float | None = None,
) -> BackendInRoom:
    settings = settings or MachineSettings(poll=0.05, idle=3600)
    made = BackendInRoom("cloud", provider, settings, join, folder, boot_within_s)
    made.room = room
    made.use_credentials(NoTokens())
    return made


def scripted_work(run_s: float, exit_code: int, _text: str) -> Workload:
    return Workload(name="work", run=Run(simulate=SimulatedRun(run_time=run_s, exit_code=exit_code)))


def subject_in_room(
    provider: Callable[[], MachineProvider],
    room: MachineRoom,
    folder: Path,
    break_calls: Callable[[], AbstractAsyncContextManager[None]],
) -> Subject:
    """`provider` makes one for each start of the backend, on the same machines. `break_calls`: while inside, the
    provider cannot be reached."""
    return Subject(
        lambda: backend_in_room(provider(), room, folder),
        scripted_work,
        times_run=room.times_run,
        runs_now=room.runs,
        knows_lost_attempts=False,
        captures_output=False,
        cut_replies=room.losing_replies,
        break_calls=break_calls,
        hold_reply=room.silence_about,
        cut_off=room.away,
    )
