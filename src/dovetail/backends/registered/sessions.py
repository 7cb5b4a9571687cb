"""Commands and attached tasks on a node with an agent: what they read and write, passed between server and agent.

The agent is told to begin one with its orders (`calls`). From then on it sends what is written, piece by piece, and
asks for what is to be read, with requests of its own. Guarantees: a piece that comes twice counts once, because pieces
are numbered; who is faster than the other side waits; a session that is over is unknown to the agent's next request,
and the agent then ends the command, or leaves the task. Sessions live in memory: they do not outlive the control plane.
"""

import asyncio
import contextlib
import secrets
from collections import deque
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field

from dovetail.asyncio_tasks import cancel
from dovetail.backends.contract import CommandInput, Refusal, TerminalSize

MOST_UNREAD_BYTES = 1024 * 1024  # in either direction
SILENT_FOR_S = 90.0  # an agent that has asked for no input for so long is gone


class UnknownSession(KeyError):
    """It is over, or never was."""


@dataclass(frozen=True, slots=True)
class SessionOutput:
    """A piece of output, or the end: an exit code, or why there is none. `unknown`: no such attempt runs there."""

    number: int
    content: bytes = b""
    exit_code: int | None = None
    error: str = ""
    unknown: bool = False


@dataclass(frozen=True, slots=True)
class SessionInput:
    """Pieces of input from the number on that was asked for. `next`: the number to ask for next. `ended`: no more."""

    pieces: list[bytes | TerminalSize]
    next: int
    ended: bool


@dataclass(slots=True, eq=False)
class AgentSession:
    id: str
    node: str
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition)
    _written: deque[SessionOutput] = field(default_factory=deque)
    _next_output: int = 0
    _unread_bytes: int = 0
    _given: deque[bytes | TerminalSize] = field(default_factory=deque)
    _first_given: int = 0
    _ended: bool = False
    _over: bool = False
    _heard_at: float = 0.0

    # --- the agent's side ----------------------------------------------------------------------------------------

    async def take(self, output: SessionOutput, wait_s: float) -> bool:
        """False if there was no room for it in time: it is sent again. Raises UnknownSession."""
        async with self._changed:
            self._hear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await self._changed.wait_for(lambda: self._over or self._unread_bytes < MOST_UNREAD_BYTES)
            self._hear()
            if output.number != self._next_output:  # it came before
                return output.number < self._next_output
            if self._unread_bytes >= MOST_UNREAD_BYTES:
                return False
            self._next_output += 1
            self._unread_bytes += len(output.content)
            self._written.append(output)
            self._changed.notify_all()
            return True

    async def give(self, after: int, wait_s: float) -> SessionInput:
        """Input from this number on, as soon as there is some. Raises UnknownSession."""
        async with self._changed:
            self._hear()
            while self._given and self._first_given < after:
                self._given.popleft()
                self._first_given += 1
            self._changed.notify_all()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await self._changed.wait_for(lambda: self._over or self._next_given() > after)
            self._hear()
            return SessionInput(list(self._given), self._next_given(), self._ended)

    def _hear(self) -> None:
        if self._over:
            raise UnknownSession(self.id)
        self._heard_at = asyncio.get_running_loop().time()

    # --- the server's side ---------------------------------------------------------------------------------------

    async def feed(self, given: CommandInput | None) -> None:
        """Pass on the input until it ends."""
        if given is not None:
            async for piece in given:
                async with self._changed:
                    await self._changed.wait_for(lambda: self._over or self._given_bytes() < MOST_UNREAD_BYTES)
                    self._given.append(piece)
                    self._changed.notify_all()
        async with self._changed:
            self._ended = True
            self._changed.notify_all()

    async def blocks(self) -> AsyncGenerator[bytes | int]:
        """What is written, and last the exit code. Raises KeyError and Refusal."""
        while True:
            output = await self._next()
            if output.unknown:
                raise KeyError(self.id)
            if output.error:
                raise Refusal(output.error)
            if output.exit_code is not None:
                yield output.exit_code
                return
            yield output.content

    async def close(self) -> None:
        async with self._changed:
            self._over = True
            self._changed.notify_all()

    async def _next(self) -> SessionOutput:
        while True:
            async with self._changed:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(SILENT_FOR_S):
                        await self._changed.wait_for(lambda: bool(self._written))
                if self._written:
                    output = self._written.popleft()
                    self._unread_bytes -= len(output.content)
                    self._changed.notify_all()
                    return output
            if asyncio.get_running_loop().time() - self._heard_at > SILENT_FOR_S:
                raise TimeoutError(f"the agent of node {self.node} has been silent for {SILENT_FOR_S:g} s")

    def _next_given(self) -> int:
        """The end of the input has a number too: who knows of it waits for the end of the session."""
        return self._first_given + len(self._given) + self._ended

    def _given_bytes(self) -> int:
        return sum(len(piece) for piece in self._given if isinstance(piece, bytes))


class AgentSessions:
    def __init__(self) -> None:
        self._open: dict[str, AgentSession] = {}

    @contextlib.asynccontextmanager
    async def opened(self, node: str, given: CommandInput | None) -> AsyncGenerator[AgentSession]:
        """A session that is over after the block."""
        session = AgentSession(secrets.token_urlsafe(16), node)
        self._open[session.id] = session
        feeding = asyncio.create_task(session.feed(given))
        try:
            yield session
        finally:
            del self._open[session.id]
            await cancel(feeding)
            await session.close()

    def find(self, node: str, session: str) -> AgentSession:
        """Raises UnknownSession, also for that of another node."""
        found = self._open.get(session)
        if found is None or found.node != node:
            raise UnknownSession(session)
        return found
