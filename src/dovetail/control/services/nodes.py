"""Nodes for the API: register, label, cordon, drain, fail and remove them; take heartbeats of registered ones.

Guarantees: a change is durable when its method returns; an unknown node is NotFound. Left to others: what backends
announce about their nodes (`backends.announcements`).
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from dovetail.backends.peer_migration import PeerMove
from dovetail.backends.registered.backend import RegisteredBackend
from dovetail.backends.registered.protocol import HeartbeatReply, NotStarted, TaskReport
from dovetail.backends.registered.sessions import AgentSession
from dovetail.control.errors import Conflict, NotFound, Unavailable
from dovetail.control.loop.inbox import Apply, Put
from dovetail.control.settings import REGISTERED
from dovetail.engine.questions.node_questions import NodeQuestions
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
from dovetail.model.task_flows import TaskFlows
from dovetail.model.text.listing import first_of
from dovetail.model.text.strict import closest
from dovetail.model.workloads.affinity import HOST
from dovetail.model.workloads.selection import Taint

OBSERVED_EVERY_S = 0.2  # how long measured use waits for that of other nodes
MOST_TO_COMPARE = 10_000  # names that are searched for one that was meant


def unknown_nodes(nodes: NodeQuestions, names: list[str]) -> NotFound:
    meant = closest(names[0], sorted(nodes.names)) if len(nodes) < MOST_TO_COMPARE else ""
    listed = first_of(names, words=lambda name: repr(name[:100]))
    return NotFound(f"no node {listed}.{meant} dovetail nodes lists them")


class NodeService:
    """`agents_of`: a backend whose nodes run agents, by its name. `take_flows`: is told what a node has counted of the
    traffic of its tasks."""

    def __init__(
        self,
        nodes: NodeQuestions,
        agents_of: Callable[[str], RegisteredBackend | None],
        heartbeat_timeout_s: float,
        apply: Apply,
        put: Put,
        take_flows: Callable[[Mapping[str, TaskFlows]], None],
    ) -> None:
        self._take_flows = take_flows
        self._nodes, self._agents_of = nodes, agents_of
        self._apply, self._put = apply, put
        self._timeout_s = heartbeat_timeout_s
        self._observed: dict[str, NodeObserved] = {}  # not told to the loop yet
        self._last_heartbeats: dict[str, float] = {}  # of registered nodes, by the monotonic clock

    def must_exist(self, name: str) -> None:
        if name not in self._nodes:
            raise unknown_nodes(self._nodes, [name])

    # --- changing ----------------------------------------------------------------------------------------------

    async def register(self, node: Node) -> None:
        existing = self._nodes.backend_of(node.name)
        if existing is not None and self._agents_of(existing) is None:
            raise Conflict(f"node {node.name!r} belongs to backend {existing!r}; choose another name")
        self._last_heartbeats[node.name] = time.monotonic()
        known = None if existing is None else self._nodes.definition(node.name)
        # A person who describes it knows no inventory.
        found = node.inventory or (None if known is None else known.inventory)
        if known is not None and existing != REGISTERED:  # what the machine is, its backend knows
            described = known.model_copy(update={"inventory": found, "address": known.address or node.address})
        else:
            described = node.model_copy(update={"backend": REGISTERED, "inventory": found})
        await self._apply([NodeJoined(described)])

    def is_launched(self, name: str) -> bool:
        """Whether the node is a machine that its backend launches, and whose agent then joins."""
        backend = self._nodes.backend_of(name)
        return backend not in (None, REGISTERED) and self._agents_of(backend) is not None

    def expect_no_more(self, name: str) -> None:
        """The machine has ended: its agent is not missed."""
        self._last_heartbeats.pop(name, None)

    async def remove(self, name: str, reason: str) -> None:
        self.must_exist(name)
        self._last_heartbeats.pop(name, None)
        agents = self._agents_of(self._nodes.backend_of(name) or "")
        await self._apply([NodeLeft(name, reason)])
        if agents is not None:
            agents.forget(name)

    async def patch(self, name: str, labels: dict[str, str | None], taints: list[Taint] | None) -> None:
        """Labels set to None are removed; taints, if given, replace all."""
        self.must_exist(name)
        node = self._nodes.definition(name)
        merged = {key: value for key, value in ({**node.labels, **labels}).items() if value is not None}
        changed = node.model_copy(update={"labels": merged, "taints": node.taints if taints is None else taints})
        events: list[Event] = [NodeJoined(changed)]
        if not self._nodes.is_online(name):
            events.append(NodeHealthChanged(name, False, self._nodes.reason(name)))
        await self._apply(events)

    async def cordon(self, name: str, reason: str) -> None:
        self.must_exist(name)
        await self._apply([NodeCordoned(name, True, reason)])

    async def uncordon(self, name: str, reason: str) -> None:
        self.must_exist(name)
        await self._apply([NodeCordoned(name, False, reason)])

    async def drain(self, name: str, reason: str) -> None:
        self.must_exist(name)
        await self._apply([NodeDrained(name, reason)])

    async def fail(self, level: str, name: str, reason: str) -> list[str]:
        """An operator reports that a node or a whole domain failed. Returns the nodes that were lost."""
        lost = self._nodes.in_domain(level, name)
        if not lost and level == HOST:
            self.must_exist(name)
        if not lost:
            known = self._nodes.domain_names(level)
            meant = closest(name, known) if len(known) < MOST_TO_COMPARE else ""
            raise NotFound(f"no node is in {level} {name[:100]!r}.{meant} dovetail topology shows levels and domains")
        await self._apply([DomainFailed(level, name, reason)])
        return lost

    # --- heartbeats --------------------------------------------------------------------------------------------

    def expect(self, names: Iterable[str]) -> None:
        """After a restart: known nodes get one full timeout for their first heartbeat."""
        now = time.monotonic()
        for name in names:
            self._last_heartbeats.setdefault(name, now)

    async def heartbeat(
        self,
        name: str,
        used: Amounts | None,
        reports: list[TaskReport],
        *,
        answers: bool = False,
        moves: Sequence[PeerMove] = (),
    ) -> HeartbeatReply:
        """A registered node reports: it is online, what became of its tasks. The reply says what it should run."""
        agents = self._agents(name)
        self._last_heartbeats[name] = time.monotonic()
        if not self._nodes.is_online(name) and not agents.keeps_offline(name):
            self._put([NodeHealthChanged(name, True, "")])
        if used is not None:
            self._observe(NodeObserved(name, used))
        if flows := {report.key: report.flows for report in reports if report.flows is not None}:
            self._take_flows(flows)
        try:
            return await agents.heartbeat(name, reports, answers=answers, moves=moves)
        except NotStarted as error:
            raise Unavailable(str(error)) from None

    def _observe(self, seen: NodeObserved) -> None:
        """Nobody waits for it: many come to the loop in one go."""
        if not self._observed:
            asyncio.get_running_loop().call_later(OBSERVED_EVERY_S, self._put_observed)
        self._observed[seen.name] = seen

    def _put_observed(self) -> None:
        seen, self._observed = self._observed, {}
        self._put([one for name, one in seen.items() if name in self._nodes])

    async def orders(self, name: str, after: int, wait_s: float) -> HeartbeatReply:
        """What the agent of a registered node has to do, as soon as that has changed."""
        agents = self._agents(name)
        self._last_heartbeats[name] = time.monotonic()
        try:
            return await agents.orders(name, after, wait_s)
        except NotStarted as error:
            raise Unavailable(str(error)) from None

    def answer(self, name: str, call: str, answer: dict[str, Any] | None) -> None:
        """To a question that came with the orders. Nothing happens if nobody waits for it any more."""
        self._agents(name).agents.calls.answer(name, call, answer)

    def session(self, name: str, session: str) -> AgentSession:
        """Of a command or an attached task there. Raises UnknownSession."""
        return self._agents(name).agents.sessions.find(name, session)

    def _agents(self, name: str) -> RegisteredBackend:
        """The backend of a node that has an agent. Raises NotFound."""
        found = self._agents_of(self._nodes.backend_of(name) or "")
        if found is None:
            raise NotFound(f"node {name!r} is not registered here; register it with POST /api/v1/nodes")
        return found

    def silent_and_all(self) -> tuple[int, int]:
        """Of the nodes with agents: how many have been silent for too long, and how many there are."""
        now = time.monotonic()
        ages = [now - last for name, last in self._last_heartbeats.items() if name in self._nodes]
        return sum(age > self._timeout_s for age in ages), len(ages)

    def notice_silence(self) -> None:
        """Mark nodes offline whose last heartbeat is too old. A jump of the clock is no silence."""
        now = time.monotonic()
        silent: list[Event] = [
            NodeHealthChanged(name, False, f"silent for {now - last:.0f} s")
            for name, last in self._last_heartbeats.items()
            if now - last > self._timeout_s and name in self._nodes and self._nodes.is_online(name)
        ]
        if silent:
            self._put(silent)
