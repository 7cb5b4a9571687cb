"""The machines of a fleet that are wanted or exist, in memory and in its journal.

Guarantees: what is on disk is never behind what the provider is asked. Left to others: when a machine is launched and
ended (`fleet`), which nodes could be launched next (`slots`).
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from dovetail.backends.machines.journal import MachineJournal, MachinePhase, MachineRow
from dovetail.backends.machines.provider import Machine, MachineState
from dovetail.backends.machines.slots import SlotTable


@dataclass(slots=True)
class MachineSlot:
    """A node whose machine is wanted or exists."""

    row: MachineRow
    since: float  # when its phase began, or this process, by a clock that nobody can set
    machine: Machine | None = None
    launch: asyncio.Task[None] | None = None
    joined: bool = False
    seen: bool = False  # the provider has shown it
    idle_since: float | None = None
    draining: bool = False


class MachineTable:
    """`nodes`: the nodes of these machines, and of those that could be launched."""

    def __init__(self, folder: Path, nodes: SlotTable, now: Callable[[], float]) -> None:
        self.nodes = nodes
        self._journal, self._now = MachineJournal(folder), now
        self._slots: dict[str, MachineSlot] = {}
        self.close = self._journal.close

    async def open(self) -> str:
        """Returns the mark of this owner's machines."""
        return await self._journal.open()

    async def restore(self) -> None:
        for row in await self._journal.all():
            if row.node not in self._slots:
                self._keep(row)

    def __contains__(self, node: str) -> bool:
        return node in self._slots

    def get(self, node: str) -> MachineSlot | None:
        return self._slots.get(node)

    def all(self) -> list[MachineSlot]:
        return list(self._slots.values())

    def is_ending(self, node: str) -> bool:
        slot = self._slots.get(node)
        return slot is not None and slot.row.phase is MachinePhase.ENDING

    async def add(self, row: MachineRow) -> MachineSlot:
        slot = self._keep(row)  # first: a second bind must not write another token
        await self._journal.put(row)
        return slot

    def _keep(self, row: MachineRow) -> MachineSlot:
        slot = self._slots[row.node] = MachineSlot(row, self._now())
        self.nodes.used[row.node] = row.type
        if row.phase is MachinePhase.LAUNCHING:
            self.nodes.launching.add(row.node)
        return slot

    async def set_phase(self, slot: MachineSlot, phase: MachinePhase, machine: str | None) -> None:
        slot.row = replace(slot.row, phase=phase, machine=machine, since=time.time())
        slot.since = self._now()
        self.nodes.launching.discard(slot.row.node)
        await self._journal.put(slot.row)

    async def remove(self, node: str) -> None:
        await self._journal.remove(node)
        self._slots.pop(node, None)
        self.nodes.used.pop(node, None)
        self.nodes.launching.discard(node)

    def is_ours(self, machine: Machine) -> bool:
        """It is the one of its node. A provider may still show others that had the same name and have ended."""
        slot, kind = self._slots.get(machine.node), self.nodes.types.get(machine.node)
        return slot is not None and (slot.row.token == machine.token or (kind is not None and kind.fixed))

    def is_orphan(self, machine: Machine) -> bool:
        """It has our mark and is none of ours. A launch that was repeated with another token is one, too."""
        kind = self.nodes.types.get(machine.node)
        return (
            not self.is_ours(machine) and machine.state is not MachineState.ENDED and (kind is None or not kind.fixed)
        )
