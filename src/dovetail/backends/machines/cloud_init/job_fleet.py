"""Machines that run one job each and have no agent: launched with the job, ended when it has ended.

    could be launched ──want──► launching ──► up ──discard──► ending ──► gone

Guarantees, beside those of every fleet: a machine is never used again. What ran on it is given up only when the machine
is gone or stands still, so nothing is said to have ended that may still run. What is bound to a node whose machine is
being ended waits, and gets a machine of its own.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from dovetail.backends.contract import Assignment
from dovetail.backends.machines.fleet import APPEARS_WITHIN_S, Agents, Fleet
from dovetail.backends.machines.journal import MachinePhase
from dovetail.backends.machines.machine_table import MachineSlot
from dovetail.backends.machines.provider import (
    Launch,
    LaunchRefused,
    Machine,
    MachineProvider,
    MachineState,
    MachineType,
    RefusalKind,
)
from dovetail.backends.machines.settings import MachineSettings
from dovetail.model.event import TaskWaiting
from dovetail.model.workloads.workload import WorkloadKind


class ConsoleJobs(Agents, Protocol):
    """What machines are told, and what their consoles say."""

    async def script(self, node: str, token: str) -> str | None:
        """The user data of its machine. None: nobody wants one any more."""

    async def look(self, machines: Mapping[str, Machine]) -> None:
        """Read the consoles of these machines, by node."""

    def waiting(self, node: str) -> list[Assignment]:
        """What has not begun there."""

    def has_last_words(self, node: str) -> bool:
        """Whether nothing more is to be read of its machine, which has ended."""


class _NobodyWantsIt(LaunchRefused):
    """By the control plane itself: the job for which a machine was to be launched is not wanted any more."""

    def __init__(self) -> None:
        super().__init__(RefusalKind.INVALID, "nobody wants it any more")


def one_job(kind: MachineType) -> MachineType:
    """The type as a node that takes one job, and nothing else."""
    capacity = kind.node.capacity.model_copy(update={"slots": 1})
    node = kind.node.model_copy(update={"capacity": capacity, "kinds": [WorkloadKind.JOB]})
    return replace(kind, node=node)


class JobFleet(Fleet):
    _over = (MachineState.ENDED,)  # one that stands still is ended as well

    def __init__(
        self, name: str, provider: MachineProvider, settings: MachineSettings, folder: Path, jobs: ConsoleJobs
    ) -> None:
        super().__init__(name, provider, settings, None, folder, jobs)
        self._jobs = jobs
        self._discarded: dict[str, str] = {}  # why, by node

    # --- asking ------------------------------------------------------------------------------------------------

    @property
    def used(self) -> list[str]:
        """The nodes whose machines are wanted or exist."""
        return [slot.row.node for slot in self._machines.all()]

    def is_discarded(self, node: str) -> bool:
        """Whether its machine is used up, and not gone yet."""
        return node in self._discarded or self.ends(node)

    async def discard(self, node: str, reason: str, token: str | None = None) -> None:
        """Its machine has had its job, or nobody wants it any more: end it. A launch that is under way ends first.
        `token`: only if it is the machine of that launch."""
        slot = self._machines.get(node)
        if slot is None or node in self._discarded or token not in (None, slot.row.token):
            return
        self._discarded[node] = reason
        if slot.row.phase is MachinePhase.UP:
            await self._end(slot, reason)
        elif slot.row.phase is MachinePhase.LAUNCHING:
            slot.since = self._now()
            await self._announce()

    # --- how it differs ----------------------------------------------------------------------------------------

    async def _types(self) -> list[MachineType]:
        return [one_job(kind) for kind in await super()._types()]

    def _is_launching(self, slot: MachineSlot) -> bool:
        return super()._is_launching(slot) and slot.row.node not in self._discarded

    async def _launch_of(self, slot: MachineSlot, kind: MachineType) -> Launch:
        script = await self._jobs.script(slot.row.node, slot.row.token)
        if script is None:
            raise _NobodyWantsIt()
        return Launch(slot.row.node, kind, slot.row.token, self._owner, script, console=True)

    async def _launch_until_known(self, slot: MachineSlot) -> None:
        try:
            await super()._launch_until_known(slot)
        finally:
            slot.launch = None  # if it was discarded: what a call without an answer made is found by its mark

    async def _refused(self, slot: MachineSlot, refusal: LaunchRefused) -> None:
        if isinstance(refusal, _NobodyWantsIt):
            await self._gone(slot, str(refusal))
        else:
            await super()._refused(slot, refusal)

    async def _launched(self, slot: MachineSlot, machine: Machine) -> None:
        await super()._launched(slot, machine)
        await self._end_discarded(slot)

    async def _say_waiting(self, node: str, why: str) -> None:
        for one in self._jobs.waiting(node):
            await self._tell(TaskWaiting(one.task, one.key, why))

    async def _take_seen(self, machines: list[Machine]) -> None:
        await self._jobs.look({one.node: one for one in machines if self._machines.is_ours(one)})
        await super()._take_seen(machines)

    async def _seen(self, slot: MachineSlot, machine: Machine) -> None:
        await super()._seen(slot, machine)
        await self._end_discarded(slot)

    async def _end_discarded(self, slot: MachineSlot) -> None:
        reason = self._discarded.get(slot.row.node)
        if reason is not None and slot.row.phase is MachinePhase.UP:
            await self._end(slot, reason)

    async def _missing(self, slot: MachineSlot, ended: Machine | None) -> None:
        node, phase = slot.row.node, slot.row.phase
        if phase is MachinePhase.LAUNCHING and node in self._discarded:
            if slot.launch is None and self._now() - slot.since > APPEARS_WITHIN_S:
                await self._gone(slot, self._discarded[node])
        elif phase is not MachinePhase.UP or ended is None or self._jobs.has_last_words(node):
            await super()._missing(slot, ended)

    async def _look_after_slots(self) -> None:
        """There are no agents to wait for, and none is ever idle."""

    async def _end(self, slot: MachineSlot, reason: str) -> None:
        self._discarded.setdefault(slot.row.node, reason)
        await self._mark_ending(slot, reason)
        if slot.machine is not None:
            await self.provider.end(slot.machine)  # if this fails, the next look repeats it

    async def _gone(self, slot: MachineSlot, reason: str) -> None:
        node = slot.row.node
        await self._agents.give_up(node, reason)
        await self._drop(slot)
        await self._announce()
        if self._agents.assigned(node):  # bound while the machine before was ended
            await self.want(node)

    async def _drop(self, slot: MachineSlot) -> None:
        await super()._drop(slot)
        self._discarded.pop(slot.row.node, None)

    def _is_ending(self, name: str, kind: MachineType) -> bool:  # noqa: ARG002 - the node stays
        return False

    def _unusable(self) -> Mapping[str, str]:
        ended = {name: "its machine is being ended" for name in self.used if self.is_discarded(name)}
        return {**super()._unusable(), **ended}
