"""Runs a command next to an attempt: in its directory, with its environment, inside its cgroups.

Guarantees: where there are cgroups, the limits of the attempt hold for the command, too, and it ends with the attempt.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

from dovetail.backends.local import supervisor

BLOCK_BYTES = 64 * 1024
#: Joins the cgroups before `--`, then becomes the command after it.
_JOIN = """\
while [ "$1" != -- ]; do echo $$ > "$1/cgroup.procs" || exit 126; shift; done
shift
exec "$@"
"""


async def execute_in(run: Path, command: Sequence[str], stdin: bytes) -> AsyncGenerator[bytes | int]:
    """`run`: the run folder of an attempt that runs."""
    order = supervisor.unpack(await asyncio.to_thread((run / supervisor.ORDER).read_bytes))
    process = await asyncio.create_subprocess_exec(
        *("/bin/sh", "-c", _JOIN, "exec", *order.get("cgroup", []), "--", *command),
        cwd=order["workdir"][0],
        env=dict(entry.split("=", 1) for entry in order.get("env", [])),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    feeding = asyncio.create_task(_feed(process.stdin, stdin))
    try:
        while block := await process.stdout.read(BLOCK_BYTES):
            yield block
        code = await process.wait()
        yield 128 - code if code < 0 else code
    finally:
        feeding.cancel()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


async def _feed(pipe: asyncio.StreamWriter, content: bytes) -> None:
    with contextlib.suppress(ConnectionError):  # it may end without reading
        pipe.write(content)
        await pipe.drain()
        pipe.close()
