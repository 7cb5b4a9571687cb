"""What tasks wrote can be read after their machine has ended."""

import asyncio
from pathlib import Path

from tests.contract.backends.machines.memory_provider import MemoryProvider, machine_type
from tests.contract.backends.machines.room import NoTokens

from dovetail.backends.contract import Assignment
from dovetail.backends.machines.backend import MachineBackend
from dovetail.backends.machines.settings import JoinSettings, MachineSettings
from dovetail.backends.registered.protocol import TaskReport
from dovetail.model.command import attempt_key
from dovetail.model.event import Event
from dovetail.model.task import TaskId
from dovetail.model.workloads.workload import Workload
from dovetail.testing.rig import in_event_loop

WRITTEN = "".join(f"line {number} – ünïcode\n" for number in range(20_000))
NODE = "small-1"


async def _answer_calls(backend: MachineBackend) -> None:
    """As an agent does that keeps the output of its tasks."""
    content = WRITTEN.encode()
    while True:
        for call in backend.agents.calls.take(NODE):
            offset, limit = call.asked["offset"], call.asked["limit"]
            piece = content[offset : offset + limit]
            while (piece and (piece[-1] & 0xC0) == 0x80) or (piece and piece[-1] >= 0xC0):
                piece = piece[:-1]  # whole characters
            end = offset + len(piece)
            answer = {"text": piece.decode(), "next_offset": end, "ended": end >= len(content), "offset": None}
            backend.agents.calls.answer(NODE, call.id, answer)
        await asyncio.sleep(0.005)


@in_event_loop
async def test_output_is_fetched_before_an_idle_machine_ends_and_read_afterwards(tmp_path: Path) -> None:
    provider = MemoryProvider([machine_type("small")])
    settings, join = MachineSettings(poll=0.05, idle=0.0), JoinSettings(server="http://127.0.0.1:1", install="")
    backend = MachineBackend("cloud", provider, settings, join, tmp_path)
    backend.use_credentials(NoTokens())

    async def report(_: Event) -> None: ...

    await backend.start(report)
    task = TaskId(1, 0)
    work = Assignment(attempt_key(task, 1), task, NODE, Workload(name="a"))
    await backend.bind(work)
    async with asyncio.timeout(30):
        while not await provider.running():  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0.01)
    await backend.heartbeat(NODE, [TaskReport(work.key, "running")], answers=True)
    answering = asyncio.create_task(_answer_calls(backend))
    await backend.heartbeat(NODE, [TaskReport(work.key, "finished", 0)], answers=True)
    async with asyncio.timeout(30):
        while await provider.running():  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0.01)
    answering.cancel()
    text, offset, ended = "", 0, False
    while not ended:
        chunk = await backend.logs(work.key, offset, 100_000)
        text, offset, ended = text + chunk.text, chunk.next_offset, chunk.ended
    assert text == WRITTEN
    tail = await backend.log_tail(work.key, 1)
    assert (await backend.logs(work.key, tail, 1000)).text == "line 19999 – ünïcode\n"
    await backend.close()
