"""The services that there are, for every thread of the server: records that are durable before anyone sees them, and
what the controller saw of their replicas last.

Guarantees: `change` is one transaction, and changes of one process come one after another. Readers get values that
nobody changes under them. Every change of a record wakes the controller.
"""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import structlog
from sqlalchemy import Connection

from dovetail.control.service_controller import tables
from dovetail.control.service_controller.tables import UnreadableService
from dovetail.services.records import RolloutState, ServiceRecord
from dovetail.store.subsystem_tables import SubsystemTables

Key = tuple[str, str]

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class ReplicaView:
    """A replica as people see it. `state`: of its task, or `crash_loop`, `unready`, `draining`. `restarts`: attempts
    before the present one."""

    index: int
    revision: int
    workload: int
    workload_name: str
    state: str
    ready: bool
    message: str
    restarts: int
    node: str | None
    address: str | None
    ports: dict[str, int]
    started_at: float | None
    key: str


Change = Callable[[ServiceRecord | None], ServiceRecord | None]


def _write(connection: Connection, before: ServiceRecord | None, after: ServiceRecord | None) -> None:
    if after is not None:
        tables.save(connection, after, before)
    elif before is not None:
        tables.remove(connection, before)


class ServiceBook:
    def __init__(self, database: SubsystemTables | None) -> None:
        assert database is not None
        self._database = database
        self._lock = threading.RLock()
        self._records: dict[Key, ServiceRecord] | None = None
        self._unreadable: dict[Key, UnreadableService] = {}
        self._anchor_s = time.time() - time.monotonic()
        self._replicas: dict[Key, tuple[ReplicaView, ...]] = {}
        self._trouble: dict[Key, str] = {}
        self._changed: Callable[[], None] = lambda: None
        self._shown: Callable[[Mapping[Key, tuple[ReplicaView, ...]]], None] = lambda _: None

    def now(self) -> float:
        """The time that decisions go by. It goes on evenly when somebody sets the clock of the machine."""
        return self._anchor_s + time.monotonic()

    # --- records -----------------------------------------------------------------------------------------------

    def records(self) -> dict[Key, ServiceRecord]:
        """All services, by namespace and name. Raises StoreError."""
        with self._lock:
            return dict(self._loaded())

    def get(self, key: Key) -> ServiceRecord | None:
        with self._lock:
            return self._loaded().get(key)

    def unreadable(self, key: Key) -> UnreadableService | None:
        """What is known about a service whose definition this version refuses: its replicas are left alone."""
        with self._lock:
            self._loaded()
            return self._unreadable.get(key)

    def change(self, key: Key, change: Change) -> ServiceRecord | None:
        """Make a record of the one that there is; None removes it. What `change` raises changes nothing."""
        return self.change_all({key: change})[key]

    def change_all(self, changes: Mapping[Key, Change]) -> dict[Key, ServiceRecord | None]:
        """The same for several, in one transaction: the controller sees all of them or none."""
        with self._lock:
            known = self._loaded()
            before = {key: known.get(key) for key in changes}
            after = {key: change(before[key]) for key, change in changes.items()}
            changed = [key for key in changes if after[key] != before[key]]
            if changed:
                with self._database.writing() as connection:
                    for key in changed:
                        _write(connection, before[key], after[key])
            for key in changed:
                if (record := after[key]) is None:
                    del known[key]
                    self._replicas.pop(key, None)
                    self._trouble.pop(key, None)
                else:
                    known[key] = record
                    self._unreadable.pop(key, None)
        if changed:
            self._changed()
        return after

    def _loaded(self) -> dict[Key, ServiceRecord]:
        if self._records is None:
            self._database.open()
            with self._database.reading() as connection:
                stored = tables.load(connection)
            self._unreadable = stored.unreadable
            self._records = {record.key: record for record in stored.records}
            for (namespace, name), one in stored.unreadable.items():
                words = "a service is left as it is, because this version refuses its definition; apply it again"
                log.error(words, service=name, namespace=namespace, problem=one.problem)
        return self._records

    # --- what the controller saw -------------------------------------------------------------------------------

    def on_change(self, call: Callable[[], None]) -> None:
        """`call` may come from any thread."""
        self._changed = call

    def on_show(self, call: Callable[[Mapping[Key, tuple[ReplicaView, ...]]], None]) -> None:
        """`call` comes from the thread of the controller, each time it has looked at all replicas and knows the health
        of those that it found when it started."""
        self._shown = call

    def show(self, replicas: Mapping[Key, tuple[ReplicaView, ...]], *, settled: bool = True) -> None:
        """`settled` False: the health of replicas that ran before this controller began is not known yet."""
        with self._lock:
            self._replicas = dict(replicas)
        if settled:
            self._shown(replicas)

    def replicas(self, key: Key) -> tuple[ReplicaView, ...]:
        with self._lock:
            return self._replicas.get(key, ())

    def unsettled(self) -> set[Key]:
        """Services that are being updated, or have fewer ready replicas than they should."""
        with self._lock:
            records = self._loaded()
            ready = {key: sum(one.ready for one in self._replicas.get(key, ())) for key in records}
        return {
            key
            for key, record in records.items()
            if record.rollout is RolloutState.PROGRESSING or ready[key] < record.replicas
        }

    def say(self, key: Key, trouble: str) -> None:
        """Why a service cannot scale itself now; empty if it can."""
        with self._lock:
            self._trouble[key] = trouble

    def trouble(self, key: Key) -> str:
        with self._lock:
            return self._trouble.get(key, "")
