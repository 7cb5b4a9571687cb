"""Commands next to tasks of this machine, and tasks that somebody attached to, for a control plane elsewhere.

Two requests are under way for each: one asks for input, one sends output. When the control plane does not know the
session any more, or cannot be reached for a while, the command ends; a task that was attached to goes on.
"""

import asyncio
import contextlib
import logging
from base64 import b64decode, b64encode
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from dovetail.agent.executors import Executors
from dovetail.asyncio_tasks import cancel
from dovetail.backends.contract import Refusal, TerminalSize
from dovetail.client import Client, ConnectError, DovetailError
from dovetail.responses.nodes import AgentCall, InputPieces

T = TypeVar("T")

MOST_SESSIONS = 30
WAIT_FOR_INPUT_S = 30.0
GIVE_UP_S = 30.0  # without an answer of the control plane
PAUSE_S = 0.3
PIECE_BYTES = 256 * 1024
_GONE = 404

_log = logging.getLogger(__name__)


class _Over(Exception):
    """The control plane does not know the session any more."""


class AgentTerminals:
    """All sessions of an agent. Each has two threads at most, beside those of everything else."""

    def __init__(self, node: str, work: Executors, client: Client) -> None:
        self._node, self._work, self._client = node, work, client
        self._threads = ThreadPoolExecutor(2 * MOST_SESSIONS + 2, thread_name_prefix="session")
        self._open = 0

    async def serve(self, call: AgentCall) -> None:
        """Until the command has ended, or nobody wants it any more."""
        asked, number = call["asked"], 0
        session = str(asked["session"])
        send = partial(self._ask, self._client.send_output, self._node, session)
        self._open += 1
        try:
            if self._open > MOST_SESSIONS:
                await send(number=0, error=f"{MOST_SESSIONS} commands run on this node already; try again later")
                return
            async with contextlib.aclosing(self._blocks(call, session)) as blocks:
                async for block in blocks:
                    if isinstance(block, int):
                        await send(number=number, exit_code=block)
                        return
                    for piece in _pieces(block):
                        await send(number=number, content=b64encode(piece).decode())
                        number += 1
        except _Over:
            return
        except KeyError:
            await self._last(send, number, unknown=True)
        except Exception as error:  # of a backend; the asker is told
            _log.info("a command next to attempt %s has failed: %s", call["key"], error)
            words = str(error) if isinstance(error, Refusal | TimeoutError) else f"{type(error).__name__}: {error}"
            await self._last(send, number, error=words[:2000] or "it failed")
        finally:
            self._open -= 1

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _last(self, send: Callable[..., Any], number: int, **how: Any) -> None:
        with contextlib.suppress(_Over, ConnectError, DovetailError):
            await send(number=number, **how)

    async def _blocks(self, call: AgentCall, session: str) -> AsyncGenerator[bytes | int]:
        """What is written. Ends with _Over when the session does, however silent the command is."""
        asked, pieces = call["asked"], asyncio.Queue[bytes | TerminalSize | None]()
        size = asked.get("terminal")
        terminal = None if size is None else TerminalSize(int(size["rows"]), int(size["columns"]))
        given = _until_none(pieces) if asked["input"] else None
        if call["kind"] == "execute":
            blocks = self._work.execute(call["key"], [str(one) for one in asked["command"]], given, terminal)
        else:
            blocks = self._work.attach(call["key"], given)
        hearing = asyncio.ensure_future(self._hear(session, pieces))
        try:
            async with contextlib.aclosing(blocks):
                while True:
                    coming = asyncio.ensure_future(anext(blocks, None))
                    await asyncio.wait({coming, hearing}, return_when=asyncio.FIRST_COMPLETED)
                    if not coming.done():
                        await cancel(coming)
                        hearing.result()
                        raise _Over
                    if (block := coming.result()) is None:
                        return
                    yield block
        finally:
            await cancel(hearing)

    async def _hear(self, session: str, pieces: "asyncio.Queue[bytes | TerminalSize | None]") -> None:
        """Take input until the session is over. After the end of the input it only waits for that."""
        after, ended = 0, False
        while True:
            ask = partial(self._client.session_input, self._node, session, after=after, wait_s=WAIT_FOR_INPUT_S)
            found: InputPieces = await self._ask(ask)
            after = found["next"]
            for one in found["pieces"]:
                if one["content"] is not None:
                    pieces.put_nowait(b64decode(one["content"]))
                elif one["rows"] is not None and one["columns"] is not None:
                    pieces.put_nowait(TerminalSize(one["rows"], one["columns"]))
            if found["ended"] and not ended:
                ended = True
                pieces.put_nowait(None)

    async def _ask(self, ask: Callable[..., T], *about: Any, **more: Any) -> T:
        """Raises _Over, and what the client raises if nobody answers for a while."""
        loop = asyncio.get_running_loop()
        gives_up_at = loop.time() + GIVE_UP_S
        while True:
            try:
                return await loop.run_in_executor(self._threads, partial(ask, *about, **more))
            except (ConnectError, DovetailError) as error:
                if isinstance(error, DovetailError) and error.status == _GONE:
                    raise _Over from None
                is_final = isinstance(error, DovetailError) and error.status < 500
                if is_final or loop.time() > gives_up_at:
                    raise
                await asyncio.sleep(PAUSE_S)


def _pieces(block: bytes) -> list[bytes]:
    """An empty block is one piece: it says that a task was attached to."""
    return [block[start : start + PIECE_BYTES] for start in range(0, len(block), PIECE_BYTES)] or [block]


async def _until_none(
    pieces: "asyncio.Queue[bytes | TerminalSize | None]",
) -> AsyncGenerator[bytes | TerminalSize]:
    while (piece := await pieces.get()) is not None:
        yield piece
