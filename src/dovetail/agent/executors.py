"""What runs work on this machine: commands with the local backend, images with the Docker engine beside it, if any.

Both know their own attempts, and each order is carried out by one of them: an attempt with an image by the engine. They
are one node together, the machine's, which takes containers while its engine answers.
"""

import contextlib
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dovetail.agent.inventory.reading import FoundMachine
from dovetail.agent.settings import AgentSettings
from dovetail.backends.contract import (
    Assignment,
    CommandInput,
    LogChunk,
    MeasuredTask,
    Refusal,
    Report,
    TerminalSize,
)
from dovetail.backends.local.backend import LocalBackend
from dovetail.backends.log_tail import tail_by_reading
from dovetail.model.event import Event, NodeHealthChanged, NodeJoined, NodeObserved
from dovetail.model.node import Node
from dovetail.model.workloads.workload import WorkloadKind

if TYPE_CHECKING:
    from dovetail.backends.docker.backend import DockerBackend


class Executors:
    """`changed`: the node is another than before."""

    def __init__(
        self, settings: AgentSettings, machine: FoundMachine, report: Report, changed: Callable[[], None]
    ) -> None:
        self._report, self._changed = report, changed
        self._machine, self._settings = machine, settings.local
        described = machine.described(settings.local)
        self._local = LocalBackend("agent", described, settings.data / "runs")
        self._docker = _docker(settings, described.node_name(), machine)
        self._node: Node | None = None
        self._engine: Node | None = None  # as its engine describes it, while that answers

    async def start(self) -> None:
        await self._local.start(self._heard_local)
        if self._docker is not None:
            await self._docker.start(self._heard_docker)

    async def close(self) -> None:
        await self._local.close()
        if self._docker is not None:
            await self._docker.close()

    # --- the node ------------------------------------------------------------------------------------------------

    @property
    def node(self) -> Node:
        assert self._node is not None
        engine = self._engine
        kinds = [*self._node.kinds, *([] if engine is None else [WorkloadKind.CONTAINER])]
        labels = self._node.labels if engine is None else engine.labels | self._node.labels
        return self._node.model_copy(update={"kinds": kinds, "labels": labels, "inventory": self._machine.inventory})

    @property
    def has_gpus(self) -> bool:
        return bool(self._machine.inventory.gpus)

    @property
    def runs_mps(self) -> bool:
        return bool(self._machine.inventory.mps)

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
        if assignment.spec.run.image is None:
            await self._local.bind(assignment)
        elif self._docker is None:
            raise Refusal("this node has no container engine; give its agent one: docker in its settings")
        elif await self._is_local(assignment.key):
            raise Refusal("it was stopped before it began")
        else:
            await self._docker.bind(assignment)

    async def stop(self, key: str, reason: str) -> None:
        await (await self._owner(key)).stop(key, reason)

    async def kill(self, key: str, reason: str) -> None:
        await (await self._owner(key)).kill(key, reason)

    async def reconcile(self, assignments: list[Assignment]) -> None:
        """Those with an image go to the engine, if the settings still name one; else they are lost."""
        images = [one for one in assignments if one.spec.run.image is not None and self._docker is not None]
        await self._local.reconcile([one for one in assignments if one not in images])
        if self._docker is not None:
            await self._docker.reconcile(images)

    async def logs(self, key: str, offset: int, limit: int) -> LogChunk:
        return await (await self._owner(key)).logs(key, offset, limit)

    async def log_tail(self, key: str, lines: int) -> int:
        owner = await self._owner(key)
        return (
            await self._local.log_tail(key, lines) if owner is self._local else await tail_by_reading(owner, key, lines)
        )

    async def log_since(self, key: str, at: float) -> int:
        return await (await self._owner(key)).log_since(key, at)

    async def execute(
        self, key: str, command: Sequence[str], given: CommandInput | None, terminal: TerminalSize | None
    ) -> AsyncGenerator[bytes | int]:
        owner = await self._owner(key)
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
        if self._docker is not None:
            found |= await self._docker.measure()
        return found

    async def _owner(self, key: str) -> "LocalBackend | DockerBackend":
        """The one that knows the attempt; the local one for what neither knows."""
        if self._docker is None or await self._is_local(key):
            return self._local
        return self._docker if await self._docker.knows(key) else self._local

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

    async def _heard_docker(self, event: Event) -> None:
        """What the engine says about its host, the machine itself says better."""
        if isinstance(event, NodeJoined):
            self._engine = event.node
            self._changed()
        elif isinstance(event, NodeHealthChanged):
            self._engine = self._engine if event.online else None
            self._changed()
        elif not isinstance(event, NodeObserved):
            await self._report(event)


def _docker(settings: AgentSettings, name: str, machine: FoundMachine) -> "DockerBackend | None":
    if settings.docker is None:
        return None
    from dovetail.backends.docker.backend import DockerBackend

    [host] = settings.docker.hosts
    gpus = settings.local.gpus if "gpus" in settings.local.model_fields_set else machine.gpus
    here = host.model_copy(update={"name": name, "gpus": gpus})
    folder: Path = settings.data / "containers"
    return DockerBackend("agent", settings.docker.model_copy(update={"hosts": [here]}), folder)
