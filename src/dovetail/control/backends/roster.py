"""The backends of a control plane: built, adopted, added and closed while it runs.

Guarantees: each has an executor and a task of its own, so none waits for another at start or stop. One that cannot be
built is listed with its error, and its nodes are unavailable. Left to others: which backends may be added or removed,
and storing them (`services.backends`).
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace

import structlog

from dovetail.asyncio_tasks import cancel
from dovetail.backends.contract import Backend, LaunchingBackend, NodeCredentials, Report
from dovetail.backends.registered.backend import RegisteredBackend
from dovetail.backends.registry import BackendEntry, build
from dovetail.control.backends.adoption import Adoption
from dovetail.control.backends.announcements import NodeOwners
from dovetail.control.backends.execution import Executor, outbox_name
from dovetail.control.backends.health import CallHealth
from dovetail.control.backends.member import Member
from dovetail.control.backends.metrics import BackendMetrics
from dovetail.control.backends.node_prices import NodePrices
from dovetail.control.backends.relisting import Relisting
from dovetail.control.loop.inbox import InboxEvents
from dovetail.control.loop.store_access import DefinitionCache
from dovetail.control.settings import REGISTERED, Settings
from dovetail.control.settings.secret_settings import cleaner
from dovetail.engine.questions.questions import Questions
from dovetail.engine.questions.workload_questions import HeldTask
from dovetail.model.command import Bind, Move, Stop
from dovetail.model.event import BackendHealthChanged, Event, NodeHealthChanged, NodeJoined, NodeLeft, TaskMoved
from dovetail.model.node import Node
from dovetail.model.task import TaskId
from dovetail.model.task_use import TaskUse
from dovetail.model.workloads.workload import Workload

FIRST_START_S = 5.0  # how long a start of the control plane waits for slow backends
CLOSE_S = 5.0  # how long closing one may take

log = structlog.get_logger()


class Backends:
    def __init__(
        self,
        settings: Settings,
        questions: Questions,
        specs: DefinitionCache,
        put: Callable[[InboxEvents], None],
        heard: Callable[[Event], InboxEvents],
        metrics: BackendMetrics,
        node_of: Callable[[str], Awaitable[str | None]],
        credentials: NodeCredentials,
    ) -> None:
        """`heard` turns an event of a backend into what the engine receives (`announcements`). `node_of`: the node of
        an attempt, by its key. `credentials`: for agents on machines that backends launch."""
        self.members: dict[str, Member] = {}
        self.registered = RegisteredBackend(REGISTERED, node_of=node_of)
        self.owners = NodeOwners(questions.nodes, self.members)
        self._settings, self._specs, self._put = settings, specs, put
        self._nodes, self._work = questions.nodes, questions.workloads
        self._heard = heard
        self.prepare: Callable[[Workload, TaskId], Workload] | None = None  # as of `Executor`
        self._price_tasks: set[asyncio.Task[None]] = set()
        self._credentials = credentials
        self._metrics = metrics
        metrics.follow(self.members)

    # --- starting ----------------------------------------------------------------------------------------------

    async def start(
        self,
        entries: Iterable[tuple[str, BackendEntry, float | None]],
        broken: Iterable[Member],
        outbox: list[Bind | Stop],
    ) -> None:
        """Returns when every backend was tried once or had some time; slow ones keep starting on their own."""
        self._admit(Member(REGISTERED, REGISTERED), self.registered)
        for name, entry, added_at in entries:
            self.make(Member(name, entry.kind, entry, added_at))
        for member in broken:
            self.members[member.name] = member
            self._tell([BackendHealthChanged(member.name, False, member.trouble)])
        # What was to move live runs somewhere: the backend must know of it before it is told to move it again.
        held = self._work.confirmed_by_backend(one.key for one in outbox if not isinstance(one, Move))
        for name in self.members:
            self.adopt(name, held.get(name, []))
        for command in outbox:
            self.send(command)
        await self.await_first_starts(list(self.members))

    def make(self, member: Member) -> None:
        """Build it; call `adopt` next."""
        assert member.entry is not None
        try:
            backend = build(member.name, member.entry, self._settings.folder / "backends" / member.name)
            if isinstance(backend, LaunchingBackend):
                backend.use_credentials(self._credentials)
        except Exception as error:  # a stranger's constructor may raise anything
            member.trouble = cleaner(member.entry.settings)(f"cannot be built: {type(error).__name__}: {error}")
            log.error("backend cannot be built", backend=member.name, error=member.trouble)
            self.members[member.name] = member
            self._tell([BackendHealthChanged(member.name, False, member.trouble)])
        else:
            self._admit(member, backend)

    def _admit(self, member: Member, backend: Backend) -> None:
        clean = cleaner(None if member.entry is None else member.entry.settings)
        health = CallHealth(self._metrics.observer(member.name))
        member.executor = Executor(backend, self._specs.get, self._put, self._settings.loop, health, clean)
        member.executor.prepare = self.prepare
        member.prices = NodePrices(backend)
        self.members[member.name] = member

    def adopt(self, name: str, held: Sequence[HeldTask]) -> None:
        member = self.members[name]
        if member.executor is not None:
            hooks = (self._reporter(member), self._tell, self._missing(name))
            down = self._nodes.backend_is_down(name)
            member.adoption = Adoption(member.executor, self._specs, self._work, *hooks, down=down)
            member.task = asyncio.create_task(member.adoption.adopt(held), name=f"{name}: taking up")

    async def await_first_starts(self, names: list[str]) -> None:
        adoptions = [adoption for name in names if (adoption := self.members[name].adoption) is not None]
        if adoptions:
            tries = [asyncio.ensure_future(adoption.tried.wait()) for adoption in adoptions]
            _, late = await asyncio.wait(tries, timeout=FIRST_START_S)
            for one in late:
                one.cancel()
        for adoption in adoptions:
            adoption.overdue()

    # --- running -----------------------------------------------------------------------------------------------

    def agents_of(self, name: str) -> RegisteredBackend | None:
        """The backend of this name, if its nodes run agents."""
        member = self.members.get(name)
        backend = None if member is None or member.executor is None else member.executor.backend
        return backend if isinstance(backend, RegisteredBackend) else None

    def reported_use(self, key: str) -> tuple[TaskUse, float] | None:
        """What the attempt used when its agent last reported, and when that was."""
        hubs = (self.agents_of(name) for name in list(self.members))
        return next((use for hub in hubs if hub is not None and (use := hub.use_of(key)) is not None), None)

    def send(self, command: Bind | Stop) -> None:
        member = self.members.get(command.backend)
        if member is not None and member.executor is not None:
            member.executor.put(command)
        else:
            log.error("no such backend; the command stays in the outbox", backend=command.backend, key=command.key)

    def probe(self) -> None:
        """Ask every backend in use something that changes nothing; returns at once."""
        for member in self.members.values():
            if member.executor is not None:
                member.executor.probe()
                if member.state == "closed":
                    task = asyncio.create_task(self._announce_prices(member), name=f"{member.name}: prices")
                    self._price_tasks.add(task)
                    task.add_done_callback(self._price_tasks.discard)

    async def _announce_prices(self, member: Member) -> None:
        """Announce nodes again whose price has changed."""
        assert member.prices is not None
        own = {name for name in self._nodes.of_backend(member.name) if self.owners.announced(name)}
        report = self._reporter(member)
        for node in await member.prices.changed(lambda name: self._nodes.definition(name) if name in own else None):
            await report(NodeJoined(node))

    def _reporter(self, member: Member) -> Report:
        async def report(event: Event) -> None:
            if member.leaving and isinstance(event, NodeJoined):
                return
            if isinstance(event, NodeJoined) and member.prices is not None:
                event = replace(event, node=await member.prices.priced(event.node))
            if isinstance(event, TaskMoved) and member.executor is not None and member.executor.has_moved(event):
                return
            if self.owners.accepts(member.name, event):
                self._put(self._heard(event))

        return report

    def _missing(self, backend: str) -> Callable[[list[Node]], None]:
        """Nodes from before a restart that the backend does not name take no new work. They are not removed: it may
        only fail to reach them now, and their tasks may still run."""

        def named(nodes: list[Node]) -> None:
            there = {node.name for node in nodes}
            gone = [
                name
                for name in self._nodes.of_backend(backend)
                if name not in there and self._nodes.is_online(name) and not self.owners.announced(name)
            ]
            if gone and self._launches(backend):
                log.info("machines from before the start are gone", backend=backend, nodes=len(gone))
                self._tell([NodeLeft(name, f"backend {backend} does not offer it now") for name in gone])
            elif nodes and gone:  # a backend that names none leaves announcing them to others
                log.warning("nodes from before the start are not there", backend=backend, nodes=len(gone))
                self._tell([NodeHealthChanged(name, False, f"backend {backend} does not name it now") for name in gone])

        return named

    def _launches(self, name: str) -> bool:
        executor = self.members[name].executor
        return executor is not None and isinstance(executor.backend, LaunchingBackend)

    def _tell(self, events: list[Event]) -> None:
        self._put(InboxEvents(events))

    def relisting(self, every_s: float) -> Relisting:
        return Relisting(self.members, self._nodes, self._work, self._tell, every_s)

    # --- stopping ----------------------------------------------------------------------------------------------

    async def stop(self) -> None:
        """Close all at once, each within a few seconds."""
        await asyncio.gather(*(self.close_backend(name) for name in list(self.members)))

    async def close_backend(self, name: str) -> Member:
        """Stop its workers and close it. Its tasks keep running."""
        member = self.members[name]
        await cancel(member.task)
        if member.executor is not None:
            await member.executor.close()
            try:
                async with asyncio.timeout(CLOSE_S):
                    await member.executor.backend.close()
            except Exception as error:
                words = member.executor.cleaned(f"{type(error).__name__}: {error}")
                log.warning("backend did not close in good order", backend=name, error=words)
        return member

    def forget(self, name: str) -> None:
        """After `close_backend`: drop it and its unconfirmed commands."""
        member = self.members.pop(name)
        self._metrics.forget(name)
        self.owners.forget(name)
        if member.executor is not None and (unsettled := member.executor.unsettled()):
            self._put(InboxEvents([], [outbox_name(command) for command in unsettled]))
