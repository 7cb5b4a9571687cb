"""Questions to the agent of a node. It fetches them with its orders, and answers each with a request of its own.

Agents connect to the control plane, never the other way round: a node may be behind a firewall or an address
translation. A call that is not answered in time is given up; the asker may ask again.
"""

import asyncio
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

CallKind = Literal[
    "logs",
    "log_tail",
    "log_since",
    "execute",
    "attach",
    "vms",
    "vm_power",
    "vm_snapshots",
    "vm_snapshot",
    "vm_revert",
    "vm_remove_snapshot",
    "vm_offer",
    "vm_leaving",
    "vm_peer",
    "vm_expect",
    "vm_send",
    "vm_presence",
    "vm_settle",
]
ANSWER_WITHIN_S = 10.0


class AgentSilent(Exception):
    """The agent of the node did not answer."""


@dataclass(frozen=True, slots=True)
class NodeCall:
    """`asked`: what the question needs besides the attempt."""

    id: str
    kind: CallKind
    key: str
    asked: dict[str, Any]


@dataclass(slots=True)
class _Waiting:
    call: NodeCall
    answer: "asyncio.Future[dict[str, Any] | None] | None"  # None: nobody waits for one
    told_with: int | None = None  # the number of the orders that it was sent with


@dataclass(slots=True)
class AgentCalls:
    """`ring`: the node has something to fetch."""

    ring: Callable[[str], None]
    _waiting: dict[str, dict[str, _Waiting]] = field(default_factory=dict)

    async def ask(
        self, node: str, kind: CallKind, key: str, within_s: float = ANSWER_WITHIN_S, **asked: Any
    ) -> dict[str, Any]:
        """The agent's answer. Raises KeyError if it does not know the attempt, AgentSilent if it does not answer."""
        call = NodeCall(secrets.token_hex(8), kind, key, asked)
        answer: asyncio.Future[dict[str, Any] | None] = asyncio.get_running_loop().create_future()
        waiting = _Waiting(call, answer)
        self._waiting.setdefault(node, {})[call.id] = waiting
        self.ring(node)
        try:
            async with asyncio.timeout(within_s):
                found = await answer
        except TimeoutError:
            words = f"the agent of node {node} did not answer within {within_s:g} s"
            raise AgentSilent(f"{words}; what it keeps is there when it is back") from None
        finally:
            self._forget(node, call.id)
        if found is None:
            raise KeyError(key)
        return found

    def tell(self, node: str, kind: CallKind, key: str, **asked: Any) -> None:
        """Something that is not answered: the agent begins a session."""
        waiting = _Waiting(NodeCall(secrets.token_hex(8), kind, key, asked), None)
        self._waiting.setdefault(node, {})[waiting.call.id] = waiting
        self.ring(node)

    def take(self, node: str, after: int = 0, version: int = 0) -> list[NodeCall]:
        """Those that the agent was not told yet. `after`: the orders that it has; what was sent with later ones was
        lost on the way, or with an agent that was killed. `version`: of the orders that it gets now."""
        waiting = self._waiting.get(node, {}).values()
        found = [one for one in waiting if one.told_with is None or one.told_with > after]
        for one in found:
            one.told_with = version
            if one.answer is None:
                self._forget(node, one.call.id)
        return [one.call for one in found]

    def answer(self, node: str, call: str, answer: dict[str, Any] | None) -> bool:
        """`answer` None: the agent does not know the attempt. False if nobody waits for it any more."""
        waiting = self._waiting.get(node, {}).get(call)
        if waiting is None or waiting.answer is None or waiting.answer.done():
            return False
        waiting.answer.set_result(answer)
        return True

    def _forget(self, node: str, call: str) -> None:
        calls = self._waiting.get(node, {})
        calls.pop(call, None)
        if not calls:
            self._waiting.pop(node, None)
