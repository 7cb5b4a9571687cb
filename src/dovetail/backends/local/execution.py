"""Runs a command next to an attempt: in its directory, with its environment, as its user, in its namespaces, cgroups.

Guarantees: the command may no more than the attempt. Where there are cgroups or namespaces, it ends with the attempt.
"""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dovetail.asyncio_tasks import cancel
from dovetail.backends.contract import CommandInput, TerminalSize
from dovetail.backends.local.pseudo_terminal import END_OF_INPUT, PseudoTerminal
from dovetail.backends.local.supervisor import main as supervisor

BLOCK_BYTES = 64 * 1024


async def execute_in(
    run: Path,
    command: Sequence[str],
    given: CommandInput | None,
    terminal: TerminalSize | None,
    program: Path = Path(supervisor.__file__),
) -> AsyncGenerator[bytes | int]:
    """`run`: the run folder of an attempt that runs. `program`: the supervisor, which knows how to join it."""
    joining = Joining(program, run, command)
    blocks = _in_terminal(joining, given, PseudoTerminal(terminal)) if terminal else _with_pipes(joining, given)
    async with contextlib.aclosing(blocks):
        async for block in blocks:
            yield block


@dataclass(frozen=True, slots=True)
class Joining:
    """A command that is to run next to an attempt."""

    program: Path
    run: Path
    command: Sequence[str]

    async def start(self, terminal: str, stdin: int, stdout: int, stderr: int) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", "-X", "utf8", str(self.program), "--join", str(self.run), terminal),
            *self.command,
            env={"LC_ALL": "C.UTF-8"},
            start_new_session=True,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
        )


async def _with_pipes(joining: Joining, given: CommandInput | None) -> AsyncGenerator[bytes | int]:
    pipe = asyncio.subprocess.PIPE
    reads = asyncio.subprocess.DEVNULL if given is None else pipe
    process = await joining.start("", reads, pipe, asyncio.subprocess.STDOUT)
    assert process.stdout is not None
    feeding = None if given is None else asyncio.create_task(_feed_pipe(process.stdin, given))
    async with _ended_after(process, feeding):
        while block := await process.stdout.read(BLOCK_BYTES):
            yield block
        yield await _exit_code(process)


async def _in_terminal(
    joining: Joining, given: CommandInput | None, terminal: PseudoTerminal
) -> AsyncGenerator[bytes | int]:
    try:
        inner = terminal.inner
        process = await joining.start(terminal.path, inner, inner, inner)
        terminal.close_inner()
        feeding = None if given is None else asyncio.create_task(_feed_terminal(terminal, given))
        async with _ended_after(process, feeding):
            while block := await terminal.read():
                yield block
            yield await _exit_code(process)
    finally:
        terminal.close()


@contextlib.asynccontextmanager
async def _ended_after(
    process: asyncio.subprocess.Process, feeding: "asyncio.Task[None] | None"
) -> AsyncGenerator[None]:
    """When the block is left, nothing of the command runs any more."""
    try:
        yield
    finally:
        await cancel(feeding)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


async def _exit_code(process: asyncio.subprocess.Process) -> int:
    code = await process.wait()
    return 128 - code if code < 0 else code


async def _feed_pipe(pipe: asyncio.StreamWriter | None, given: CommandInput) -> None:
    assert pipe is not None
    with contextlib.suppress(ConnectionError):  # it may end without reading
        async for piece in given:
            if isinstance(piece, bytes):
                pipe.write(piece)
                await pipe.drain()
        pipe.close()


async def _feed_terminal(terminal: PseudoTerminal, given: CommandInput) -> None:
    with contextlib.suppress(OSError):  # it may end without reading
        async for piece in given:
            if isinstance(piece, TerminalSize):
                terminal.resize(piece)
            else:
                await terminal.write(piece)
        await terminal.write(END_OF_INPUT)
