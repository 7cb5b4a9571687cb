"""Services for the API: apply definitions, scale, go back to an earlier revision, remove, look.

Guarantees: what a method changes is durable when it returns; the controller does the rest, however long that takes.
Names are read as those of workloads are: `web`, `team/web`.
"""

import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from dovetail.control.errors import Conflict, NotFound
from dovetail.control.loop.store_access import on_store_thread
from dovetail.control.service_controller.book import ReplicaView, ServiceBook
from dovetail.model.services.service import Service
from dovetail.model.text.listing import first_of
from dovetail.model.text.strict import closest, shown
from dovetail.model.workloads.workload import DEFAULT_NAMESPACE, Workload
from dovetail.services.changes import ApplyOutcome, FieldChange, outcome_of
from dovetail.services.records import Revision, RolloutState, ServiceRecord
from dovetail.services.replicas import FIRST_PORT, replica_workload
from dovetail.store.contract import StoreError

KEPT_REVISIONS = 10


class Applied(NamedTuple):
    """What a definition did, or would do. `replaced`: how many replicas are replaced."""

    spec: Service
    outcome: ApplyOutcome
    revision: int
    changes: list[FieldChange]
    replaced: int


@dataclass(frozen=True, slots=True)
class ServiceStatus:
    """`message`: what a person should know."""

    record: ServiceRecord
    replicas: tuple[ReplicaView, ...]
    message: str = ""

    @property
    def ready(self) -> int:
        return sum(one.ready for one in self.replicas)


class ServiceDesk:
    """`check`: raises Invalid for workloads that this server never accepts. `refuse`: raises Conflict where a budget of
    these namespaces allows no more work; what is there stays up, and can be changed and replaced."""

    def __init__(
        self,
        book: ServiceBook,
        check: Callable[[list[Workload]], Awaitable[None]],
        refuse: Callable[[Iterable[str]], None],
    ) -> None:
        self._book, self._check, self._refuse = book, check, refuse

    # --- looking -------------------------------------------------------------------------------------------------

    async def all(self, namespace: str | None = None) -> list[ServiceStatus]:
        records = await on_store_thread(self._book.records)
        chosen = [record for key, record in sorted(records.items()) if namespace in (None, key[0])]
        return [self._status(record) for record in chosen]

    async def get(self, ref: str, namespace: str | None = None) -> ServiceStatus:
        """Raises NotFound, or Conflict if several namespaces have one."""
        record = await self._find(ref, namespace)
        return self._status(record)

    async def find(self, ref: str, namespace: str | None) -> ServiceStatus | None:
        """None if there is none; also if the tables of services are damaged, so that jobs are found all the same.
        Raises Conflict."""
        try:
            return await self.get(ref, namespace)
        except (NotFound, StoreError):
            return None

    async def names(self) -> list[str]:
        """Of all services, as they can be typed from anywhere."""
        try:
            keys = sorted(await on_store_thread(self._book.records))
        except StoreError:
            return []
        return [name if namespace == DEFAULT_NAMESPACE else f"{namespace}/{name}" for namespace, name in keys]

    def _status(self, record: ServiceRecord) -> ServiceStatus:
        said = "; ".join(words for words in (record.message, self._book.trouble(record.key)) if words)
        return ServiceStatus(record, self._book.replicas(record.key), said)

    async def live_ids(self, ref: str, namespace: str | None) -> tuple[str, list[tuple[int, int]]] | None:
        """The name of a service that is meant, and its replicas as (index, workload), the newest revision of each
        index; None if there is no such service. Raises Conflict."""
        status = await self.find(ref, namespace)
        if status is None:
            return None
        newest = {one.index: one.workload for one in sorted(status.replicas, key=lambda one: one.revision)}
        return status.record.name, sorted(newest.items())

    async def _find(self, ref: str, namespace: str | None) -> ServiceRecord:
        before, slash, name = ref.replace("%2F", "/").partition("/")
        wanted, name = (before, name) if slash else (namespace, ref)
        records = await on_store_thread(self._book.records)
        found = [record for key, record in records.items() if key[1] == name and wanted in (None, key[0])]
        if wanted is None and len(found) > 1:
            found = [record for record in found if record.namespace == DEFAULT_NAMESPACE] or found
        if len(found) > 1:
            names = first_of([f"{record.namespace}/{record.name}" for record in found], most=20)
            raise Conflict(f"{shown(name)} is in several namespaces; write one of: {names}")
        if not found:
            known = closest(name, [key[1] for key in records])
            raise NotFound(f"no service {shown(name)}; dovetail services lists those there are.{known}")
        return found[0]

    # --- changing ------------------------------------------------------------------------------------------------

    async def apply(self, specs: list[Service], cause: str, *, dry_run: bool = False) -> list[Applied]:
        """All of them or none. Raises Invalid and Conflict."""
        await self._check([replica_workload(spec, 1, 0, _any_ports(spec)) for spec in specs])
        for spec in specs:
            record = await on_store_thread(self._book.get, (spec.namespace, spec.name))
            if record is not None and record.removed:
                raise Conflict(
                    f"service {shown(spec.name)} is being removed; apply it again when its replicas are gone"
                )
            if record is None or spec.replicas > record.replicas:
                self._refuse([spec.namespace])
        if dry_run:
            return [_planned(await on_store_thread(self._book.get, (s.namespace, s.name)), s) for s in specs]
        done: dict[tuple[str, str], Applied] = {}
        changes = {(spec.namespace, spec.name): partial(self._applied, spec, cause, done) for spec in specs}
        await on_store_thread(self._book.change_all, changes)
        return list(done.values())

    def _applied(
        self, spec: Service, cause: str, done: dict[tuple[str, str], Applied], record: ServiceRecord | None
    ) -> ServiceRecord:
        key = (spec.namespace, spec.name)
        lost = self._book.unreadable(key)
        first = 1 if lost is None else lost.newest + 1  # replicas of the lost revisions keep their names
        done[key] = _planned(record, spec)
        return _with_definition(record, spec, done[key], cause, self._book.now(), first)

    async def scale(self, ref: str, namespace: str | None, replicas: int) -> ServiceStatus:
        def change(record: ServiceRecord) -> ServiceRecord:
            bounds = record.spec.autoscale
            if bounds is not None and not bounds.min <= replicas <= bounds.max:
                words = f"{record.name} scales itself between {bounds.min} and {bounds.max} replicas"
                raise Conflict(f"{words}; change autoscale in its definition, or choose a number between these")
            if replicas > record.replicas:
                self._refuse([record.namespace])
            return replace(record, replicas=replicas, progress_at=self._book.now())

        return await self._changed(ref, namespace, change)

    async def undo(self, ref: str, namespace: str | None, revision: int | None) -> ServiceStatus:
        """Back to a revision; without one to that before the present one."""

        def change(record: ServiceRecord) -> ServiceRecord:
            kept = [one.number for one in record.revisions]
            earlier = [number for number in kept if number < record.target]
            if revision is not None and revision not in kept:
                raise NotFound(
                    f"{record.name} has no revision {revision}; it has {first_of(list(map(str, kept)), most=20)}"
                )
            if revision is None and not earlier:
                raise Conflict(f"{record.name} has no earlier revision than {record.target}")
            to = max(earlier) if revision is None else revision
            if to == record.target:
                raise Conflict(f"{record.name} has revision {to} already")
            return record.aiming_at(to, self._book.now(), RolloutState.PROGRESSING)

        return await self._changed(ref, namespace, change)

    async def restart(self, ref: str, namespace: str | None, cause: str) -> ServiceStatus:
        """Replace all replicas with new ones of the same definition."""

        def change(record: ServiceRecord) -> ServiceRecord:
            return _next_revision(record, record.spec, cause, self._book.now())

        return await self._changed(ref, namespace, change)

    async def remove(self, ref: str, namespace: str | None) -> ServiceStatus:
        """Its replicas are stopped, and then it is gone."""
        return await self._changed(ref, namespace, lambda record: replace(record, removed=True))

    async def _changed(
        self, ref: str, namespace: str | None, change: Callable[[ServiceRecord], ServiceRecord]
    ) -> ServiceStatus:
        key = (await self._find(ref, namespace)).key

        def checked(record: ServiceRecord | None) -> ServiceRecord:
            if record is None or record.removed:
                raise Conflict(f"service {shown(key[1])} is being removed")
            return change(record)

        after = await on_store_thread(self._book.change, key, checked)
        assert after is not None
        return self._status(after)


def _planned(record: ServiceRecord | None, spec: Service) -> Applied:
    before = None if record is None else record.spec.model_copy(update={"replicas": record.replicas})
    outcome, changes = outcome_of(before, spec if record is None else _scaled(record, spec))
    replaces = outcome is ApplyOutcome.REPLACED
    number = 1 if record is None else record.newest + 1 if replaces else record.target
    return Applied(spec, outcome, number, changes, record.replicas if replaces and record is not None else 0)


def _scaled(record: ServiceRecord, spec: Service) -> Service:
    """A definition that does not say how many replicas leaves that as it is; one that scales itself, too."""
    if spec.autoscale is not None:
        bounds = spec.autoscale
        return spec.model_copy(update={"replicas": max(bounds.min, min(bounds.max, record.replicas))})
    if "replicas" not in spec.model_fields_set:
        return spec.model_copy(update={"replicas": record.replicas})
    return spec


def _with_definition(
    record: ServiceRecord | None, spec: Service, done: Applied, cause: str, now: float, number: int
) -> ServiceRecord:
    """`number`: that of the first revision of a new service."""
    if record is None:
        first = Revision(number, spec, time.time(), cause)
        start = (
            spec.replicas if spec.autoscale is None else max(spec.autoscale.min, min(spec.autoscale.max, spec.replicas))
        )
        return ServiceRecord(spec.namespace, spec.name, (first,), target=number, replicas=start, progress_at=now)
    scaled = _scaled(record, spec)
    record = replace(record, replicas=scaled.replicas)
    if done.outcome is ApplyOutcome.REPLACED:
        return _next_revision(record, scaled, cause, now)
    if done.outcome is ApplyOutcome.CHANGED:
        revisions = [replace(one, spec=scaled) if one.number == record.target else one for one in record.revisions]
        return replace(record, revisions=tuple(revisions), progress_at=now)
    return record


def _next_revision(record: ServiceRecord, spec: Service, cause: str, now: float) -> ServiceRecord:
    made = Revision(record.newest + 1, spec, time.time(), cause)
    kept = sorted([*record.revisions, made], key=lambda one: one.number)
    needed = {made.number, record.target, record.stable, record.active}
    while len(kept) > KEPT_REVISIONS:
        kept.remove(next(one for one in kept if one.number not in needed))
    grown = replace(record, revisions=tuple(kept))
    return grown.aiming_at(made.number, now, RolloutState.PROGRESSING)


def _any_ports(spec: Service) -> dict[str, int]:
    return {port.name: port.port or FIRST_PORT for port in spec.ports}
