"""Commands next to tasks, and attached tasks: what every backend that has them must do, against the real system."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing

import pytest
from tests.contract.backends.conformance import LONG_S, Rig, Subject, run_async, started

from dovetail.backends.contract import Assignment, AttachingBackend, ExecutingBackend, TerminalSize
from dovetail.control.services.command_input import InputPipe
from dovetail.model.event import TaskStarted
from dovetail.model.workloads.workload import Workload

ANSWERS = 'while read word; do echo "heard $word"; [ "$word" != enough ] || exit 7; done; echo no more input; exit 9'


Scene = Callable[[Rig, Assignment], Awaitable[None]]


def script(subject: Subject, text: str, *, stdin: bool = False) -> Workload:
    """Work of the subject that runs this script instead."""
    spec = subject.workload(LONG_S, 0, "")
    return spec.model_copy(
        update={"run": spec.run.model_copy(update={"command": ["/bin/sh", "-c", text], "stdin": stdin})}
    )


async def until_said(blocks: AsyncGenerator[bytes | int], wanted: bytes) -> bytes:
    """What is written until then. Everything else is an end that came too soon."""
    said = b""
    while wanted not in said:
        block = await anext(blocks)
        assert isinstance(block, bytes), f"it ended with {block} after {said!r}"
        said += block
    return said


async def to_end(blocks: AsyncGenerator[bytes | int]) -> tuple[bytes, int]:
    *said, code = [block async for block in blocks]
    assert isinstance(code, int)
    return b"".join(block for block in said if isinstance(block, bytes)), code


class Executing:
    """With a fixture `subject`."""

    def test_a_command_answers_while_it_is_typed_and_hears_that_there_is_no_more(self, subject: Subject) -> None:
        async def scene(rig: Rig, work: Assignment) -> None:
            assert isinstance(rig.backend, ExecutingBackend)
            given = InputPipe()
            blocks = rig.backend.execute(work.key, ["sh", "-c", ANSWERS], given)
            await given.put(b"one\n", 0)
            assert b"heard one\n" in await until_said(blocks, b"one\n")
            await given.put(b"two\n", 4)
            await until_said(blocks, b"heard two\n")
            await given.put(b"", 8, ended=True)
            assert await to_end(blocks) == (b"no more input\n", 9)

        beside(subject, scene)

    def test_a_large_input_arrives_whole(self, subject: Subject) -> None:
        async def scene(rig: Rig, work: Assignment) -> None:
            assert isinstance(rig.backend, ExecutingBackend)
            content = b"a line of some length\n" * 50_000
            blocks = rig.backend.execute(work.key, ["sh", "-c", "wc -c"], InputPipe(content, ended=True))
            said, code = await to_end(blocks)
            assert (said.strip(), code) == (b"%d" % len(content), 0)

        beside(subject, scene)

    def test_a_large_output_arrives_whole_though_the_input_has_ended(self, subject: Subject) -> None:
        async def scene(rig: Rig, work: Assignment) -> None:
            assert isinstance(rig.backend, ExecutingBackend)
            content = b"a line of some length\n" * 20_000
            said, code = await to_end(rig.backend.execute(work.key, ["cat"], InputPipe(content, ended=True)))
            assert (said == content, code) == (True, 0)

        beside(subject, scene)

    def test_a_terminal_has_its_size_its_echo_and_ctrl_c(self, subject: Subject) -> None:
        async def scene(rig: Rig, work: Assignment) -> None:
            assert isinstance(rig.backend, ExecutingBackend)
            given = InputPipe()
            text = "trap 'echo interrupted; exit 4' INT; test -t 0 && echo is a terminal; read x; stty size"
            text += "; while :; do sleep 0.1; done"
            blocks = rig.backend.execute(work.key, ["sh", "-c", text], given, TerminalSize(30, 100))
            await until_said(blocks, b"is a terminal\r\n")
            await given.resize(TerminalSize(31, 101))
            await given.put(b"typed\n", 0)
            assert b"typed\r\n" in await until_said(blocks, b"31 101\r\n")
            await given.put(b"\x03", 6)
            said, code = await to_end(blocks)
            assert b"interrupted" in said
            assert code == 4

        beside(subject, scene)


class Attaching:
    """With a fixture `subject`."""

    def test_an_attached_task_answers_goes_on_when_left_and_gives_its_exit_code(self, subject: Subject) -> None:
        async def scene(rig: Rig, work: Assignment) -> None:
            assert isinstance(rig.backend, AttachingBackend)
            given = InputPipe()
            async with aclosing(rig.backend.attach(work.key, given)) as blocks:
                assert await anext(blocks) == b""
                await given.put(b"one\n", 0)
                await until_said(blocks, b"heard one\n")
                await given.put(b"", 4, ended=True)
            again = InputPipe(b"enough\n")
            said, code = await to_end(rig.backend.attach(work.key, again))
            assert (said, code) == (b"heard enough\n", 7), (said, code)
            assert (await rig.finished(work.key)).exit_code == 7
            with pytest.raises(KeyError):
                await anext(rig.backend.attach(work.key))

        beside(subject, scene, ANSWERS)

    def test_a_task_without_input_is_followed_to_its_end(self, subject: Subject) -> None:
        async def scene(rig: Rig, work: Assignment) -> None:
            assert isinstance(rig.backend, AttachingBackend)
            blocks = rig.backend.attach(work.key)
            await anext(blocks)
            assert (await to_end(blocks))[1] == 6

        beside(subject, scene, "cat; sleep 1; exit 6", stdin=False)


def beside(subject: Subject, scene: Scene, text: str = f"sleep {LONG_S}", *, stdin: bool = True) -> None:
    async def whole() -> None:
        async with started(subject) as rig:
            work = rig.assignment(1, script(subject, text, stdin=stdin))
            await rig.backend.bind(work)
            await rig.reports.until(TaskStarted, work.key)
            async with asyncio.timeout(120):
                await scene(rig, work)

    run_async(whole)
