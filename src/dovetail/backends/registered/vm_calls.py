"""VMs of nodes with agents: the agent of the node is asked, and asks its hypervisor.

An agent speaks for its own node alone: a VM that it shows as an attempt of another node is nobody's here.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

from dovetail.backends.contract import Refusal
from dovetail.backends.registered.agents import NodeAgents
from dovetail.backends.registered.calls import AgentSilent, CallKind
from dovetail.backends.registered.order_book import OrderBook
from dovetail.backends.registered.vm_moves import VmMoves
from dovetail.backends.vm_control import MachinePower, MachineSeen, MachineSnapshot, MigrationProgress

#: A snapshot writes the memory of the VM to disk.
CHANGED_WITHIN_S = 110.0
LISTED_WITHIN_S = 5.0


class VmsOfAgents:
    """Implements `dovetail.backends.vm_control.MachineControl` and `dovetail.backends.contract.MigratingBackend`."""

    agents: NodeAgents
    book: OrderBook
    moves: VmMoves

    async def machines(self, nodes: Sequence[str]) -> list[MachineSeen]:
        found = await asyncio.gather(*(self._machines_of(node) for node in nodes))
        return [machine for part in found for machine in part]

    async def _machines_of(self, node: str) -> list[MachineSeen]:
        try:
            answer = await self.agents.ask(node, "vms", "", LISTED_WITHIN_S)
        except (KeyError, AgentSilent, Refusal):
            return []
        return [self._seen(node, one) for one in answer["vms"]]

    async def set_power(self, key: str, power: MachinePower) -> None:
        await self._ask_running(key, "vm_power", power=power.value)

    async def migration(self, key: str) -> MigrationProgress | None:
        return self.moves.progress(key)

    async def check_migration(self, key: str, node: str) -> None:
        await self.moves.check(key, node)

    async def migrate(self, key: str, node: str) -> None:
        await self.moves.migrate(key, node)

    async def snapshots(self, key: str) -> list[MachineSnapshot]:
        return [MachineSnapshot(**one) for one in (await self._ask_running(key, "vm_snapshots"))["snapshots"]]

    async def take_snapshot(self, key: str, name: str) -> None:
        await self._ask_running(key, "vm_snapshot", name=name)

    async def revert_to_snapshot(self, key: str, name: str) -> None:
        await self._ask_running(key, "vm_revert", name=name)

    async def remove_snapshot(self, key: str, name: str) -> None:
        await self._ask_running(key, "vm_remove_snapshot", name=name)

    async def offer_for_adoption(self, node: str, name: str) -> MachineSeen:
        try:
            [found] = (await self.agents.ask(node, "vm_offer", "", CHANGED_WITHIN_S, name=name))["vms"]
        except (KeyError, ValueError):
            raise Refusal(f"the agent of node {node} cannot offer VMs; update it") from None
        return self._seen(node, found)

    async def _ask_running(self, key: str, kind: CallKind, **asked: Any) -> dict[str, Any]:
        return await self.agents.ask(self.book.running_on(key), kind, key, CHANGED_WITHIN_S, **asked)

    def _seen(self, node: str, one: dict[str, Any]) -> MachineSeen:
        key = one["key"]
        return MachineSeen(**one | {"node": node, "key": key if key is not None and self._is_of(key, node) else None})

    def _is_of(self, key: str, node: str) -> bool:
        try:
            return self.book.running_on(key) == node
        except KeyError:
            return False
