"""Output since a time: what every backend that knows when an attempt wrote what must answer."""

import asyncio
import time

from tests.contract.backends.conformance import Rig, Subject
from tests.contract.backends.sessions import beside

from dovetail.backends.contract import Assignment, AttachingBackend, TimedLogs
from dovetail.control.services.command_input import InputPipe

ECHOES = "echo before; echo of old; while read word; do echo $word; done"


class SinceATime:
    """With a fixture `subject`, whose backend can attach."""

    def test_what_was_written_since_a_time_is_found(self, subject: Subject) -> None:
        async def scene(rig: Rig, work: Assignment) -> None:
            assert isinstance(rig.backend, TimedLogs)
            assert isinstance(rig.backend, AttachingBackend)
            await until_written(rig, work, "of old\n")
            at = time.time()
            blocks = rig.backend.attach(work.key, InputPipe(b"after\n"))
            while await anext(blocks) != b"after\n":
                pass
            await blocks.aclose()
            assert await since(rig, work, 0.0) == "before\nof old\nafter\n"
            assert await since(rig, work, at) == "after\n"
            assert await since(rig, work, time.time() + 1) == ""

        beside(subject, scene, ECHOES)


async def until_written(rig: Rig, work: Assignment, end: str) -> None:
    written = ""
    while not written.endswith(end):
        await asyncio.sleep(0.05)
        written = (await rig.backend.logs(work.key, 0, 1000)).text


async def since(rig: Rig, work: Assignment, at: float) -> str:
    assert isinstance(rig.backend, TimedLogs)
    offset = await rig.backend.log_since(work.key, at)
    assert offset is not None
    return (await rig.backend.logs(work.key, offset, 1000)).text
