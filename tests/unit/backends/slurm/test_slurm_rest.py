"""What the driver of slurmrestd does when a connection is dropped without an answer."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from dovetail.backends.batch.record import JobId
from dovetail.backends.slurm.driver import JobSubmission, SlurmFault
from dovetail.backends.slurm.rest import RestDriver
from dovetail.backends.slurm.settings import SlurmSettings

JOB = JobSubmission(
    name="job", script="#!/bin/sh\n", comment="", output="/dev/null", workdir="/", cpus=1, memory_mib=100
)


def asked(tmp_path: Path, drops: int, ask: Callable[[RestDriver], Awaitable[object]]) -> list[str]:
    """The methods of all requests to a server that drops the first so many connections."""
    seen: list[str] = []
    socket = tmp_path / "rest.sock"

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append((await reader.readuntil(b"\r\n\r\n")).split()[0].decode())
        if len(seen) <= drops:
            writer.transport.abort()
            return
        body = b'{"errors": []}'
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(body) + body)
        await writer.drain()
        writer.close()

    async def scene() -> None:
        server = await asyncio.start_unix_server(serve, socket)
        driver = RestDriver(SlurmSettings.model_validate({"url": f"unix:{socket}", "folder": str(tmp_path)}))
        try:
            async with server:
                await ask(driver)
        finally:
            await driver.close()

    asyncio.run(scene())
    return seen


def test_a_cancellation_is_sent_again(tmp_path: Path) -> None:
    assert asked(tmp_path, 1, lambda driver: driver.cancel(JobId(7))) == ["DELETE", "DELETE"]


def test_it_is_not_sent_for_ever_and_the_fault_has_words(tmp_path: Path) -> None:
    with pytest.raises(SlurmFault, match=r"rest\.sock: \w+"):
        asked(tmp_path, 2, lambda driver: driver.cancel(JobId(7)))


def test_a_submission_is_not_sent_again(tmp_path: Path) -> None:
    async def submit(driver: RestDriver) -> None:
        with pytest.raises(SlurmFault, match=r"rest\.sock: \w+"):
            await driver.submit(JOB)

    assert asked(tmp_path, 1, submit) == ["POST"]
