"""The serial console of a VM as a stream in both directions, through libvirt."""

import asyncio
import contextlib
import threading
from collections.abc import AsyncGenerator, Callable
from typing import Any

import libvirt

from dovetail.asyncio_tasks import cancel
from dovetail.backends.contract import CommandInput, TerminalSize
from dovetail.backends.libvirt.connection import HypervisorConnections, Virt, close

BLOCK_BYTES = 16384


async def attach_console(
    connections: HypervisorConnections, find: Callable[[Virt], Any], given: CommandInput | None, within_s: float
) -> AsyncGenerator[bytes]:
    """Yields nothing (`b""`) once it is attached, then what the guest writes, until the VM is off."""
    virt = await connections.open()
    stream: Any = None
    writing: asyncio.Task[None] | None = None
    try:

        def begin() -> Any:
            stream = virt.newStream()
            find(virt).openConsole(None, stream, libvirt.VIR_DOMAIN_CONSOLE_FORCE)
            return stream

        stream = await connections.in_thread(begin, within_s)
        yield b""
        blocks: asyncio.Queue[bytes | None] = asyncio.Queue()
        _read_in_thread(stream, asyncio.get_running_loop(), blocks)
        if given is not None:
            writing = asyncio.create_task(_write(connections, stream, given, within_s), name="libvirt: console input")
        while (block := await blocks.get()) is not None:
            yield block
    finally:
        await cancel(writing)
        if stream is not None:
            with contextlib.suppress(libvirt.libvirtError):
                stream.abort()
        close(virt)


def _read_in_thread(stream: Any, loop: asyncio.AbstractEventLoop, blocks: "asyncio.Queue[bytes | None]") -> None:
    """A thread of its own, as a console may be silent for days."""

    def read() -> None:
        block: bytes | None = b""
        while block is not None:
            try:
                block = stream.recv(BLOCK_BYTES) or None
            except libvirt.libvirtError:  # the VM is off, or the reader has left
                block = None
            try:
                loop.call_soon_threadsafe(blocks.put_nowait, block)
            except RuntimeError:  # the event loop has ended
                return

    threading.Thread(target=read, name="libvirt console", daemon=True).start()


async def _write(connections: HypervisorConnections, stream: Any, given: CommandInput, within_s: float) -> None:
    async for piece in given:
        if isinstance(piece, TerminalSize):  # a serial line has no size
            continue
        while piece:
            sent = await connections.in_thread(lambda piece=piece: stream.send(piece), within_s)  # type: ignore[misc]
            if sent < 0:
                return
            piece = piece[sent:]
