"""The services that there are, for every thread of the server: records that are durable before anyone sees them, and
what the controller saw of their replicas last.

Guarantees: `change` is one transaction, and changes of one process come one after another. Readers get values that
nobody changes under them. Every change of a record wakes the controller.
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dovetail.control.service_controller import tables
from dovetail.services.records import ServiceRecord
from dovetail.store.subsystem_tables import SubsystemTables

Key = tuple[str, str]


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


class ServiceBook:
    def __init__(self, database: SubsystemTables | None) -> None:
        assert database is not None
        self._database = database
        self._lock = threading.RLock()
        self._records: dict[Key, ServiceRecord] | None = None
        self._replicas: dict[Key, tuple[ReplicaView, ...]] = {}
        self._changed: Callable[[], None] = lambda: None
        self._shown: Callable[[Mapping[Key, tuple[ReplicaView, ...]]], None] = lambda _: None

    # --- records -----------------------------------------------------------------------------------------------

    def records(self) -> dict[Key, ServiceRecord]:
        """All services, by namespace and name. Raises StoreError."""
        with self._lock:
            return dict(self._loaded())

    def get(self, key: Key) -> ServiceRecord | None:
        with self._lock:
            return self._loaded().get(key)

    def change(self, key: Key, change: Callable[[ServiceRecord | None], ServiceRecord | None]) -> ServiceRecord | None:
        """Make a record of the one that there is; None removes it. What `change` raises changes nothing."""
        with self._lock:
            known = self._loaded()
            before = known.get(key)
            after = change(before)
            if after == before:
                return after
            with self._database.writing() as connection:
                if after is not None:
                    tables.save(connection, after, before)
                elif before is not None:
                    tables.remove(connection, before)
            if after is None:
                del known[key]
                self._replicas.pop(key, None)
            else:
                known[key] = after
        self._changed()
        return after

    def _loaded(self) -> dict[Key, ServiceRecord]:
        if self._records is None:
            self._database.open()
            with self._database.reading() as connection:
                self._records = {record.key: record for record in tables.load(connection)}
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

    def all_replicas(self) -> dict[Key, tuple[ReplicaView, ...]]:
        with self._lock:
            return dict(self._replicas)
