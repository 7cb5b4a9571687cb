"""What subsystems can do with workloads, made of what the control plane offers users."""

from collections.abc import Awaitable, Callable
from typing import Any

from dovetail.control.errors import Conflict
from dovetail.control.services.task_commands import ExecInput, TaskCommands
from dovetail.model.task import TaskId
from dovetail.model.workloads.workload import Workload

Submit = Callable[[list[Workload]], Awaitable[list[Any]]]


class WorkOfSubsystems:
    def __init__(
        self,
        submit: Submit,
        cancel: Callable[[list[int], str], Awaitable[None]],
        definitions: Callable[[set[int]], Awaitable[dict[int, Workload]]],
        commands: TaskCommands,
        cores: Callable[[str], float | None],
        unsettled_services: Callable[[], set[tuple[str, str]]],
    ) -> None:
        self.cores, self.unsettled_services = cores, unsettled_services
        self._submit, self._cancel = submit, cancel
        self._definitions, self._commands = definitions, commands

    async def submit(self, specs: list[Workload]) -> list[int]:
        return [accepted.id for accepted in await self._submit(specs)]

    async def cancel(self, workloads: list[int], reason: str) -> None:
        await self._cancel(workloads, reason)

    async def definitions(self, workloads: set[int]) -> dict[int, Workload]:
        return await self._definitions(workloads)

    async def exit_code(self, task: TaskId, command: list[str]) -> int:
        id_, _ = self._commands.start(task, str(task), command, ExecInput())
        try:
            offset = 0
            while True:
                piece = await self._commands.read(id_, offset)
                offset = piece.next_offset
                if piece.error:
                    raise Conflict(piece.error)
                if piece.exit_code is not None:
                    return piece.exit_code
        finally:
            await self._commands.end(id_)
