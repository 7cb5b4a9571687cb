"""Runs a command next to an attempt: in its directory, with its environment, inside its cgroups.

Guarantees: where there are cgroups, the limits of the attempt hold for the command, too, and it ends with the attempt.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

from dovetail.backends.contract import CommandInput, TerminalSize
from dovetail.backends.local import supervisor
from dovetail.backends.local.pseudo_terminal import END_OF_INPUT, PseudoTerminal

BLOCK_BYTES = 64 * 1024
TERMINAL_TYPE = "xterm"  # as containers have it
#: Opens the terminal that the first argument names, if any, which becomes that of the session. Joins the cgroups before
#: `--`, then becomes the command after it.
_JOIN = """\
[ -z "$1" ] || exec <"$1" >"$1" 2>&1
shift
while [ "$1" != -- ]; do echo $$ > "$1/cgroup.procs" || exit 126; shift; done
shift
exec "$@"
"""


async def execute_in(
    run: Path, command: Sequence[str], given: CommandInput | None, terminal: TerminalSize | None
) -> AsyncGenerator[bytes | int]:
    """`run`: the run folder of an attempt that runs."""
    order = supervisor.unpack(await asyncio.to_thread((run / supervisor.ORDER).read_bytes))
    if terminal is None:
        blocks = _with_pipes(order, command, given)
    else:
        blocks = _in_terminal(order, command, given, PseudoTerminal(terminal))
    async with contextlib.aclosing(blocks):
        async for block in blocks:
            yield block


async def _with_pipes(
    order: supervisor.Fields, command: Sequence[str], given: CommandInput | None
) -> AsyncGenerator[bytes | int]:
    pipe = asyncio.subprocess.PIPE
    reads = asyncio.subprocess.DEVNULL if given is None else pipe
    process = await _started(order, command, "", reads, pipe, asyncio.subprocess.STDOUT)
    assert process.stdout is not None
    feeding = None if given is None else asyncio.create_task(_feed_pipe(process.stdin, given))
    async with _ended_after(process, feeding):
        while block := await process.stdout.read(BLOCK_BYTES):
            yield block
        yield await _exit_code(process)


async def _in_terminal(
    order: supervisor.Fields, command: Sequence[str], given: CommandInput | None, terminal: PseudoTerminal
) -> AsyncGenerator[bytes | int]:
    try:
        inner = terminal.inner
        process = await _started(order, command, terminal.path, inner, inner, inner)
        terminal.close_inner()
        feeding = None if given is None else asyncio.create_task(_feed_terminal(terminal, given))
        async with _ended_after(process, feeding):
            while block := await terminal.read():
                yield block
            yield await _exit_code(process)
    finally:
        terminal.close()


async def _started(
    order: supervisor.Fields, command: Sequence[str], terminal: str, stdin: int, stdout: int, stderr: int
) -> asyncio.subprocess.Process:
    env = dict(entry.split("=", 1) for entry in order.get("env", []))
    if terminal:
        env.setdefault("TERM", TERMINAL_TYPE)
    return await asyncio.create_subprocess_exec(
        *("/bin/sh", "-c", _JOIN, "exec", terminal, *order.get("cgroup", []), "--", *command),
        cwd=order["workdir"][0],
        env=env,
        start_new_session=True,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
    )


@contextlib.asynccontextmanager
async def _ended_after(
    process: asyncio.subprocess.Process, feeding: "asyncio.Task[None] | None"
) -> AsyncGenerator[None]:
    """When the block is left, nothing of the command runs any more."""
    try:
        yield
    finally:
        if feeding is not None:
            feeding.cancel()
            await asyncio.gather(feeding, return_exceptions=True)
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
