"""Runs one command of a batch system, and never leaves it behind: whatever happens to the caller, it is reaped."""

import asyncio
import contextlib
import os
import signal
import tempfile
from typing import IO, NamedTuple, TypeVar

_T = TypeVar("_T")


class Answer(NamedTuple):
    status: int
    said: str
    wrong: str

    def last_line(self) -> str:
        """The last line that it wrote to its standard error."""
        lines = self.wrong.strip().splitlines()
        return lines[-1] if lines else ""


async def run_command(command: list[str], environment: dict[str, str], timeout_s: float, given: str = "") -> Answer:
    """`given`: its standard input. Raises OSError if it cannot be run, TimeoutError if it does not end in time."""
    # A file, not a pipe: there is nothing to feed or close when the call is cancelled.
    with tempfile.TemporaryFile() as file:
        file.write(given.encode())
        file.seek(0)
        process = await _begin(command, environment, file)
    try:
        async with asyncio.timeout(timeout_s):
            said, wrong = await process.communicate()
    except (TimeoutError, asyncio.CancelledError):
        await _end(process)
        raise
    assert process.returncode is not None
    return Answer(process.returncode, said.decode(errors="replace"), wrong.decode(errors="replace"))


async def _begin(command: list[str], environment: dict[str, str], given: IO[bytes]) -> asyncio.subprocess.Process:
    """Cancellation waits until the process exists, so that it can be killed and reaped."""
    pipe = asyncio.subprocess.PIPE
    making = asyncio.ensure_future(
        asyncio.create_subprocess_exec(
            *command, env=environment, start_new_session=True, stdin=given, stdout=pipe, stderr=pipe
        )
    )
    try:
        return await _completed(making)
    except asyncio.CancelledError:
        with contextlib.suppress(OSError):
            await _end(making.result())
        raise


async def _end(process: asyncio.subprocess.Process) -> None:
    """Kill it, reap it and close its pipes."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await _completed(asyncio.ensure_future(process.communicate()))


async def _completed(work: asyncio.Future[_T]) -> _T:
    """Its result. A caller that is cancelled, however often, is so when the work is done: a process that is left half
    started or half ended would outlive the event loop."""
    cancelled = False
    while not work.done():
        try:
            await asyncio.wait([work])
        except asyncio.CancelledError:
            cancelled = True
    if cancelled:
        raise asyncio.CancelledError
    return work.result()
