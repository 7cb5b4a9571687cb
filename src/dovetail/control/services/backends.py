"""Backends for the API: list them with their status, add one, change its settings, remove it.

Guarantees: an added backend is durable, with its secrets sealed, and present after a restart. A backend from the
settings file can only be changed there. A backend with running tasks is removed only with `force`; its tasks are
stopped and placed elsewhere. Changes are serialized, and each has a line in the history: it names the settings that
changed, never their values, and a secret in its note is masked.
"""

import asyncio
import os
import time
from collections.abc import Callable
from dataclasses import dataclass

import structlog
from pydantic import ValidationError

from dovetail.backends.registry import BackendEntry
from dovetail.backends.settings_file_only import settings_file_fields
from dovetail.control.backends.member import Member
from dovetail.control.backends.roster import Backends
from dovetail.control.errors import Conflict, NotFound, Unavailable
from dovetail.control.loop.history import signed
from dovetail.control.loop.inbox import Apply
from dovetail.control.loop.store_access import on_store_thread
from dovetail.control.services.own_machine import OwnMachine
from dovetail.control.settings import REGISTERED, Settings
from dovetail.control.settings.secret_box import SecretBox, SecretError
from dovetail.control.settings.secret_settings import cleaner
from dovetail.engine.questions.questions import Questions
from dovetail.model.command import Bind, Stop
from dovetail.model.event import Event, NodeLeft
from dovetail.model.record import BackendRecord, HistoryLine
from dovetail.model.text.listing import count
from dovetail.model.text.strict import closest
from dovetail.model.text.validation_errors import complaints_of
from dovetail.store.contract import Store

#: Why a field is refused here; the words follow its name.
IN_SETTINGS_FILE = (
    "is about files, programs or users of the server, which a request may not choose; put the backend into the "
    "settings file, under backends, and start the server again"
)
STOP_WAIT_S = 10.0  # how long a removal waits for stops to be confirmed

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class BackendStatus:
    """A backend with the number of its nodes and tasks."""

    member: Member
    nodes: int
    tasks: int
    clashes: list[str]  # nodes that are not used because another backend owns a node of that name

    @property
    def problem(self) -> str:
        """What is wrong with it now; empty when it is healthy."""
        if self.member.problem or not self.clashes:
            return self.member.problem
        more = "" if len(self.clashes) == 1 else f" and {len(self.clashes) - 1} more"
        return f"another backend has a node {self.clashes[0]!r} already{more}; rename one of them"


@dataclass(frozen=True, slots=True)
class Removal:
    """The result of a removal. `unconfirmed`: stops without an answer; those tasks may still run there."""

    nodes: int
    tasks: int
    unconfirmed: int


class BackendService:
    """`rings` announces new history."""

    def __init__(
        self,
        backends: Backends,
        questions: Questions,
        store: Store,
        settings: Settings,
        apply: Apply,
        rings: Callable[[], None],
    ) -> None:
        self._backends, self._store, self._apply = backends, store, apply
        self._known_nodes, self._work = questions.nodes, questions.workloads
        self._rings = rings
        self._settings = settings
        self._box = SecretBox(settings.folder, os.environ)
        self._turn = asyncio.Lock()
        self.own_machine = OwnMachine(settings, questions.nodes, backends.members, apply)

    # --- asking ------------------------------------------------------------------------------------------------

    @property
    def names(self) -> list[str]:
        return list(self._backends.members)

    def all(self) -> list[BackendStatus]:
        return [self.get(name) for name in self._backends.members]

    def get(self, name: str) -> BackendStatus:
        member = self._backends.members.get(name)
        if member is None:
            near = closest(name, self._backends.members)
            raise NotFound(f"no backend {name[:100]!r}.{near} dovetail backend list shows them")
        nodes = self._known_nodes.of_backend(name)
        tasks = self._known_nodes.task_count(nodes)
        return BackendStatus(member, len(nodes), tasks, self._backends.owners.clashes(name))

    # --- after a restart ---------------------------------------------------------------------------------------

    async def restored(self) -> tuple[list[tuple[str, BackendEntry, float]], list[Member]]:
        """Stored backends that can be built, and those that cannot be used any more."""
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
                if refused := settings_file_fields(entry.settings):
                    bad.append(self._unusable(record, f"{', '.join(refused)} {IN_SETTINGS_FILE}"))
                    continue
                good.append((record.name, entry, record.added_at))
        return good, bad

    async def _seal_again(self, record: BackendRecord) -> None:
        """Seal with the current first key, so that older keys can be removed."""
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
        """Returns whether it is new. Tasks on a replaced backend keep running and are adopted again."""
        async with self._turn:
            before = self._backends.members.get(name)
            if before is not None and not replace:
                raise Conflict(f"there is a backend {name!r} already; change its settings with --replace")
            self._check_editable(before, "changed")
            if before is not None and before.kind != entry.kind:
                raise Conflict(f"backend {name!r} is of kind {before.kind}; remove it and add one of kind {entry.kind}")
            now = time.time()
            added_at = now if before is None or before.added_at is None else before.added_at
            try:
                sealed = await on_store_thread(self._box.seal, entry.settings)
            except SecretError as error:
                raise Unavailable(f"its secrets cannot be kept: {error}") from None
            what = f"added, of kind {entry.kind}" if before is None else _change_words(before.entry, entry)
            line = _history_line(name, what, entry, author, note)
            await on_store_thread(self._store.put_backend, BackendRecord(name, entry.kind, sealed, added_at), line)
            self._rings()
            await self._start_one(Member(name, entry.kind, entry, added_at), before)
            await self._apply([])  # the engine takes in what it announced before anyone asks
            if before is None:
                await self.own_machine.step_back(name)
            log.info("backend added", backend=name, kind=entry.kind)
            return before is None

    async def _start_one(self, member: Member, before: Member | None) -> None:
        """Start and adopt one backend, as at a start of the control plane."""
        unsent: list[Bind | Stop] = []
        if before is not None:
            await self._backends.close_backend(member.name)
            unsent = [] if before.executor is None else before.executor.unsettled()
        self._backends.make(member)
        held = self._work.confirmed_by_backend(command.key for command in unsent).get(member.name, [])
        self._backends.adopt(member.name, held)
        for command in unsent:
            self._backends.send(command)
        await self._backends.await_first_starts([member.name])

    async def remove(self, name: str, *, force: bool, author: str = "", note: str = "") -> Removal:
        """Refused while tasks hold its nodes, unless `force`: then they are stopped and placed elsewhere."""
        async with self._turn:
            standing = self.get(name)
            self._check_editable(standing.member, "removed")
            if standing.tasks and not force:
                raise Conflict(
                    f"backend {name!r} has {count(standing.tasks, 'task')}; drain its nodes and wait until they have "
                    "ended, or remove it with --force: they are stopped there and placed elsewhere"
                )
            standing.member.leaving = True
            nodes = self._known_nodes.of_backend(name)
            events: list[Event] = [NodeLeft(node, f"backend {name} was removed") for node in nodes]
            if events:
                await self._apply(events)
            unconfirmed = await self._await_stops(standing.member)
            what = f"removed with {count(len(nodes), 'node')} and {count(standing.tasks, 'task')} on them"
            if unconfirmed:
                what += f", of which {unconfirmed} may run on there"
            line = _history_line(name, what, standing.member.entry, author, note)
            await on_store_thread(self._store.remove_backend, name, line)
            self._rings()
            await self._backends.close_backend(name)
            self._backends.forget(name)
            await self.own_machine.return_if_alone()
            log.info("backend removed", backend=name, nodes=len(nodes), tasks=standing.tasks, unconfirmed=unconfirmed)
            return Removal(len(nodes), standing.tasks, unconfirmed)

    @staticmethod
    async def _await_stops(member: Member) -> int:
        """Wait a while for its stops; returns how many are not confirmed."""
        if member.executor is None:
            return 0
        await member.executor.settled_within(STOP_WAIT_S)
        return sum(isinstance(command, Stop) for command in member.executor.unsettled())

    def _check_editable(self, member: Member | None, verb: str) -> None:
        """Raises Conflict for a backend that was not added through the API."""
        if member is not None and member.name == REGISTERED:
            raise Conflict(f"the backend {REGISTERED!r} is for nodes that register themselves and cannot be {verb}")
        if member is not None and member.added_at is None:
            raise Conflict(f"backend {member.name!r} stands in the settings of the server; it is {verb} there")


def _change_words(before: BackendEntry | None, entry: BackendEntry) -> str:
    """`before` None: the old settings could not be read."""
    if before is None:
        return "given its settings anew"
    fields = type(entry.settings).model_fields
    others = [field for field in fields if getattr(before.settings, field) != getattr(entry.settings, field)]
    return f"changed ({', '.join(others)})" if others else "given the same settings again"


def _history_line(name: str, what: str, entry: BackendEntry | None, author: str, note: str) -> HistoryLine:
    words = cleaner(None if entry is None else entry.settings)(signed(f"backend {name} {what}", author, note))
    return HistoryLine(time.time(), "backend", words, backend=name)
