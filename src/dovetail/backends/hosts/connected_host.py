"""One host: stays connected to it, looks at it again and again, and reports it as a node.

Guarantees: a host that does not answer is reported offline and is tried again for ever, with backoff; when it is back,
all that runs there is checked first. It is looked at every `look_interval_s` and whenever somebody asks for it, so a
lost event delays a report but loses none. A report that its receiver did not take is made again.
"""

import asyncio
import contextlib
import logging
from abc import ABC, abstractmethod
from collections.abc import Coroutine
from typing import Any

from dovetail.backends.attempt_journal import Record
from dovetail.backends.contract import Report, Status
from dovetail.backends.hosts.attempts import HostAttempts, HostUnreachable
from dovetail.model.backoff import Backoff
from dovetail.model.event import NodeHealthChanged, NodeJoined, NodeObserved
from dovetail.model.node import Node

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 5.0
_log = logging.getLogger(__name__)


class ConnectedHost(ABC):
    #: For names of tasks, and what the log calls a host.
    kind: str
    host_word: str
    #: Errors whose words say enough about the host.
    said_by_host: tuple[type[Exception], ...] = (HostUnreachable,)
    attempts: HostAttempts[Any]

    def __init__(self, name: str, report: Report, look_interval_s: float) -> None:
        self.name = name
        self.met = asyncio.Event()
        """It was tried once, successfully or not."""
        self.trouble = "it has not been asked yet"
        self._report, self._look_interval_s = report, look_interval_s
        self._reported: Node | None = None  # as it was last reported; None: it has to be reported
        self._offline_reported = False
        self._poll_now = asyncio.Event()
        self._broken = asyncio.Event()

    # --- what a backend adds ---------------------------------------------------------------------------------

    @abstractmethod
    async def describe(self) -> Node:
        """The current node, asked of the host."""

    @abstractmethod
    async def status(self, record: Record) -> Status:
        """Of an attempt that has not ended."""

    @abstractmethod
    async def close(self) -> None: ...

    @abstractmethod
    async def _greet(self) -> Node:
        """Connect, and describe it. Raises HostUnreachable, also if it must not be used."""

    @abstractmethod
    async def _look(self) -> None:
        """Check all that runs there, and every attempt that should."""

    @abstractmethod
    def _work(self) -> list[tuple[str, Coroutine[Any, Any, None]]]:
        """What else goes on while it is connected, each with a name."""

    async def _after_look(self) -> None:  # noqa: B027 - not every host has something
        """Something that can wait until everything was looked at."""

    async def _disconnected(self) -> None:  # noqa: B027 - not every host keeps something
        """What was kept for the connection can go."""

    # --- the life of the connection --------------------------------------------------------------------------

    @property
    def online(self) -> bool:
        return self.attempts.reachable.is_set()

    @property
    def offline(self) -> str:
        """What to say of it while it is."""
        return f"{self.host_word} {self.name} is offline: {self.trouble}"

    def look_again(self) -> None:
        """Something changed that its events do not tell."""
        self._poll_now.set()

    async def run(self) -> None:
        """Until cancelled."""
        backoff = Backoff(FIRST_PAUSE_S, LONGEST_PAUSE_S)
        while True:
            try:
                await self._connect()
                backoff.reset()
                self.met.set()
                await self._stay_connected()
            except self.said_by_host as error:
                await self._mark_offline(str(error))
            except Exception as error:  # a host with unexpected answers gets no work
                _log.exception("%s %s: trying again in %.1f s", self.host_word, self.name, backoff.pause_s)
                await self._mark_offline(f"{type(error).__name__}: {error}")
            self.met.set()
            await asyncio.sleep(backoff.next_s())

    async def _connect(self) -> None:
        node = await self._greet()
        self._broken.clear()
        self.trouble = ""
        self.attempts.reachable.set()
        await self._announce(node)
        await self._look()

    async def _stay_connected(self) -> None:
        """Until the connection breaks. `run` then reconnects once, and the host is offline if that fails."""
        going = [("looks", self._poll()), *self._work()]
        tasks: list[asyncio.Task[Any]] = [
            asyncio.create_task(work, name=f"{self.kind}: {what} of {self.name}") for what, work in going
        ]
        tasks.append(asyncio.create_task(self._broken.wait(), name=f"{self.kind}: trouble of {self.name}"))
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            found = await asyncio.gather(*tasks, return_exceptions=True)
        for task, error in zip(tasks, found, strict=True):
            if task in done and isinstance(error, Exception) and not isinstance(error, HostUnreachable):
                raise error

    async def _poll(self) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._look_interval_s):
                    await self._poll_now.wait()
            self._poll_now.clear()
            await self._announce(await self.describe())
            await self._look()
            await self._after_look()

    def _check_connection(self) -> None:
        """A call got no answer: connect again."""
        self.attempts.reachable.clear()
        self._broken.set()

    # --- reports ---------------------------------------------------------------------------------------------

    async def _announce(self, node: Node) -> None:
        if node != self._reported and await self._send(NodeJoined(node)):
            self._reported = node
            self._offline_reported = False

    async def _mark_offline(self, reason: str) -> None:
        self.attempts.reachable.clear()
        self.trouble = reason
        await self._disconnected()
        if self._offline_reported:
            return
        _log.warning("%s %s is offline: %s", self.host_word, self.name, reason)
        if await self._send(NodeHealthChanged(self.name, False, reason)):
            self._offline_reported = True
            self._reported = None  # when it is back, NodeJoined also reports it as online

    async def _send(self, event: NodeJoined | NodeHealthChanged | NodeObserved) -> bool:
        """False if the receiver failed, which says nothing about the host. The report is repeated later."""
        try:
            await self._report(event)
        except Exception:
            _log.exception("%s %s: a report failed and will be made again", self.host_word, self.name)
            return False
        return True
