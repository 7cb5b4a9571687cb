"""The doors of backends: which there are and how they do; adding one, changing its settings, removing it.

Guarantees: what was added is durable, with its secrets sealed, and is there after a restart; a backend that stands in
the settings is changed there and nowhere else; none is removed from under running work unless that is asked for, and
then its work is told to stop and placed elsewhere. Changes take turns, and each is in the history when it is durable.
"""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import structlog
from pydantic import ValidationError

from dovetail.backends.registry import BackendEntry
from dovetail.control import backend_lines
from dovetail.control.adoption import held_by_backend
from dovetail.control.backends import Backends, Member
from dovetail.control.errors import Conflict, NotFound, Unavailable
from dovetail.control.secret_box import SecretBox, SecretError
from dovetail.control.settings import REGISTERED, Settings
from dovetail.control.store_threads import on_store_thread
from dovetail.engine.state.engine_state import EngineState
from dovetail.model.command import Bind, Stop
from dovetail.model.event import Event, NodeLeft
from dovetail.model.record import BackendRecord
from dovetail.model.text.complaint import complaints_of
from dovetail.model.text.strict import closest
from dovetail.store.contract import Store

LAST_ORDERS_S = 10.0  # as long as a removal waits for what the backend is told to stop

log = structlog.get_logger()

Told = Callable[[list[Event]], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Standing:
    """A backend, and what it has."""

    member: Member
    nodes: int
    tasks: int
    clashes: list[str]  # nodes that cannot be used, because another backend has one of that name

    @property
    def problem(self) -> str:
        """What is wrong with it now; empty when all is well."""
        if self.member.problem or not self.clashes:
            return self.member.problem
        more = "" if len(self.clashes) == 1 else f" and {len(self.clashes) - 1} more"
        return f"another backend has a node {self.clashes[0]!r} already{more}; rename one of them"


@dataclass(frozen=True, slots=True)
class Removal:
    """What a removal came to. `unconfirmed`: stops that the backend did not answer; their tasks may run on there."""

    nodes: int
    tasks: int
    unconfirmed: int


class BackendDoors:
    """`told` returns when events are durable; `rings` says that there is new history."""

    def __init__(
        self,
        backends: Backends,
        state: EngineState,
        store: Store,
        settings: Settings,
        told: Told,
        rings: Callable[[], None],
    ) -> None:
        self._backends, self._state, self._store, self._told = backends, state, store, told
        self._rings = rings
        self._settings = settings
        self._box = SecretBox(settings.folder, os.environ)
        self._turn = asyncio.Lock()

    # --- asking ------------------------------------------------------------------------------------------------

    def all(self) -> list[Standing]:
        return [self.get(name) for name in self._backends.members]

    def get(self, name: str) -> Standing:
        member = self._backends.members.get(name)
        if member is None:
            near = closest(name, self._backends.members)
            raise NotFound(f"no backend {name[:100]!r}.{near} dovetail backend list shows them")
        nodes = self._nodes(name)
        by_row = self._state.cluster.placements.by_row
        tasks = sum(len(by_row[self._state.cluster.rows[node]]) for node in nodes)
        return Standing(member, len(nodes), tasks, self._backends.owners.clashes(name))

    def _nodes(self, backend: str) -> list[str]:
        cluster = self._state.cluster
        if backend not in cluster.backend_names:
            return []
        code = cluster.backend_names.index(backend)
        return [name for name, row in cluster.rows.items() if cluster.backends[row] == code]

    # --- after a restart ---------------------------------------------------------------------------------------

    async def restored(self) -> tuple[list[tuple[str, BackendEntry, float]], list[Member]]:
        """What was added before, and what of it cannot be used any more."""
        good: list[tuple[str, BackendEntry, float]] = []
        bad: list[Member] = []
        for record in await on_store_thread(self._store.backends):
            if record.name in self._settings.backends:
                log.warning("a backend was added and stands in the settings too; the settings count", name=record.name)
                continue
            try:
                opened = self._box.open(record.settings)
                entry = BackendEntry.model_validate({"kind": record.kind, **opened})
                await self._seal_again(record)
            except SecretError as error:
                bad.append(self._unusable(record, f"its secrets cannot be opened: {error}"))
            except ValidationError as error:
                bad.append(self._unusable(record, "; ".join(map(str, complaints_of(error)))))
            else:
                good.append((record.name, entry, record.added_at))
        return good, bad

    async def _seal_again(self, record: BackendRecord) -> None:
        """Under the key that comes first now, so that older ones can be taken away."""
        sealed = self._box.resealed(record.settings)
        if sealed != record.settings:
            renewed = BackendRecord(record.name, record.kind, sealed, record.added_at)
            await on_store_thread(self._store.put_backend, renewed)

    @staticmethod
    def _unusable(record: BackendRecord, trouble: str) -> Member:
        log.error("backend cannot be used", backend=record.name, error=trouble)
        return Member(record.name, record.kind, added_at=record.added_at, trouble=trouble)

    # --- changing ----------------------------------------------------------------------------------------------

    async def add(self, name: str, entry: BackendEntry, *, replace: bool, author: str = "", note: str = "") -> bool:
        """Whether it is new. What runs on one that is replaced runs on, and is found again under the new settings."""
        async with self._turn:
            before = self._backends.members.get(name)
            if before is not None and not replace:
                raise Conflict(f"there is a backend {name!r} already; change its settings with --replace")
            self._own(before, "changed")
            if before is not None and before.kind != entry.kind:
                raise Conflict(f"backend {name!r} is of kind {before.kind}; remove it and add one of kind {entry.kind}")
            now = time.time()
            added_at = now if before is None or before.added_at is None else before.added_at
            try:
                sealed = await on_store_thread(self._box.seal, entry.settings)
            except SecretError as error:
                raise Unavailable(f"its secrets cannot be kept: {error}") from None
            if before is None:
                line = backend_lines.added(name, entry, now, author, note)
            else:
                line = backend_lines.changed(name, before.entry, entry, now, author, note)
            await on_store_thread(self._store.put_backend, BackendRecord(name, entry.kind, sealed, added_at), line)
            self._rings()
            await self._take_up(Member(name, entry.kind, entry, added_at), before)
            await self._told([])  # what it announced at once is taken in before anyone asks
            log.info("backend added", backend=name, kind=entry.kind)
            return before is None

    async def _take_up(self, member: Member, before: Member | None) -> None:
        """As at a start of the control plane, for one backend alone."""
        unsent: list[Bind | Stop] = []
        if before is not None:
            await self._backends.release_spares(member.name)
            unsent = [] if before.executor is None else before.executor.unsettled()
        self._backends.make(member)
        held = held_by_backend(self._state, (command.key for command in unsent)).get(member.name, [])
        self._backends.take_up(member.name, held)
        for command in unsent:
            self._backends.carry_out(command)
        await self._backends.first_tries([member.name])

    async def remove(self, name: str, *, force: bool, author: str = "", note: str = "") -> Removal:
        """Refused while work holds its nodes, unless `force`: then that work is stopped there and placed elsewhere."""
        async with self._turn:
            standing = self.get(name)
            self._own(standing.member, "removed")
            if standing.tasks and not force:
                tasks = f"{standing.tasks} task{'s' if standing.tasks > 1 else ''}"
                raise Conflict(
                    f"backend {name!r} has {tasks}; drain its nodes and wait until they have ended, "
                    "or remove it with --force: they are stopped there and placed elsewhere"
                )
            standing.member.leaving = True
            nodes = self._nodes(name)
            events: list[Event] = [NodeLeft(node, f"backend {name} was removed") for node in nodes]
            if events:
                await self._told(events)
            unconfirmed = await self._last_orders(standing.member)
            counts = (len(nodes), standing.tasks, unconfirmed)
            line = backend_lines.removed(name, standing.member.entry, *counts, time.time(), author, note)
            await on_store_thread(self._store.remove_backend, name, line)
            self._rings()
            await self._backends.release_spares(name)
            self._backends.forget(name)
            log.info("backend removed", backend=name, nodes=len(nodes), tasks=standing.tasks, unconfirmed=unconfirmed)
            return Removal(*counts)

    @staticmethod
    async def _last_orders(member: Member) -> int:
        """How many tasks it was told to stop, and has not confirmed after some time."""
        if member.executor is None:
            return 0
        await member.executor.settled_within(LAST_ORDERS_S)
        return sum(isinstance(command, Stop) for command in member.executor.unsettled())

    def _own(self, member: Member | None, verb: str) -> None:
        """Only what was added here is changed here."""
        if member is not None and member.name == REGISTERED:
            raise Conflict(f"the backend {REGISTERED!r} is for nodes that register themselves and cannot be {verb}")
        if member is not None and member.added_at is None:
            raise Conflict(f"backend {member.name!r} stands in the settings of the server; it is {verb} there")
