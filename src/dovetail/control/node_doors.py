"""The doors of nodes: registering, labelling, cordoning, draining, failing and removing them; and hearing from those
that report by themselves.

Guarantees: what changes something returns when that is durable; what is said of a node that nobody knows is NotFound.
Left to others: what backends say of their nodes (`announcements`, `node_owners`).
"""

import time
from collections.abc import Awaitable, Callable, Iterable

from dovetail.backends.registered.backend import HeartbeatReply, NotStarted, RegisteredBackend, TaskReport
from dovetail.control.errors import Conflict, NotFound, Unavailable
from dovetail.control.heartbeats import Heartbeats
from dovetail.control.settings import REGISTERED
from dovetail.engine.events.node_loss import rows_in
from dovetail.engine.state.engine_state import EngineState
from dovetail.model.event import (
    DomainFailed,
    Event,
    NodeCordoned,
    NodeDrained,
    NodeHealthChanged,
    NodeJoined,
    NodeLeft,
    NodeObserved,
)
from dovetail.model.node import Node
from dovetail.model.resources import Amounts
from dovetail.model.workloads.selection import Taint


class NodeDoors:
    """`told` returns when events are durable; `tell` does not wait for that."""

    def __init__(
        self,
        state: EngineState,
        registered: RegisteredBackend,
        heartbeat_timeout_s: float,
        told: Callable[[list[Event]], Awaitable[None]],
        tell: Callable[[list[Event]], None],
    ) -> None:
        self._state, self._registered = state, registered
        self._told, self._tell = told, tell
        self._heartbeats = Heartbeats(heartbeat_timeout_s)

    # --- changing ----------------------------------------------------------------------------------------------

    async def register(self, node: Node) -> None:
        existing = self._backend_of(node.name)
        if existing not in (None, REGISTERED):
            raise Conflict(f"node {node.name!r} belongs to backend {existing!r}; choose another name")
        self._heartbeats.heard(node.name, time.time())
        await self._told([NodeJoined(node.model_copy(update={"backend": REGISTERED}))])

    async def remove(self, name: str, reason: str) -> None:
        self.must_exist(name)
        self._heartbeats.forget(name)
        await self._told([NodeLeft(name, reason)])

    async def patch(self, name: str, labels: dict[str, str | None], taints: list[Taint] | None) -> None:
        """Labels set to None are removed; taints, if given, replace all."""
        self.must_exist(name)
        cluster = self._state.cluster
        node = cluster.node(name)
        merged = {key: value for key, value in ({**node.labels, **labels}).items() if value is not None}
        changed = node.model_copy(update={"labels": merged, "taints": node.taints if taints is None else taints})
        events: list[Event] = [NodeJoined(changed)]
        if not self._online(name):
            events.append(NodeHealthChanged(name, False, cluster.reason(name)))
        await self._told(events)

    async def cordon(self, name: str, on: bool, reason: str) -> None:
        self.must_exist(name)
        await self._told([NodeCordoned(name, on, reason)])

    async def drain(self, name: str, reason: str) -> None:
        self.must_exist(name)
        await self._told([NodeDrained(name, reason)])

    async def fail(self, level: str, name: str, reason: str) -> list[str]:
        """A node or a whole domain failed, as an operator says. The nodes that were lost."""
        lost = [self._state.cluster.names[row] for row in rows_in(self._state, level, name)]
        if not lost:
            raise NotFound(f"no node is in {level} {name[:100]!r}; dovetail topology shows levels and domains")
        await self._told([DomainFailed(level, name, reason)])
        return lost

    # --- hearing from them -------------------------------------------------------------------------------------

    def expect(self, names: Iterable[str]) -> None:
        """After a restart: known nodes get one full timeout to speak."""
        self._heartbeats.expect(names, time.time())

    async def heartbeat(self, name: str, used: Amounts | None, reports: list[TaskReport]) -> HeartbeatReply:
        """A registered node speaks: it is online, says what became of its tasks, and learns what to run."""
        if self._backend_of(name) != REGISTERED:
            raise NotFound(f"node {name!r} is not registered here; register it with POST /api/v1/nodes")
        self._heartbeats.heard(name, time.time())
        events: list[Event] = []
        if not self._online(name):
            events.append(NodeHealthChanged(name, True, ""))
        if used is not None:
            events.append(NodeObserved(name, used))
        if events:
            self._tell(events)
        try:
            return await self._registered.heartbeat(name, reports)
        except NotStarted as error:
            raise Unavailable(str(error)) from None

    def notice_silence(self, now: float) -> None:
        """Those that have not spoken for too long are offline."""
        known = self._state.cluster.rows
        silent = [event for event in self._heartbeats.silent(now) if event.name in known and self._online(event.name)]
        if silent:
            self._tell(list(silent))

    # --- inside ------------------------------------------------------------------------------------------------

    def must_exist(self, name: str) -> None:
        if name not in self._state.cluster.rows:
            raise NotFound(f"no node {name[:100]!r}")

    def _online(self, name: str) -> bool:
        cluster = self._state.cluster
        return bool(cluster.online[cluster.rows[name]])

    def _backend_of(self, name: str) -> str | None:
        cluster = self._state.cluster
        row = cluster.rows.get(name)
        return None if row is None else cluster.backend_names[cluster.backends[row]]
