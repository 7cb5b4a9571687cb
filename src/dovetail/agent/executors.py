"""What runs work on this machine: commands with the local backend, images with the Docker engine beside it, if any.

Both know their own attempts; each order is carried out by one of them. Together they are one node: the machine's, which
takes containers while its engine answers.
"""

from collections.abc import Callable, Mapping

from dovetail.agent.inventory.reading import Machine
from dovetail.agent.settings import AgentSettings
from dovetail.backends.contract import Assignment, LogChunk, MeasuredTask, Report
from dovetail.backends.local.backend import LocalBackend
from dovetail.model.event import Event, NodeJoined
from dovetail.model.node import Node


class Executors:
    """`changed`: the node is another than before."""

    def __init__(self, settings: AgentSettings, machine: Machine, report: Report, changed: Callable[[], None]) -> None:
        self._report, self._changed = report, changed
        self._machine, self._settings = machine, settings.local
        folder = settings.data / "runs"
        self._local = LocalBackend("agent", machine.described(settings.local), folder)
        self._node: Node | None = None

    async def start(self) -> None:
        await self._local.start(self._heard_local)

    @property
    def node(self) -> Node:
        assert self._node is not None
        return self._node.model_copy(update={"inventory": self._machine.inventory})

    @property
    def has_gpus(self) -> bool:
        return bool(self._machine.inventory.gpus)

    @property
    def runs_mps(self) -> bool:
        return bool(self._machine.inventory.mps)

    def found(self, machine: Machine) -> None:
        """The machine was looked at again. Its GPUs stay as they were at the start: tasks have them by their number."""
        if machine.inventory == self._machine.inventory or self._node is None:
            return
        before, now = self._machine.labels(), machine.labels()
        measured = {key: value for key, value in now.items() if key not in self._settings.labels}
        gone = {key for key in before if key not in now and key not in self._settings.labels}
        labels = {key: value for key, value in self._node.labels.items() if key not in gone} | measured
        self._node = self._node.model_copy(update={"labels": labels})
        self._machine = Machine(machine.inventory, self._machine.gpus)
        self._changed()

    async def bind(self, assignment: Assignment) -> None:
        await self._local.bind(assignment)

    async def stop(self, key: str, reason: str) -> None:
        await self._local.stop(key, reason)

    async def kill(self, key: str, reason: str) -> None:
        await self._local.kill(key, reason)

    async def reconcile(self, assignments: list[Assignment]) -> None:
        await self._local.reconcile(assignments)

    async def logs(self, key: str, offset: int, limit: int) -> LogChunk:
        return await self._local.logs(key, offset, limit)

    async def log_tail(self, key: str, lines: int) -> int:
        return await self._local.log_tail(key, lines)

    async def log_since(self, key: str, at: float) -> int | None:
        return await self._local.log_since(key, at)

    async def measure(self) -> Mapping[str, MeasuredTask]:
        return await self._local.measure()

    async def close(self) -> None:
        await self._local.close()

    async def _heard_local(self, event: Event) -> None:
        if isinstance(event, NodeJoined):
            self._node = event.node
        else:
            await self._report(event)
