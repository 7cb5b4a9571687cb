"""Commands next to pods, and attached pods: the exec and attach of the API server, over a WebSocket.

The API server cannot end a command that it started: the command ends by itself, or with its pod. Servers before
Kubernetes 1.30 cannot be told that the input has ended.
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, Sequence
from typing import Any

from dovetail.asyncio_tasks import cancel
from dovetail.backends.contract import CommandInput, Refusal, TerminalSize
from dovetail.backends.kubernetes.naming import CONTAINER
from dovetail.kubernetes_client.api import Api
from dovetail.kubernetes_client.errors import ApiUnreachable, KubernetesApiError
from dovetail.kubernetes_client.paths import pod
from dovetail.kubernetes_client.streaming_response import BrokenExchange
from dovetail.kubernetes_client.websocket import OUTCOME, RESIZE, STDERR, STDIN, STDOUT, WebSocket

END_OF_INPUT = b"\x04"  # as a user types it in a terminal


async def execute_in(
    api: Api,
    namespace: str,
    name: str,
    command: Sequence[str],
    given: CommandInput | None,
    terminal: TerminalSize | None,
) -> AsyncGenerator[bytes | int]:
    """Run a command in a running pod: what it writes, and last its exit code."""
    options = _options(given is not None, terminal is not None) + [("command", word) for word in command]
    socket = await _opened(api, pod(namespace, name, "exec"), options)
    if terminal is not None:
        await _resize(socket, terminal)
    elif given is not None and not socket.can_end_input:
        socket.close()
        raise Refusal("this API server cannot be told that the input ends (it is older than 1.30); use a terminal (-t)")
    async with _fed(socket, given, terminal is not None):
        async for block in _blocks(socket):
            yield block


async def attach_to(api: Api, namespace: str, name: str, given: CommandInput | None) -> AsyncGenerator[bytes]:
    """First nothing, then what a running pod writes, to its end. Its input stays open when `given` ends."""
    socket = await _opened(api, pod(namespace, name, "attach"), _options(given is not None, has_terminal=False))
    async with _fed(socket, given, None):
        yield b""
        async for block in _blocks(socket):
            if isinstance(block, bytes):
                yield block


def _options(has_input: bool, has_terminal: bool) -> list[tuple[str, str]]:
    """In a terminal, output and error output are one."""
    wanted = ["stdout", *(["stdin"] if has_input else []), *(["tty"] if has_terminal else ["stderr"])]
    return [("container", CONTAINER), *((one, "true") for one in wanted)]


async def _opened(api: Api, path: str, options: list[tuple[str, str]]) -> WebSocket:
    try:
        return await api.websocket(path, options)
    except ApiUnreachable:
        raise
    except KubernetesApiError as error:
        raise Refusal(f"the API server refused: {error}") from error


async def _blocks(socket: WebSocket) -> AsyncGenerator[bytes | int]:
    """Output, and last the exit code."""
    try:
        while (message := await socket.receive()) is not None:
            channel, content = message
            if channel in (STDOUT, STDERR) and content:
                yield content
            elif channel == OUTCOME:
                yield exit_code_of(json.loads(content))
                return
    except BrokenExchange as error:
        raise ApiUnreachable(f"the connection to the API server broke: {error}") from None


def exit_code_of(status: dict[str, Any]) -> int:
    """From the `Status` object that ends an exec. Raises Refusal if the command could not be run."""
    if status.get("status") == "Success":
        return 0
    for cause in (status.get("details") or {}).get("causes") or ():
        if cause.get("reason") == "ExitCode":
            return int(cause["message"])
    raise Refusal(f"the node refused: {status.get('message') or status.get('reason') or status}")


async def _resize(socket: WebSocket, size: TerminalSize) -> None:
    await socket.send(RESIZE, json.dumps({"Width": size.columns, "Height": size.rows}).encode())


@contextlib.asynccontextmanager
async def _fed(socket: WebSocket, given: CommandInput | None, has_terminal: bool | None) -> AsyncGenerator[None]:
    """Inside the block the input is passed on, and then its end. `has_terminal` None: it has no end."""

    async def feed(pieces: CommandInput) -> None:
        with contextlib.suppress(BrokenExchange):  # the reader says so
            async for piece in pieces:
                if isinstance(piece, TerminalSize):
                    await _resize(socket, piece)
                else:
                    await socket.send(STDIN, piece)
            if has_terminal:
                await socket.send(STDIN, END_OF_INPUT)
            elif has_terminal is not None:
                await socket.end_input()

    feeding = None if given is None else asyncio.create_task(feed(given))
    try:
        yield
    finally:
        await cancel(feeding)
        socket.close()
