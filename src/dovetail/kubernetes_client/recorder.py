"""Writes Events (events.k8s.io/v1), which people read in `kubectl describe`, without delaying anything else.

`record` only queues. Repetitions about the same object while one is queued, or of a warning within ten minutes, become
one Event with a count. A few requests are under way at a time (`LANES`), and none while there is something more
important to do (`busy`), unless an Event has waited for long. If more is recorded than can be written, the newest is
dropped and counted; so is an Event that the server rejects.
"""

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, NamedTuple
from uuid import uuid4

from dovetail.asyncio_tasks import cancel
from dovetail.kubernetes_client.api import Api, JsonObject
from dovetail.kubernetes_client.errors import ApiUnreachable, KubernetesApiError, ObjectNotFound
from dovetail.kubernetes_client.objects import Json
from dovetail.kubernetes_client.paths import EVENTS, collection, one

LANES, CAPACITY, KEPT = 2, 20_000, 5_000
SERIES_S = 600.0
LATEST_S, LOOK_EVERY_S = 20.0, 0.05
MAX_NOTE, MAX_REASON = 1024, 128
_log = logging.getLogger(__name__)


class _Key(NamedTuple):
    uid: str
    place: str  # namespace/name, for what has no uid
    kind: str
    reason: str
    note: str


@dataclass(slots=True)
class _Entry:
    regarding: Json
    action: str
    count: int = 1
    written: int = 0  # how many of them the server knows
    queued: bool = True
    name: str = ""
    last_s: float = 0.0
    first_s: float = 0.0  # of what has not been written yet


class Recorder:
    def __init__(
        self, api: Api, controller: str, instance: str, busy: Callable[[], bool] | None = None, capacity: int = CAPACITY
    ) -> None:
        """`busy`: whether there is something more important to do now."""
        self._api, self._busy = api, busy or (lambda: False)
        self._by = {"reportingController": controller, "reportingInstance": instance[:MAX_REASON]}
        self._capacity = capacity
        self._known: OrderedDict[_Key, _Entry] = OrderedDict()
        self._due: asyncio.Queue[_Key] = asyncio.Queue()
        self._tasks: list[asyncio.Task[None]] = []
        self._closing = False
        self.dropped = 0
        self.written = 0

    def begin(self) -> None:
        self._tasks = [asyncio.create_task(self._write_on(), name="kubernetes events") for _ in range(LANES)]

    async def close(self, patience_s: float = 2.0) -> None:
        """Writes what it can within `patience_s`, and stops."""
        self._closing = True
        if self._tasks:
            try:
                async with asyncio.timeout(patience_s):
                    await self._due.join()
            except TimeoutError:
                self.dropped += self._due.qsize()
        await cancel(*self._tasks)
        self._tasks = []

    def record(
        self, regarding: Json, reason: str, note: str, action: str, kind: Literal["Normal", "Warning"] = "Normal"
    ) -> None:
        """`regarding`: a reference to an object, with apiVersion, kind, namespace, name and uid."""
        note = note if len(note) <= MAX_NOTE else note[: MAX_NOTE - 1] + "…"
        place = f"{regarding.get('namespace', '')}/{regarding.get('name', '')}"
        key = _Key(str(regarding.get("uid") or ""), place, kind, reason, note)
        now = time.time()
        entry = self._known.get(key)
        if entry is not None and (entry.queued or now - entry.last_s < SERIES_S):
            entry.count += 1
            entry.last_s = now
            if not entry.queued:
                entry.queued, entry.first_s = True, now
                self._due.put_nowait(key)
            return
        if self._due.qsize() >= self._capacity:
            self.dropped += 1
            return
        self._known[key] = _Entry(regarding, action, last_s=now, first_s=now)
        self._known.move_to_end(key)
        self._due.put_nowait(key)
        self._forget(now)

    def _forget(self, now: float) -> None:
        """Of what has been written, all that is too old to be counted on, and the oldest beyond the capacity."""
        while self._known:
            key, entry = next(iter(self._known.items()))
            if entry.queued or (now - entry.last_s < SERIES_S and len(self._known) <= min(KEPT, self._capacity)):
                return
            del self._known[key]

    async def _write_on(self) -> None:
        while True:
            key = await self._due.get()
            entry = self._known[key]
            while self._busy() and not self._closing and time.time() - entry.first_s < LATEST_S:  # noqa: ASYNC110
                await asyncio.sleep(LOOK_EVERY_S)
            count, entry.queued = entry.count, False
            try:
                await self._write(key, entry, count)
                entry.written = count
                self.written += 1
                if key.kind == "Normal" and not entry.queued:  # what went well is seldom said again
                    self._known.pop(key, None)
            except KubernetesApiError as error:
                self.dropped += 1
                _log.debug("an Event about %s was not written: %s", key.place, error)
                if isinstance(error, ApiUnreachable):
                    await asyncio.sleep(1.0)  # what waits is better kept than thrown at a server that is away
            finally:
                self._due.task_done()

    async def _write(self, key: _Key, entry: _Entry, count: int) -> None:
        namespace = str(entry.regarding.get("namespace") or "default")
        series = {"count": count, "lastObservedTime": _micro(entry.last_s)}
        if entry.written and count > 1:
            try:
                await self._api.patch(one(EVENTS, "events", entry.name, namespace), {"series": series})
                return
            except ObjectNotFound:  # the server forgets Events after a while: then this begins anew
                pass
        # Any unique name; the object's name in it helps people who list Events.
        subject = str(entry.regarding.get("name") or "object")[:200].rstrip("-.")
        entry.name = f"{subject}.{uuid4().hex[:16]}"
        body: JsonObject = {
            "metadata": {"name": entry.name, "namespace": namespace},
            "regarding": entry.regarding,
            "reason": key.reason[:MAX_REASON],
            "note": key.note,
            "action": entry.action[:MAX_REASON],
            "type": key.kind,
            "eventTime": _micro(entry.first_s),
            **self._by,
        }
        if count > 1:
            body["series"] = series
        await self._api.create(collection(EVENTS, "events", namespace), body)


def _micro(moment_s: float) -> str:
    return datetime.fromtimestamp(moment_s, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
