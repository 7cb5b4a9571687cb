"""Commands next to tasks (`dovetail exec`), and tasks that users attach to: their output is read in pieces.

Guarantees: a command is ended when its reader has gone, where its backend can do that; output that nobody reads yet is
bounded, and the command waits. A command does not outlive the control plane. A task that was attached to goes on.
"""

import asyncio
import contextlib
import secrets
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import structlog

from dovetail.asyncio_tasks import cancel
from dovetail.backends.contract import AttachingBackend, ExecutingBackend, KillingBackend, Refusal, TerminalSize
from dovetail.control.backends.execution import Executor, said
from dovetail.control.backends.roster import Backends
from dovetail.control.errors import Conflict, NotFound, NotSupported, Unavailable
from dovetail.control.services.command_input import InputPipe
from dovetail.engine.questions.workload_questions import HeldTask, WorkloadQuestions
from dovetail.model.task import TaskId, TaskState

MOST_COMMANDS = 100
MOST_UNREAD_BYTES = 1024 * 1024
LONGEST_WAIT_S = 10.0  # for something to read
FORGOTTEN_AFTER_S = 60.0  # without a reader

log = structlog.get_logger()


class OutputPiece(NamedTuple):
    """`exit_code` is None while it runs. `error`: why it ended without one."""

    content: bytes
    next_offset: int
    exit_code: int | None
    error: str


@dataclass(slots=True, eq=False)
class TaskCommand:
    """A command that runs, or a task that is attached. `start`: the offset of the first byte in `unread`."""

    blocks: AsyncGenerator[bytes | int]
    given: InputPipe
    executor: Executor
    start: int = 0
    unread: bytearray = field(default_factory=bytearray)
    exit_code: int | None = None
    error: str = ""
    ended: bool = False
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    was_read: asyncio.Event = field(default_factory=asyncio.Event)
    reader_seen: asyncio.Event = field(default_factory=asyncio.Event)
    tasks: "list[asyncio.Task[None]]" = field(default_factory=list)

    async def pump(self) -> None:
        try:
            async for block in self.blocks:
                if isinstance(block, int):
                    self.exit_code = block
                    break
                self.unread += block
                self.changed.set()
                while len(self.unread) >= MOST_UNREAD_BYTES:
                    self.was_read.clear()
                    await self.was_read.wait()
        except KeyError:
            self.error = "the task does not run any more"
        except Exception as error:  # a backend's client may raise anything
            self.error = str(error) if isinstance(error, Refusal) else self.executor.cleaned(said(error, 0.0))
        finally:
            self.ended = True
            self.changed.set()
            await self.given.close()
            await self.blocks.aclose()


class ExecInput(NamedTuple):
    """What a command reads: `content` and, if it is open, what follows. `terminal`: the size of its terminal."""

    content: bytes = b""
    is_open: bool = False
    terminal: TerminalSize | None = None


class TaskCommands:
    def __init__(self, live: WorkloadQuestions, backends: Backends) -> None:
        self._live, self._backends = live, backends
        self._running: dict[str, TaskCommand] = {}

    def start(self, task: TaskId, name: str, command: list[str], wish: ExecInput) -> tuple[str, HeldTask]:
        """The id under which its output is read, and where it runs. `name` is how users write the task. Raises Conflict
        for a task that does not run, NotSupported if its backend cannot run commands."""
        held, executor = self._running_task(task, name, "commands run only next to running tasks")
        backend = executor.backend
        if not (backend.capabilities.executes and isinstance(backend, ExecutingBackend)):
            raise NotSupported(f"backend {held.backend}, which runs {name}, cannot run commands next to its tasks")
        log.info("exec", task=name, node=held.node, program=command[0])  # its arguments may hold secrets
        given = InputPipe(wish.content, ended=not wish.is_open)
        has_input = wish.is_open or bool(wish.content) or wish.terminal is not None
        blocks = backend.execute(held.key, command, given if has_input else None, wish.terminal)
        return self._keep(TaskCommand(blocks, given, executor)), held

    async def attach(self, task: TaskId, name: str, *, takes_input: bool) -> tuple[str, HeldTask]:
        """The same for the task itself, from now on."""
        follow = f"dovetail logs {name} --follow"
        held, executor = self._running_task(task, name, f"to wait for it and follow its output: {follow}")
        backend = executor.backend
        if not (backend.capabilities.attaches and isinstance(backend, AttachingBackend)):
            words = f"backend {held.backend}, which runs {name}, cannot attach to its tasks"
            raise NotSupported(f"{words}; follow its output instead: {follow}")
        log.info("attach", task=name, node=held.node)
        given = InputPipe(ended=not takes_input)
        blocks = backend.attach(held.key, given if takes_input else None)
        try:
            await anext(blocks)
        except KeyError:
            raise Conflict(f"{name} does not run any more") from None
        except Exception as error:  # a backend's client may raise anything
            raise Unavailable(
                f"backend {held.backend} cannot attach now: {executor.cleaned(said(error, 0.0))}"
            ) from None
        return self._keep(TaskCommand(blocks, given, executor)), held

    async def kill(self, workloads: Sequence[int], reason: str) -> None:
        """End what runs of these workloads without grace, where a backend can do that. They have been cancelled: if
        this fails, they still end when their grace is over."""
        for held in [held for id_ in workloads for held in self._live.held_by(id_)]:
            executor = self._executor_of(held)
            if not isinstance(executor.backend, KillingBackend):
                continue
            try:
                await executor.backend.kill(held.key, reason)
            except Exception as error:  # a backend's client may raise anything
                words = f"backend {held.backend} cannot end it now: {executor.cleaned(said(error, 0.0))}"
                raise Unavailable(f"{words}; it ends when its grace period is over, or ask again") from None

    def _running_task(self, task: TaskId, name: str, otherwise: str) -> tuple[HeldTask, Executor]:
        held = self._live.held(task)
        if held is None or held.state is not TaskState.RUNNING:
            raise Conflict(f"{name} does not run now; {otherwise}")
        if len(self._running) >= MOST_COMMANDS:
            raise Unavailable(f"{MOST_COMMANDS} commands run already; try again when some have ended")
        return held, self._executor_of(held)

    def _keep(self, made: TaskCommand) -> str:
        id_ = secrets.token_urlsafe(16)
        made.tasks = [asyncio.create_task(made.pump()), asyncio.create_task(self._forget_unread(id_, made))]
        self._running[id_] = made
        return id_

    def _executor_of(self, held: HeldTask) -> Executor:
        member = self._backends.members.get(held.backend)
        if member is None or member.executor is None:
            raise Unavailable(f"backend {held.backend} cannot be asked now; try again later")
        return member.executor

    async def read(self, id_: str, offset: int) -> OutputPiece:
        """Output from this offset on; what is before it is dropped. Waits a while for something to read."""
        command = self._find(id_)
        command.reader_seen.set()
        done = max(0, min(offset - command.start, len(command.unread)))
        del command.unread[:done]
        command.start += done
        command.was_read.set()
        command.changed.clear()
        if not command.unread and not command.ended:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LONGEST_WAIT_S):
                    await command.changed.wait()
        content = bytes(command.unread)
        piece = OutputPiece(content, command.start + len(content), command.exit_code, command.error)
        return piece if command.ended else piece._replace(exit_code=None, error="")

    async def write(self, id_: str, content: bytes, offset: int, *, ended: bool) -> int:
        """Pass on input. The offset from which to go on."""
        return await self._find(id_).given.put(content, offset, ended=ended)

    async def resize(self, id_: str, size: TerminalSize) -> None:
        await self._find(id_).given.resize(size)

    async def end(self, id_: str) -> None:
        """End the command and forget it."""
        await self._drop(id_, self._find(id_))

    async def close(self) -> None:
        await asyncio.gather(*(self._drop(id_, command) for id_, command in list(self._running.items())))

    def _find(self, id_: str) -> TaskCommand:
        found = self._running.get(id_)
        if found is None:
            raise NotFound("no such command runs: it ended and was read, or nobody read it for a minute")
        return found

    async def _drop(self, id_: str, command: TaskCommand) -> None:
        self._running.pop(id_, None)
        await cancel(*(task for task in command.tasks if task is not asyncio.current_task()))

    async def _forget_unread(self, id_: str, command: TaskCommand) -> None:
        """End it when nobody has read for a while."""
        while True:
            command.reader_seen.clear()
            try:
                async with asyncio.timeout(FORGOTTEN_AFTER_S):
                    await command.reader_seen.wait()
            except TimeoutError:
                await self._drop(id_, command)
                return
