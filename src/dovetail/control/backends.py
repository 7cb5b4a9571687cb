"""The backends of a control plane: built, taken up with, added and let go while it runs.

Guarantees: each has an executor and a task of its own, so that none waits for another, neither at the start nor at
the end; one that cannot be built is there all the same, with what is wrong with it, and its nodes count as unavailable.
Left to others: what may be added or removed, and remembering it (`backend_doors`).
"""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import structlog

from dovetail.backends.contract import Backend, Report
from dovetail.backends.registered.backend import RegisteredBackend
from dovetail.backends.registry import BackendEntry, build
from dovetail.control.adoption import Adoption, Held, held_by_backend
from dovetail.control.backend_health import Health
from dovetail.control.backend_metrics import BackendMetrics
from dovetail.control.execution import Executor
from dovetail.control.inbox import News
from dovetail.control.node_owners import NodeOwners
from dovetail.control.outgoing import outbox_name
from dovetail.control.secret_settings import cleaner
from dovetail.control.settings import REGISTERED, Settings
from dovetail.control.specs import Specs
from dovetail.engine.state.engine_state import EngineState
from dovetail.model.command import Bind, Stop
from dovetail.model.event import BackendHealthChanged, Event, NodeHealthChanged, NodeJoined
from dovetail.model.node import Node

FIRST_START_S = 5.0  # as long as a start of the control plane waits for backends that take their time
LAST_WORDS_S = 5.0  # as long as anybody waits for one that is being closed

log = structlog.get_logger()


@dataclass(slots=True)
class Member:
    """`entry` None: nodes that register themselves. `added_at` None: it stands in the settings. `trouble`: why it
    could not be built, in which case it has no executor."""

    name: str
    kind: str
    entry: BackendEntry | None = None
    added_at: float | None = None
    executor: Executor | None = None
    adoption: Adoption | None = None
    task: "asyncio.Task[None] | None" = None
    trouble: str = ""
    leaving: bool = False  # its nodes are going: what it says of new ones no longer counts

    @property
    def state(self) -> str:
        """One word for people: closed, open or half-open as its breaker is, or why there is none."""
        if self.executor is None or self.adoption is None:
            return "unusable"
        return str(self.executor.circuit) if self.adoption.over else "starting"

    @property
    def problem(self) -> str:
        """What is wrong with it now; empty when it answers."""
        if self.adoption is not None and not self.adoption.over:
            return self.adoption.trouble
        if self.executor is not None and self.state != "closed":
            return self.executor.health.last_error
        return self.trouble


class Backends:
    def __init__(
        self,
        settings: Settings,
        state: EngineState,
        specs: Specs,
        put: Callable[[News], None],
        heard: Callable[[Event], News],
        metrics: BackendMetrics,
    ) -> None:
        """`heard` has the last word on what a backend says of a node that is known already."""
        self.members: dict[str, Member] = {}
        self.registered = RegisteredBackend(REGISTERED)
        self.owners = NodeOwners(state, self.members)
        self._settings, self._state, self._specs, self._put = settings, state, specs, put
        self._heard = heard
        self._metrics = metrics
        metrics.follow(self.members)

    # --- asking ------------------------------------------------------------------------------------------------

    def find(self, name: str) -> Backend | None:
        member = self.members.get(name)
        return None if member is None or member.executor is None else member.executor.backend

    def folder(self, name: str) -> Path:
        return self._settings.folder / "backends" / name

    # --- coming ------------------------------------------------------------------------------------------------

    async def start(
        self,
        entries: Iterable[tuple[str, BackendEntry, float | None]],
        broken: Iterable[Member],
        outbox: list[Bind | Stop],
    ) -> None:
        """Every backend has been tried once when this returns, or has had some time; all go on by themselves."""
        self._admit(Member(REGISTERED, REGISTERED), self.registered)
        for name, entry, added_at in entries:
            self.make(Member(name, entry.kind, entry, added_at))
        for member in broken:
            self.members[member.name] = member
            self._unavailable(member.name, member.trouble)
        held = held_by_backend(self._state, (command.key for command in outbox))
        for name in self.members:
            self.take_up(name, held.get(name, []))
        for command in outbox:
            self.carry_out(command)
        await self.first_tries(list(self.members))

    def make(self, member: Member) -> None:
        """Build it; take up with it next."""
        assert member.entry is not None
        try:
            backend = build(member.name, member.entry, self.folder(member.name))
        except Exception as error:  # a stranger's constructor may raise anything
            member.trouble = cleaner(member.entry.settings)(f"cannot be built: {type(error).__name__}: {error}")
            log.error("backend cannot be built", backend=member.name, error=member.trouble)
            self.members[member.name] = member
            self._unavailable(member.name, member.trouble)
        else:
            self._admit(member, backend)

    def _admit(self, member: Member, backend: Backend) -> None:
        clean = cleaner(None if member.entry is None else member.entry.settings)
        health = Health(self._metrics.observer(member.name))
        member.executor = Executor(backend, self._specs.get, self._put, self._settings.loop, health, clean)
        self.members[member.name] = member

    def take_up(self, name: str, held: Held) -> None:
        member = self.members[name]
        if member.executor is not None:
            report, down = self._reporter(member), self._is_down(name)
            member.adoption = Adoption(member.executor, self._specs, report, self._tell, self._missing(name), down=down)
            member.task = asyncio.create_task(member.adoption.adopt(held), name=f"{name}: taking up")

    async def first_tries(self, names: list[str]) -> None:
        adoptions = [adoption for name in names if (adoption := self.members[name].adoption) is not None]
        if adoptions:
            tries = [asyncio.ensure_future(adoption.tried.wait()) for adoption in adoptions]
            _, late = await asyncio.wait(tries, timeout=FIRST_START_S)
            for one in late:
                one.cancel()
        for adoption in adoptions:
            adoption.overdue()

    # --- working -----------------------------------------------------------------------------------------------

    def carry_out(self, command: Bind | Stop) -> None:
        member = self.members.get(command.backend)
        if member is not None and member.executor is not None:
            member.executor.put(command)
        else:
            log.error("no such backend; the command stays in the outbox", backend=command.backend, key=command.key)

    def _reporter(self, member: Member) -> Report:
        async def report(event: Event) -> None:
            if member.leaving and isinstance(event, NodeJoined):
                return
            if self.owners.accepts(member.name, event):
                self._put(self._heard(event))

        return report

    def _missing(self, backend: str) -> Callable[[list[Node]], None]:
        """Nodes that it had before a restart and does not name any more take no new work. They are not let go: it may
        only not reach them now, and what they run may still run."""

        def named(nodes: list[Node]) -> None:
            cluster, there = self._state.cluster, {node.name for node in nodes}
            gone = [
                name
                for name, row in cluster.rows.items()
                if cluster.backend_names[cluster.backends[row]] == backend
                and cluster.online[row]
                and name not in there
                and not self.owners.announced(name)
            ]
            if nodes and gone:  # without any it leaves introducing them to others
                log.warning("nodes from before the start are not there", backend=backend, nodes=len(gone))
                self._tell([NodeHealthChanged(name, False, f"backend {backend} does not name it now") for name in gone])

        return named

    def _is_down(self, name: str) -> bool:
        cluster = self._state.cluster
        return name in cluster.backend_names and not cluster.backend_available[cluster.backend_names.index(name)]

    def _tell(self, events: list[Event]) -> None:
        self._put(News(events))

    def _unavailable(self, name: str, reason: str) -> None:
        self._tell([BackendHealthChanged(name, False, reason)])

    # --- going -------------------------------------------------------------------------------------------------

    async def stop(self) -> None:
        """All at once, and none for longer than some seconds."""
        await asyncio.gather(*(self.release_spares(name) for name in list(self.members)))

    async def release_spares(self, name: str) -> Member:
        """Send it nothing any more and close it. What runs there goes on running."""
        member = self.members[name]
        if member.task is not None:
            member.task.cancel()
            await asyncio.gather(member.task, return_exceptions=True)
        if member.executor is not None:
            await member.executor.close()
            try:
                async with asyncio.timeout(LAST_WORDS_S):
                    await member.executor.backend.close()
            except Exception as error:
                words = member.executor.cleaned(f"{type(error).__name__}: {error}")
                log.warning("backend did not close in good order", backend=name, error=words)
        return member

    def forget(self, name: str) -> None:
        """After it was let go. What it was told and did not confirm is no longer asked of anybody."""
        member = self.members.pop(name)
        self._metrics.forget(name)
        self.owners.forget(name)
        if member.executor is not None and (unsettled := member.executor.unsettled()):
            self._put(News([], [outbox_name(command) for command in unsettled]))
