"""The agents of nodes: which of them are heard, and what they are asked and told.

An agent waits for the next version of what there is for its node: orders, questions (`calls`) and commands to run
(`sessions`). Whoever changes something for a node rings.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from dovetail.backends.contract import Refusal
from dovetail.backends.registered.calls import AgentCalls, CallKind
from dovetail.backends.registered.sessions import AgentSessions

FORGOTTEN_AFTER_S = 60.0  # an agent that has not asked for its orders for so long is not asked either


@dataclass(slots=True)
class _Changes:
    """Changes of the orders of a node, for its agent to wait for."""

    version: int
    changed: asyncio.Event = field(default_factory=asyncio.Event)


class NodeAgents:
    def __init__(self, monotonic_s: Callable[[], float]) -> None:
        self.calls, self.sessions = AgentCalls(self.ring), AgentSessions()
        self._monotonic_s = monotonic_s
        self._changes: dict[str, _Changes] = {}
        self._seen_at: dict[str, float] = {}  # when an agent was last heard of that answers questions
        self._first_version = 0

    def start(self) -> None:
        self._first_version = time.time_ns() // 1000  # after a restart no agent waits for a change that was before

    def heard(self, node: str) -> None:
        """By an agent that answers questions."""
        self._seen_at[node] = self._monotonic_s()

    def has(self, node: str) -> bool:
        """Whether an agent that answers questions was heard of lately."""
        seen_at = self._seen_at.get(node)
        return seen_at is not None and self._monotonic_s() - seen_at <= FORGOTTEN_AFTER_S

    def forget(self, node: str) -> None:
        """It was removed, and nobody waits for its orders any more."""
        self._changes.pop(node, None)
        self._seen_at.pop(node, None)

    # --- changes -----------------------------------------------------------------------------------------------

    def ring(self, node: str) -> None:
        """Something changed for the node: its agent, if it waits, is answered."""
        changes = self._changes_of(node)
        changes.version += 1
        changes.changed.set()
        changes.changed = asyncio.Event()

    def version(self, node: str) -> int:
        return self._changes_of(node).version

    async def wait(self, node: str, after: int, wait_s: float) -> None:
        """Until something has changed for the node since this version, or the time is over."""
        changes = self._changes_of(node)
        self.heard(node)
        if changes.version == after:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await changes.changed.wait()
        self.heard(node)

    def _changes_of(self, node: str) -> _Changes:
        found = self._changes.get(node)
        if found is None:
            found = self._changes[node] = _Changes(self._first_version)
        return found

    # --- questions ---------------------------------------------------------------------------------------------

    async def ask(self, node: str, kind: CallKind, key: str, within_s: float, **asked: Any) -> dict[str, Any]:
        """Raises KeyError for an attempt that it does not know, AgentSilent, and Refusal, also without an agent."""
        if not self.has(node):
            raise Refusal(f"node {node} has no agent that could be asked; go there")
        found = await self.calls.ask(node, kind, key, within_s, **asked)
        if found["refused"]:
            raise Refusal(found["refused"])
        return found
