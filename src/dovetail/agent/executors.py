"""What runs work on this machine: commands with the local backend, images and VMs with the engines beside it, if any.

Each knows its own attempts, and each order is carried out by one of them. They are one node together, the machine's,
which takes containers while its Docker engine answers, and VMs while its hypervisor does.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from functools import partial

from dovetail.agent.engines import Engine, engine_for, engines_of, kind_of_engine, with_engines
from dovetail.agent.inventory.reading import FoundMachine
from dovetail.agent.settings import AgentSettings
from dovetail.backends.contract import (
    Assignment,
    CommandInput,
    ExecutingBackend,
    LogChunk,
    MeasuredTask,
    Refusal,
    Report,
    TerminalSize,
    TimedLogs,
)
from dovetail.backends.local.backend import LocalBackend
from dovetail.backends.log_tail import tail_by_reading
from dovetail.backends.peer_migration import PeerMigration, PeerMove
from dovetail.backends.vm_control import MachineControl
from dovetail.model.event import Event, NodeHealthChanged, NodeJoined, NodeObserved
from dovetail.model.node import Node
from dovetail.model.workloads.workload import WorkloadKind


class Executors:
    """`changed`: the node is another than before."""

    def __init__(
        self, settings: AgentSettings, machine: FoundMachine, report: Report, changed: Callable[[], None]
    ) -> None:
        self._report, self._changed = report, changed
        self._machine, self._settings = machine, settings.local
        described = machine.described(settings.local)
        self._local = LocalBackend("agent", described, settings.data / "runs")
        self._engines = engines_of(settings, described.node_name(), machine)
        self._node: Node | None = None
        self._deciding = asyncio.Lock()  # one attempt has one owner, whatever order its bind and its stop come in
        self._binding: dict[str, Engine] = {}  # attempts that an engine is being told of
        self._described: dict[WorkloadKind, Node] = {}  # as engines see this machine, while they answer

    async def start(self) -> None:
        await self._local.start(self._heard_local)
        for kind, engine in self._engines.items():
            await engine.start(partial(self._heard_engine, kind))

    async def close(self) -> None:
        await self._local.close()
        for engine in self._engines.values():
            await engine.close()

    # --- the node ------------------------------------------------------------------------------------------------

    @property
    def node(self) -> Node:
        assert self._node is not None
        found = with_engines(self._node, self._described)
        return found.model_copy(update={"inventory": self._machine.inventory})

    @property
    def has_gpus(self) -> bool:
        return bool(self._machine.inventory.gpus)

    @property
    def runs_mps(self) -> bool:
        return bool(self._machine.inventory.mps)

    @property
    def vms(self) -> MachineControl:
        """Raises Refusal on a node without a hypervisor."""
        engine = engine_for(self._engines, WorkloadKind.VM)
        assert isinstance(engine, MachineControl)
        return engine

    @property
    def peers(self) -> PeerMigration:
        """For migrations of VMs to and from here. Raises Refusal on a node without a hypervisor."""
        engine = engine_for(self._engines, WorkloadKind.VM)
        return engine.peers  # type: ignore[union-attr] # the engine of VMs is libvirt

    async def open_moves(self) -> list[PeerMove]:
        return await self.peers.open_moves() if WorkloadKind.VM in self._engines else []

    def found(self, machine: FoundMachine) -> None:
        """The machine was looked at again. Its GPUs stay as they were at the start: tasks have them by their number."""
        if machine.inventory == self._machine.inventory or self._node is None:
            return
        before, now = self._machine.labels(), machine.labels()
        measured = {key: value for key, value in now.items() if key not in self._settings.labels}
        gone = {key for key in before if key not in now and key not in self._settings.labels}
        labels = {key: value for key, value in self._node.labels.items() if key not in gone} | measured
        self._node = self._node.model_copy(update={"labels": labels})
        self._machine = FoundMachine(machine.inventory, self._machine.gpus)
        self._changed()

    # --- attempts ------------------------------------------------------------------------------------------------

    async def bind(self, assignment: Assignment) -> None:
        """Raises Refusal."""
        kind = kind_of_engine(assignment.spec)
        if kind is None:
            await self._local.bind(assignment)
            return
        engine, key = engine_for(self._engines, kind), assignment.key
        async with self._deciding:
            if await self._is_local(key):
                raise Refusal("it was stopped before it began")
            self._binding[key] = engine
        try:
            await engine.bind(assignment)
        finally:
            self._binding.pop(key, None)

    async def stop(self, key: str, reason: str) -> None:
        await self._end(key, lambda owner: owner.stop(key, reason))

    async def kill(self, key: str, reason: str) -> None:
        await self._end(key, lambda owner: owner.kill(key, reason))

    async def _end(self, key: str, end: Callable[[LocalBackend | Engine], Awaitable[None]]) -> None:
        async with self._deciding:
            owner = await self._owner(key)
            if owner is self._local:  # it remembers what was stopped before it began: `bind` finds it there
                await end(owner)
                return
        await end(owner)

    async def reconcile(self, assignments: list[Assignment]) -> None:
        """Containers and VMs go to their engines, if the settings still name these; else they are lost."""
        kinds = {one.key: kind_of_engine(one.spec) for one in assignments}
        await self._local.reconcile([one for one in assignments if kinds[one.key] not in self._engines])
        for kind, engine in self._engines.items():
            await engine.reconcile([one for one in assignments if kinds[one.key] is kind])

    async def logs(self, key: str, offset: int, limit: int) -> LogChunk:
        return await (await self._owner(key)).logs(key, offset, limit)

    async def log_tail(self, key: str, lines: int) -> int:
        owner = await self._owner(key)
        return (
            await self._local.log_tail(key, lines) if owner is self._local else await tail_by_reading(owner, key, lines)
        )

    async def log_since(self, key: str, at: float) -> int | None:
        owner = await self._owner(key)
        return await owner.log_since(key, at) if isinstance(owner, TimedLogs) else None

    async def execute(
        self, key: str, command: Sequence[str], given: CommandInput | None, terminal: TerminalSize | None
    ) -> AsyncGenerator[bytes | int]:
        owner = await self._owner(key)
        if not isinstance(owner, ExecutingBackend):
            raise Refusal("commands do not run in a VM from outside; its console is there: dovetail attach")
        async with contextlib.aclosing(owner.execute(key, command, given, terminal)) as blocks:
            async for block in blocks:
                yield block

    async def attach(self, key: str, given: CommandInput | None) -> AsyncGenerator[bytes | int]:
        owner = await self._owner(key)
        async with contextlib.aclosing(owner.attach(key, given)) as blocks:
            async for block in blocks:
                yield block

    async def measure(self) -> Mapping[str, MeasuredTask]:
        found = dict(await self._local.measure())
        for engine in self._engines.values():
            found |= await engine.measure()
        return found

    async def _owner(self, key: str) -> LocalBackend | Engine:
        """The one that knows the attempt, or is being told of it; the local one for what none knows."""
        if key in self._binding:
            return self._binding[key]
        if self._engines and not await self._is_local(key):
            for engine in self._engines.values():
                if await engine.knows(key):
                    return engine
        return self._local

    async def _is_local(self, key: str) -> bool:
        try:
            await self._local.status(key)
        except KeyError:
            return False
        return True

    # --- reports -------------------------------------------------------------------------------------------------

    async def _heard_local(self, event: Event) -> None:
        if isinstance(event, NodeJoined):
            self._node = event.node
        else:
            await self._report(event)

    async def _heard_engine(self, kind: WorkloadKind, event: Event) -> None:
        """What an engine says about its host, the machine itself says better."""
        if isinstance(event, NodeJoined):
            self._described[kind] = event.node
            self._changed()
        elif isinstance(event, NodeHealthChanged):
            if not event.online:
                self._described.pop(kind, None)
            self._changed()
        elif not isinstance(event, NodeObserved):
            await self._report(event)
