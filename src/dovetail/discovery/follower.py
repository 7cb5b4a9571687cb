"""Keeps a copy of the server's endpoints up to date, and answers from it meanwhile: also while the server is away, and
after a restart of this process, from a file.

Guarantees: asks for ever, with growing, random pauses while nobody answers. A change is in the copy before the next
question goes out. Before the copy of a file is used, the server gets a moment to send the present state. The file is
replaced as a whole, or not at all.
"""

import asyncio
import logging
import os
import random
from collections.abc import Awaitable, Callable
from pathlib import Path

from dovetail.discovery.endpoint import ServiceKey
from dovetail.discovery.mirror import EndpointMirror, UnreadableCopy
from dovetail.responses.discovery import EndpointChanges

WAIT_S = 30.0
BETWEEN_S = 0.05  # at most: what changes meanwhile comes in one answer
FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 2.0
SERVER_FIRST_S = 3.0  # how long the file waits for the server at the start
WRITE_EVERY_S = 2.0
FILE = "endpoints.json"

_log = logging.getLogger(__name__)

#: What changed after a version, at the latest after so many seconds. May raise anything.
AskChanges = Callable[[int, float], Awaitable[EndpointChanges]]
#: Called with the services that changed, whether some are new or gone, and whether addresses of nodes changed.
Changed = Callable[[set[ServiceKey], bool, bool], None]


class EndpointFollower:
    """`folder`: where the copy is kept; None: nowhere. `known` is set when there is something to answer from."""

    def __init__(self, mirror: EndpointMirror, ask: AskChanges, changed: Changed, folder: Path | None) -> None:
        self.mirror, self._ask, self._changed = mirror, ask, changed
        self._file = None if folder is None else folder / FILE
        self.known = asyncio.Event()
        self.connected = False
        self.heard_at: float | None = None  # when the server answered last, by the clock of the event loop
        self.changes = 0  # of endpoints, that were taken in
        self._unwritten = False

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._follow())
            group.create_task(self._use_file())
            group.create_task(self._write_now_and_then())

    async def _follow(self) -> None:
        pause_s = FIRST_PAUSE_S
        while True:
            try:
                changes = await self._ask(self.mirror.version, WAIT_S)
            except Exception as error:  # of a client that this module does not know
                self._note_trouble(error)
                await asyncio.sleep(pause_s * random.uniform(0.5, 1.5))  # noqa: S311 - no secret
                pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
                continue
            pause_s = FIRST_PAUSE_S
            self._take(changes)
            await asyncio.sleep(BETWEEN_S)

    def _note_trouble(self, error: Exception) -> None:
        if self.connected or self.heard_at is None:
            _log.warning("no endpoints from the control plane, goes on with those it knows: %s", error)
        self.connected = False
        self.heard_at = self.heard_at or 0.0

    def _take(self, changes: EndpointChanges) -> None:
        if not self.connected:
            _log.info("follows the control plane")
        self.connected, self.heard_at = True, asyncio.get_running_loop().time()
        if changes["version"] != self.mirror.version or changes["full"]:
            self._apply(changes)
            self._unwritten = True
        self.known.set()

    def _apply(self, changes: EndpointChanges) -> None:
        services, nodes = self.mirror.apply(changes)
        self.changes += len(changes["endpoints"]) + len(changes["endpoints_gone"])
        names = bool(changes["full"] or changes["services"] or changes["services_gone"])
        self._changed(services, names, nodes)

    # --- the file ----------------------------------------------------------------------------------------------------

    async def _use_file(self) -> None:
        """If the server does not answer in time."""
        try:
            async with asyncio.timeout(SERVER_FIRST_S):
                await self.known.wait()
        except TimeoutError:
            kept = await asyncio.to_thread(self._read)
            if kept is not None and not self.known.is_set():
                _log.warning("the control plane does not answer; uses the %d endpoints in %s", len(kept), self._file)
                self._replace(kept)
                self.known.set()

    def _replace(self, kept: EndpointMirror) -> None:
        self.mirror.become(kept)
        self._changed(set(kept.services), True, True)

    def _read(self) -> EndpointMirror | None:
        if self._file is None:
            return None
        try:
            return EndpointMirror.read(self._file.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, UnreadableCopy) as error:
            _log.warning("%s cannot be used, waits for the control plane: %s", self._file, error)
            return None

    async def _write_now_and_then(self) -> None:
        while self._file is not None:
            await asyncio.sleep(WRITE_EVERY_S)
            if self._unwritten:
                self._unwritten = False
                await asyncio.to_thread(self._write, await self._text())

    async def _text(self) -> bytes:
        """Written here in small pieces. A thread would be worse: the event loop would wait for it at every packet."""
        pieces = []
        for piece in self.mirror.text():
            pieces.append(piece)
            await asyncio.sleep(0)
        return b"".join(pieces)

    def write(self) -> None:
        """What is not in the file yet."""
        if self._unwritten:
            self._unwritten = False
            self._write(b"".join(self.mirror.text()))

    def _write(self, text: bytes) -> None:
        if self._file is None:
            return
        beside = self._file.with_suffix(".new")
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with beside.open("wb") as out:
                out.write(text)
                out.flush()
                os.fsync(out.fileno())
            beside.replace(self._file)
        except OSError as error:
            _log.warning("%s cannot be written, a restart would know less: %s", self._file, error)
