"""Connections to one hypervisor: every call in a thread, on a connection that nobody else uses meanwhile.

libvirt-python blocks. A call that hangs keeps its thread and its connection, and nothing else: the next call gets
another connection. Guarantees: no call takes longer than it may; a connection that failed or hung is not used again; at
most `MOST_HUNG` threads hang on a dead hypervisor, whose keepalives end them in time.
"""

import asyncio
import contextlib
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

import libvirt

from dovetail.backends.hosts.attempts import HostUnreachable
from dovetail.backends.libvirt.event_loop import ensure_event_loop
from dovetail.backends.libvirt.remote_access import RemoteAccess

KEEPALIVE_S, KEEPALIVES = 5, 3
MOST_HUNG = 16
_AWAY = (libvirt.VIR_ERR_RPC, libvirt.VIR_ERR_NO_CONNECT, libvirt.VIR_ERR_INVALID_CONN, libvirt.VIR_ERR_AUTH_FAILED)
_WIRE = (libvirt.VIR_FROM_RPC, libvirt.VIR_FROM_REMOTE)
T = TypeVar("T")
Virt = Any  # libvirt.virConnect: the package has no types


class HypervisorUnreachable(HostUnreachable):
    """It did not answer, or not in time. What was asked of it may have happened."""


class HypervisorConnections:
    def __init__(self, access: RemoteAccess, parallel: int, answer_within_s: float) -> None:
        self._access, self._answer_within_s = access, answer_within_s
        self._slots = asyncio.Semaphore(parallel + 2)  # two for looking around while VMs are made
        self._threads = ThreadPoolExecutor(MOST_HUNG + parallel + 4, thread_name_prefix="libvirt")
        self._idle: list[Virt] = []
        self._hung: set[Future[Any]] = set()  # calls that were given up and have not returned
        self._closed = False

    async def call(self, work: Callable[[Virt], T], within_s: float | None = None) -> T:
        """What `work` returns for a connection. Raises HypervisorUnreachable, and libvirt.libvirtError for an answer
        that is an error."""
        async with self._slots:
            connection = self._idle.pop() if self._idle else await self.open()
            try:
                found = await self._in_thread(lambda: work(connection), within_s, lambda _: close(connection))
            except libvirt.libvirtError as error:
                if not self._alive(connection, error):
                    self._discard(connection)
                    raise HypervisorUnreachable(self._access.words(str(error))) from error
                self._keep(connection)
                raise
            except HypervisorUnreachable:
                raise
            except Exception:
                self._keep(connection)
                raise
            self._keep(connection)
            return found

    async def open(self) -> Virt:
        """A connection of its own; the caller closes it."""
        ensure_event_loop()
        try:
            return await self._in_thread(self._open, None, close)
        except OSError as error:
            raise HypervisorUnreachable(f"the server cannot prepare the connection: {error}") from error

    def _open(self) -> Virt:
        uri = self._access.prepared()
        if unusable := self._access.unusable():
            raise HypervisorUnreachable(unusable)
        try:
            connection = libvirt.open(uri)
        except libvirt.libvirtError as error:
            raise HypervisorUnreachable(self._access.words(str(error))) from error
        with contextlib.suppress(libvirt.libvirtError):  # connections without a wire have none
            connection.setKeepAlive(KEEPALIVE_S, KEEPALIVES)
        return connection

    async def in_thread(self, work: Callable[[], T], within_s: float) -> T:
        """For calls on a connection that `open` returned."""
        return await self._in_thread(work, within_s, lambda _: None)

    async def close(self) -> None:
        self._closed = True
        for connection in self._idle:
            self._discard(connection)
        self._idle = []
        self._threads.shutdown(wait=False)

    async def _in_thread(self, work: Callable[[], T], within_s: float | None, late: Callable[[T], None]) -> T:
        """`late` gets the result of a call that was given up."""
        if len(self._hung) >= MOST_HUNG:
            raise HypervisorUnreachable(f"{len(self._hung)} calls have got no answer")
        within_s = within_s or self._answer_within_s
        running = self._threads.submit(work)
        waiting = asyncio.wrap_future(running)
        try:
            async with asyncio.timeout(within_s):  # wait_for of Python 3.11 may swallow a cancellation
                return await asyncio.shield(waiting)
        except (TimeoutError, asyncio.CancelledError) as error:
            if waiting.done() and not waiting.cancelled() and waiting.exception() is error:
                raise
            self._give_up(running, late)
            waiting.add_done_callback(_collect)
            if isinstance(error, TimeoutError):
                raise HypervisorUnreachable(self._access.silence(within_s)) from None
            raise

    def _give_up(self, running: "Future[T]", late: Callable[[T], None]) -> None:
        self._hung.add(running)

        def over(future: "Future[T]") -> None:
            self._hung.discard(future)
            with contextlib.suppress(Exception):
                late(None if future.exception() else future.result())  # type: ignore[arg-type]

        running.add_done_callback(over)

    def _alive(self, connection: Virt, error: "libvirt.libvirtError") -> bool:
        if error.get_error_code() in _AWAY or error.get_error_domain() in _WIRE:
            return False
        try:
            return bool(connection.isAlive())
        except libvirt.libvirtError:
            return False

    def _keep(self, connection: Virt) -> None:
        if self._closed:
            self._discard(connection)
        else:
            self._idle.append(connection)

    def _discard(self, connection: Virt) -> None:
        with contextlib.suppress(RuntimeError):  # the threads are gone
            self._threads.submit(close, connection)


def close(connection: Virt) -> None:
    with contextlib.suppress(Exception):
        connection.close()


def _collect(future: "asyncio.Future[Any]") -> None:
    if not future.cancelled():
        future.exception()
