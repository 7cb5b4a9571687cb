"""Discovery for the API: the endpoints of all services, with versions, and what changed since one.

An endpoint is a ready replica of the revision that gets traffic, on a node that answers and has an address. It comes
with what the controller of services shows, and goes as soon as the step is durable in which its task stopped running or
its node fell silent: nobody waits for the controller's next look.

Guarantees: after a start nothing is said before the health of what ran before is known again, so a restart of the
server empties no one's list. Attempts that ended never come back. Methods of the API run on the event loop of the
server; `show` may come from any thread.
"""

import asyncio
import threading
import time
from collections.abc import Iterable, Mapping
from typing import Any

from dovetail.control.errors import Unavailable
from dovetail.control.service_controller.book import Key, ReplicaView, ServiceBook
from dovetail.discovery.change_table import ChangeTable, TableChanges
from dovetail.discovery.endpoint import DiscoveredService, Endpoint, ServiceKey
from dovetail.engine.questions.network_questions import NetworkQuestions
from dovetail.model.batch import Changes
from dovetail.model.command import attempt_key
from dovetail.model.record import NodeRecord, TaskRecord
from dovetail.model.task import TaskState
from dovetail.services.records import ServiceRecord

#: A service by its key, an endpoint by the id of its workload, the address of a node by its name.
TableKey = tuple[str, Any]
SERVICE, ENDPOINT, NODE = "service", "endpoint", "node"

_STARTING = (TaskState.PLACED, TaskState.BOUND)


class DiscoveryService:
    def __init__(self, book: ServiceBook, network: NetworkQuestions) -> None:
        self._book, self._network = book, network
        self._lock = threading.Lock()
        self._table: ChangeTable[TableKey, Any] = ChangeTable(time.time_ns() // 1000)  # above those of earlier lives
        self._services: dict[Key, DiscoveredService] = {}
        self._endpoints: dict[int, Endpoint] = {}
        self._keys: dict[int, str] = {}  # of the attempt behind each endpoint
        self._ended: set[str] = set()  # attempts that ended, until the controller has seen it too
        self._online: set[str] = set()
        self._settled = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._changed = asyncio.Event()

    def start(self, nodes: Iterable[NodeRecord]) -> None:
        """On the event loop of the server, before its subsystems start."""
        self._loop = asyncio.get_running_loop()
        with self._lock:
            for record in nodes:
                self._take_node(record)
        self._book.on_show(self.show)

    # --- taking in ---------------------------------------------------------------------------------------------------

    def show(self, replicas: Mapping[Key, tuple[ReplicaView, ...]]) -> None:
        """What the controller sees now, of all services."""
        records = self._book.records()
        with self._lock:
            version = self._table.version
            self._settled = True
            self._show_services({key: _service(record) for key, record in records.items()})
            ready = {
                one.workload: (key, one)
                for key, views in replicas.items()
                if key in records
                for one in views
                if self._is_served(records[key], one)
            }
            self._ended &= {one.key for views in replicas.values() for one in views}
            for workload in self._endpoints.keys() - ready.keys():
                self._drop(workload)
            for workload, (key, view) in ready.items():
                self._put(workload, key, view)
            changed = self._table.version != version
        self._notify(always=changed)

    def _show_services(self, found: dict[Key, DiscoveredService]) -> None:
        for key in self._services.keys() - found.keys():
            self._table.drop((SERVICE, key))
        for key, service in found.items():
            self._table.put((SERVICE, key), service)
        self._services = found

    def _is_served(self, record: ServiceRecord, view: ReplicaView) -> bool:
        in_use = record.active in (0, view.revision)
        there = view.address is not None and view.node in self._online
        return view.ready and in_use and there and view.key not in self._ended

    def _put(self, workload: int, key: Key, view: ReplicaView) -> None:
        assert view.node is not None
        assert view.address is not None
        namespace, name = key
        node, address = view.node, view.address
        endpoint = Endpoint(namespace, name, view.index, view.revision, workload, node, address, view.ports)
        self._endpoints[workload], self._keys[workload] = endpoint, view.key
        self._table.put((ENDPOINT, workload), endpoint)

    def _drop(self, workload: int) -> None:
        del self._endpoints[workload], self._keys[workload]
        self._table.drop((ENDPOINT, workload))

    def take(self, changes: Changes) -> None:
        """A step became durable."""
        with self._lock:
            version = self._table.version
            for task in changes.tasks if self._services else ():
                self._take_task(task)
            for record in changes.nodes:
                self._take_node(record)
            for name in changes.nodes_gone:
                self._table.drop((NODE, name))
                self._leave(name)
            changed = self._table.version != version
        if changed:
            self._notify()

    def _take_task(self, record: TaskRecord) -> None:
        """Attempts are noted although they are no endpoints: the controller may have seen them run before they ended,
        and show that later."""
        key, workload = attempt_key(record.task, record.attempt), record.task.workload
        if record.state is TaskState.RUNNING:
            self._ended.discard(key)  # it may have been moved while it ran
        elif record.state in _STARTING:
            self._ended.add(attempt_key(record.task, record.attempt - 1))
        else:
            self._ended.add(key)
        if workload in self._endpoints and (record.state is not TaskState.RUNNING or self._keys[workload] != key):
            self._ended.add(self._keys[workload])
            self._drop(workload)

    def _take_node(self, record: NodeRecord) -> None:
        name, address = record.node.name, record.node.address
        if address is None:
            self._table.drop((NODE, name))
        else:
            self._table.put((NODE, name), address)
        if record.online:
            self._online.add(name)
        elif name in self._online:
            self._leave(name)

    def _leave(self, node: str) -> None:
        """Its endpoints may come back with it."""
        self._online.discard(node)
        for workload in [id_ for id_, one in self._endpoints.items() if one.node == node]:
            self._drop(workload)

    def _notify(self, *, always: bool = True) -> None:
        if always and self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    # --- telling -----------------------------------------------------------------------------------------------------

    async def changes(self, after: int, wait_s: float) -> TableChanges[TableKey, Any]:
        """What changed after a version, as soon as something has, or nothing when the time is over. Raises Unavailable
        while the health of the replicas is not known yet."""
        ends_at = time.monotonic() + wait_s
        while True:
            changed = self._changed
            if self._settled:
                with self._lock:
                    found = self._table.after(after)
                if found.full or found.version != after:
                    return found
            try:
                async with asyncio.timeout(ends_at - time.monotonic()):
                    await changed.wait()
            except TimeoutError:
                self._check_settled()
                with self._lock:
                    return self._table.after(after)

    def endpoints(self, key: ServiceKey | None = None) -> tuple[int, list[Endpoint]]:
        """The version, and the endpoints of one service or of all, by service and replica. Raises Unavailable."""
        self._check_settled()
        with self._lock:
            found = [one for one in self._endpoints.values() if key in (None, one.key)]
            version = self._table.version
        return version, sorted(found, key=lambda one: (one.key, one.index, one.revision))

    def services(self) -> dict[Key, DiscoveredService]:
        with self._lock:
            return self._services

    def _check_settled(self) -> None:
        if not self._settled:
            raise Unavailable("the health of the replicas that run is not known yet; ask again in a few seconds")

    def distances(self, node: str, *, to_endpoints: bool = False) -> dict[str, float]:
        """From a node to every other, or to those with endpoints only. Raises KeyError for an unknown node."""
        with self._lock:
            to = {one.node for one in self._endpoints.values()} if to_endpoints else None
        return self._network.distances_from(node, to)


def _service(record: ServiceRecord) -> DiscoveredService:
    spec = record.spec
    replicas = 0 if record.removed else record.replicas
    protocols = {port.name: port.protocol for port in spec.ports}
    return DiscoveredService(record.namespace, record.name, replicas, protocols, dict(spec.labels))
