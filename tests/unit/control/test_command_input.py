"""What is typed into a command arrives once and in order, and whoever types faster than it reads waits."""

import asyncio

import pytest

from dovetail.backends.contract import TerminalSize
from dovetail.control.errors import Conflict
from dovetail.control.services import command_input
from dovetail.control.services.command_input import InputPipe


def test_a_piece_that_is_sent_twice_arrives_once() -> None:
    async def scene() -> None:
        pipe = InputPipe(b"first ")
        assert await pipe.put(b"second ", 6) == 13
        assert await pipe.put(b"second third", 6) == 18
        await pipe.resize(TerminalSize(10, 20))
        assert await pipe.put(b"", 18, ended=True) == 18
        assert await pipe.put(b"third", 13) == 18  # repeated, although it has ended
        assert [piece async for piece in pipe] == [b"first ", b"second ", b"third", TerminalSize(10, 20)]
        with pytest.raises(Conflict, match="its input has ended"):
            await pipe.put(b"more", 18)

    asyncio.run(scene())


def test_a_gap_is_refused() -> None:
    async def scene() -> None:
        with pytest.raises(Conflict, match="from byte 0 to byte 5 is missing"):
            await InputPipe().put(b"x", 5)

    asyncio.run(scene())


def test_who_sends_more_than_there_is_room_for_is_told_from_where_to_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command_input, "MOST_UNREAD_BYTES", 4)
    monkeypatch.setattr(command_input, "LONGEST_WAIT_S", 0.01)

    async def scene() -> None:
        pipe = InputPipe()
        assert await pipe.put(b"full", 0) == 4
        assert await pipe.put(b"more", 4) == 4
        assert await anext(pipe) == b"full"
        assert await pipe.put(b"more", 4) == 8
        await pipe.close()
        assert await pipe.put(b"to nobody", 8) == 17

    asyncio.run(scene())
