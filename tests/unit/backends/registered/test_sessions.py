"""What commands on a node with an agent read and write, on both sides of the server."""

import asyncio

import pytest

from dovetail.backends.contract import Refusal, TerminalSize
from dovetail.backends.registered.sessions import MOST_UNREAD_BYTES, AgentSessions, SessionOutput, UnknownSession
from dovetail.control.services.command_input import InputPipe

ENOUGH_S = 30.0


def test_a_piece_that_comes_twice_counts_once_and_one_that_is_missing_is_waited_for() -> None:
    async def scene() -> None:
        sessions = AgentSessions()
        async with sessions.opened("n1", None) as session:
            assert not await session.take(SessionOutput(1, b"later"), ENOUGH_S)
            assert await session.take(SessionOutput(0, b"first"), ENOUGH_S)
            assert await session.take(SessionOutput(0, b"first"), ENOUGH_S)
            assert await session.take(SessionOutput(1, b"later"), ENOUGH_S)
            assert await session.take(SessionOutput(2, exit_code=3), ENOUGH_S)
            assert [block async for block in session.blocks()] == [b"first", b"later", 3]

    asyncio.run(scene())


def test_input_is_given_again_until_the_next_is_asked_for() -> None:
    async def scene() -> None:
        given = InputPipe(b"typed")
        async with AgentSessions().opened("n1", given) as session:
            first = await session.give(0, ENOUGH_S)
            assert (first.pieces, first.next, first.ended) == ([b"typed"], 1, False)
            assert await session.give(0, ENOUGH_S) == first
            await given.resize(TerminalSize(1, 2))
            await given.put(b"", 5, ended=True)
            second = await session.give(first.next, ENOUGH_S)
            while not second.ended:
                second = await session.give(second.next, ENOUGH_S)
            assert (await session.give(second.next, 0)).ended  # only the end of the session is news now

    asyncio.run(scene())


def test_who_writes_faster_than_it_is_read_waits() -> None:
    async def scene() -> None:
        async with AgentSessions().opened("n1", None) as session:
            assert await session.take(SessionOutput(0, bytes(MOST_UNREAD_BYTES)), ENOUGH_S)
            assert not await session.take(SessionOutput(1, b"more"), 0)
            blocks = session.blocks()
            await anext(blocks)
            assert await session.take(SessionOutput(1, b"more"), ENOUGH_S)
            assert await anext(blocks) == b"more"

    asyncio.run(scene())


def test_a_session_is_its_nodes_alone_and_unknown_when_it_is_over() -> None:
    async def scene() -> None:
        sessions = AgentSessions()
        async with sessions.opened("n1", InputPipe()) as session:
            with pytest.raises(UnknownSession):
                sessions.find("n2", session.id)
            waiting = asyncio.create_task(sessions.find("n1", session.id).give(0, ENOUGH_S))
            await asyncio.sleep(0)
        with pytest.raises(UnknownSession):
            await waiting
        with pytest.raises(UnknownSession):
            sessions.find("n1", session.id)

    asyncio.run(scene())


@pytest.mark.parametrize(
    ("last", "kind"), [(SessionOutput(0, unknown=True), KeyError), (SessionOutput(0, error="no such program"), Refusal)]
)
def test_an_end_without_exit_code_says_why(last: SessionOutput, kind: type[Exception]) -> None:
    async def scene() -> None:
        async with AgentSessions().opened("n1", None) as session:
            await session.take(last, ENOUGH_S)
            with pytest.raises(kind):
                await anext(session.blocks())

    asyncio.run(scene())
