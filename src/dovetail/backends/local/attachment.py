"""Attaches to an attempt that runs: follows its output file, and writes to its input.

The input of an attempt with `run.stdin` is a named pipe in its run folder. It stays open until the attempt ends:
whoever detaches may attach again.
"""

import asyncio
import errno
import os
from collections.abc import AsyncGenerator
from pathlib import Path

from dovetail.asyncio_tasks import cancel
from dovetail.backends.contract import CommandInput, Refusal
from dovetail.backends.local.run_folder import LocalRunFolder
from dovetail.backends.local.supervisor.run_files import INPUT, OUTPUT

BLOCK_BYTES = 64 * 1024
LOOK_S = 0.05  # how often it is looked whether more was written, or can be


async def attach_to(run: LocalRunFolder, given: CommandInput | None) -> AsyncGenerator[bytes | int]:
    output, feeding = await asyncio.to_thread((run.path / OUTPUT).open, "rb"), None
    try:
        await asyncio.to_thread(output.seek, 0, os.SEEK_END)
        if given is not None:  # only now: what answers the input is read
            feeding = asyncio.create_task(_feed(run.path / INPUT, given))
        yield b""
        while True:
            end = await asyncio.to_thread(run.end)  # before reading: nothing is written after it
            while block := await asyncio.to_thread(output.read, BLOCK_BYTES):
                yield block
            if end is not None:
                break
            await asyncio.sleep(LOOK_S)
        if end.exit_code is None:
            raise Refusal(end.reason)
        yield end.exit_code
    finally:
        output.close()
        await cancel(feeding)


async def _feed(path: Path, given: CommandInput) -> None:
    try:
        pipe = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:  # it has just ended
        return
    try:
        async for piece in given:
            if isinstance(piece, bytes):
                await _write(pipe, piece)
    finally:
        os.close(pipe)


async def _write(pipe: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        try:
            rest = rest[os.write(pipe, rest) :]
        except BlockingIOError:  # it has not read what was written before
            await asyncio.sleep(LOOK_S)
        except OSError as error:
            if error.errno == errno.EPIPE:  # it has ended
                return
            raise
