"""Commands next to containers, and attached containers: their input, their terminal, their output and their exit code.

The engine cannot end a command that it started: the command ends by itself, or with its container.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence

from dovetail.asyncio_tasks import cancel
from dovetail.backends.contract import CommandInput, TerminalSize
from dovetail.backends.docker.connection import DockerUnreachable
from dovetail.backends.docker.engine_api import EngineApi, unframed
from dovetail.backends.docker.raw_stream import RawStream

END_OF_INPUT = b"\x04"  # as a user types it in a terminal


async def execute_in(
    api: EngineApi, name: str, command: Sequence[str], given: CommandInput | None, terminal: TerminalSize | None
) -> AsyncGenerator[bytes | int]:
    """Run a command in a running container: what it writes, and last its exit code."""
    has_terminal = terminal is not None
    body = {
        "Cmd": list(command),
        "AttachStdin": given is not None,
        "AttachStdout": True,
        "AttachStderr": True,
        "Tty": has_terminal,
    }
    id_ = await api.create_exec(name, body)
    stream = await api.start_exec(id_, terminal=has_terminal)

    async def resize(size: TerminalSize) -> None:
        await api.resize_exec(id_, size.rows, size.columns)

    if terminal is not None:
        await resize(terminal)
    async with _fed(stream, given, resize, END_OF_INPUT if has_terminal else b""):
        async for block in stream.blocks() if has_terminal else unframed(stream.blocks()):
            yield block
    yield await api.exec_exit_code(id_)


async def attach_to(api: EngineApi, name: str, given: CommandInput | None) -> AsyncGenerator[bytes | int]:
    """What a running container writes, and last its exit code. Its input stays open when `given` ends."""

    async def ignore(_: TerminalSize) -> None:
        """The container has no terminal."""

    stream = await api.attach(name, stdin=given is not None)
    async with _fed(stream, given, ignore, None):
        yield b""
        async for block in unframed(stream.blocks()):
            yield block
    state = ((await api.inspect(name)) or {}).get("State") or {}
    if state.get("Running"):
        raise DockerUnreachable("the engine ended the connection; the container goes on")
    yield int(state.get("ExitCode", 1))


@contextlib.asynccontextmanager
async def _fed(
    stream: RawStream, given: CommandInput | None, resize: Callable[[TerminalSize], Awaitable[None]], last: bytes | None
) -> AsyncGenerator[None]:
    """Inside the block the input is passed on, and after it `last`; empty: its end. None: it has no end."""

    async def feed(pieces: CommandInput) -> None:
        with contextlib.suppress(ConnectionError):  # it may end without reading
            async for piece in pieces:
                if isinstance(piece, TerminalSize):
                    await resize(piece)
                else:
                    await stream.write(piece)
            if last:
                await stream.write(last)
            elif last is not None:
                await stream.end_input()

    feeding = None if given is None else asyncio.create_task(feed(given))
    try:
        yield
    except OSError as error:
        raise DockerUnreachable(str(error)) from error
    finally:
        await cancel(feeding)
        stream.close()
