"""Follows a collection (an informer): lists it, watches it, and resumes after whatever interrupts the watch.

The handler gets `ObjectChange`s in batches, in order for each object: ADDED, MODIFIED, DELETED. It gets every object
once before `synced`, and afterwards only what changed. That holds when the collection has to be listed again (410 Gone,
a restored server): unchanged objects are left out, missing ones come as DELETED, and an object replaced by another of
the same name comes as DELETED and ADDED.

Of an object only its name, uid and version are kept, so a deletion found by listing has no more than these in its
object. A handler that raises ends the reflector: what it missed cannot be delivered again.

`OptionalReflector` follows a collection that may not exist: a custom resource that a cluster defines now, later or
never.
"""

import asyncio
import logging
import random
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from enum import StrEnum
from typing import NamedTuple

from dovetail.kubernetes_client.api import PAGE, Api, JsonObject, Params, decode
from dovetail.kubernetes_client.errors import Forbidden, Gone, KubernetesApiError, ObjectNotFound, error_of
from dovetail.model.backoff import Backoff

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 10.0
WATCH_S = 300, 600
"""The range of a watch's duration: not all clients of a server come back at once."""
SILENCE_S = 90.0
"""Beyond the watch's own end. A server sends bookmarks about once a minute, so a longer silence is an error."""
AGAIN_S = 30.0
"""How often it is checked whether an optional collection exists."""
_log = logging.getLogger(__name__)


class ChangeKind(StrEnum):
    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


_KINDS = {kind.value: kind for kind in ChangeKind}


class ObjectChange(NamedTuple):
    kind: ChangeKind
    object: JsonObject


class _Seen(NamedTuple):
    uid: str
    version: str


Handler = Callable[[list[ObjectChange]], None]
#: Whether the collection is followed now, and if not, why.
Told = Callable[[bool, str], None]


class Reflector:
    def __init__(
        self,
        api: Api,
        path: str,
        handler: Handler,
        *,
        labels: str = "",
        fields: str = "",
        page: int = PAGE,
        told: Told | None = None,
    ) -> None:
        """`labels` and `fields` are selectors as the API writes them. `lists`: how often the collection was listed;
        `troubles`: how often its watch was interrupted."""
        self._api, self._path, self._handler = api, path, handler
        self._params = {name: value for name, value in (("labelSelector", labels), ("fieldSelector", fields)) if value}
        self._page = page
        self._told = told
        self._version: str | None = None
        self._seen: dict[tuple[str, str], _Seen] = {}
        self._healthy: bool | None = None
        self._watching: asyncio.Task[bool] | None = None
        self._to_be_listed: list[asyncio.Event] = []  # set when the collection has been listed again
        self.synced = asyncio.Event()
        self.lists = self.troubles = 0

    def __len__(self) -> int:
        return len(self._seen)

    async def check(self) -> None:
        """Raises an error that `run` would retry for ever: an invalid selector, missing rights."""
        await self._api.get(self._path, {**self._params, "limit": 1})

    async def list_again(self) -> None:
        """Returns when the handler has got all that the API had at the time of the call, however late the watch is."""
        listed = asyncio.Event()
        self._to_be_listed.append(listed)
        self._version = None
        if self._watching is not None:
            self._watching.cancel()
        await listed.wait()

    async def run(self) -> None:
        """Until cancelled."""
        backoff = Backoff(FIRST_PAUSE_S, LONGEST_PAUSE_S, jitter=0.5)
        while True:
            try:
                while self._version is None:
                    await self._list()
                self._say(True, "")
                if await self._watch_unless_listed():
                    backoff.reset()
                    continue
                words = "the server ended the watch at once"
            except Gone as error:
                # The list has to be made anew; at once, unless the server says so again and again.
                words, self._version = f"{error}", None
            except KubernetesApiError as error:
                words = str(error)
                self._say(False, words)
            self.troubles += 1
            _log.info("watch of %s interrupted, goes on in %.1f s: %s", self._path, backoff.pause_s, words)
            await asyncio.sleep(backoff.next_s(random.random()))  # noqa: S311 - spreads clients out

    async def _list(self) -> None:
        self.lists += 1
        asked = list(self._to_be_listed)
        await self._list_all()
        for one in asked:
            one.set()
            self._to_be_listed.remove(one)
        if self._to_be_listed:  # asked for meanwhile
            self._version = None

    async def _list_all(self) -> None:
        try:
            version, found = await self._take_pages(self._page)
        except Gone:
            # A cluster that changes faster than it can be paged through is listed in one piece.
            version, found = await self._take_pages(0)
        missing = [(place, seen) for place, seen in self._seen.items() if place not in found]
        for place, _ in missing:
            del self._seen[place]
        if missing:
            self._handler([ObjectChange(ChangeKind.DELETED, _trace(place, seen)) for place, seen in missing])
        self._version = version
        self.synced.set()

    async def _take_pages(self, limit: int) -> tuple[str, set[tuple[str, str]]]:
        found: set[tuple[str, str]] = set()
        version = ""
        async with aclosing(self._api.pages(self._path, self._params, limit)) as pages:
            async for page in pages:
                version = page["metadata"]["resourceVersion"]
                changes: list[ObjectChange] = []
                for item in page.get("items") or ():
                    self._take_listed(item, changes, found)
                if changes:
                    self._handler(changes)
        return version, found

    def _take_listed(self, item: JsonObject, changes: list[ObjectChange], found: set[tuple[str, str]]) -> None:
        about = item["metadata"]
        place = (about.get("namespace", ""), about["name"])
        found.add(place)
        before, now = self._seen.get(place), _Seen(about["uid"], about["resourceVersion"])
        if before == now:
            return
        if before is not None and before.uid != now.uid:
            changes.append(ObjectChange(ChangeKind.DELETED, _trace(place, before)))
            before = None
        self._seen[place] = now
        changes.append(ObjectChange(ChangeKind.ADDED if before is None else ChangeKind.MODIFIED, item))

    async def _watch_unless_listed(self) -> bool:
        """Whether the watch delivered anything, or ended because the collection has to be listed again."""
        watching = self._watching = asyncio.create_task(self._watch())
        try:
            return await watching
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if not self._to_be_listed or (task is not None and task.cancelling()):
                raise
            return True
        finally:
            self._watching = None

    async def _watch(self) -> bool:
        """Whether it delivered anything."""
        assert self._version is not None
        came = False
        lasting_s = random.randint(*WATCH_S)  # noqa: S311
        async with aclosing(_watch(self._api, self._path, self._version, self._params, lasting_s)) as batches:
            async for events in batches:
                came = True
                changes = [change for event in events if (change := self._take(event)) is not None]
                if changes:
                    self._handler(changes)
                self._version = events[-1]["object"]["metadata"]["resourceVersion"]
        return came

    def _take(self, event: JsonObject) -> ObjectChange | None:
        kind = _KINDS.get(event["type"])
        if kind is None:  # a bookmark
            return None
        item = event["object"]
        about = item["metadata"]
        place = (about.get("namespace", ""), about["name"])
        if kind is ChangeKind.DELETED:
            self._seen.pop(place, None)
        else:
            self._seen[place] = _Seen(about["uid"], about["resourceVersion"])
        return ObjectChange(kind, item)

    def _say(self, healthy: bool, words: str) -> None:
        if self._told is not None and healthy is not self._healthy:
            self._told(healthy, words)
        self._healthy = healthy


def _trace(place: tuple[str, str], seen: _Seen) -> JsonObject:
    namespace, name = place
    about = {"name": name, "uid": seen.uid, "resourceVersion": seen.version}
    return {"metadata": {**about, "namespace": namespace} if namespace else about}


class OptionalReflector:
    """`settled` is set as soon as the collection is known completely, or that it does not exist yet. A resource that is
    defined, or may be read, later is found within a minute."""

    def __init__(self, reflector: Reflector) -> None:
        self._reflector = reflector
        self.settled = asyncio.Event()

    async def run(self) -> None:
        """Until cancelled."""
        while not await self._exists():
            self.settled.set()
            await asyncio.sleep(AGAIN_S)
        async with asyncio.TaskGroup() as group:
            group.create_task(self._reflector.run())
            await self._reflector.synced.wait()
            self.settled.set()

    async def _exists(self) -> bool:
        try:
            await self._reflector.check()
        except ObjectNotFound:
            return False
        except Forbidden as error:
            _log.warning("goes on without: %s", error)
            return False
        except KubernetesApiError:
            return True  # perhaps: the reflector keeps trying
        return True


async def _watch(api: Api, path: str, version: str, params: Params, lasting_s: int) -> AsyncGenerator[list[JsonObject]]:
    """Events `{"type", "object"}` in batches as they arrive, until the server ends the watch, after `lasting_s`.

    Raises the error of an ERROR event, Gone above all, after the events before it.
    """
    asked = {**params, "watch": "true", "resourceVersion": version}
    asked |= {"allowWatchBookmarks": "true", "timeoutSeconds": lasting_s}
    async with api.stream(path, asked, silence_s=lasting_s + SILENCE_S) as content, aclosing(_lines(content)) as lines:
        async for batch in lines:
            events = decode(b"[%b]" % b",".join(batch))
            good = [event for event in events if event["type"] != "ERROR"]
            if good:
                yield good
            if len(good) < len(events):
                status = next(event["object"] for event in events if event["type"] == "ERROR")
                raise error_of(int(status.get("code") or 500), status)


async def _lines(content: AsyncIterator[bytes]) -> AsyncGenerator[list[bytes]]:
    """All complete lines that have arrived, as soon as there is one."""
    pieces: list[bytes] = []
    async for chunk in content:
        if b"\n" not in chunk:  # in the middle of a large object
            pieces.append(chunk)
            continue
        *lines, rest = b"".join((*pieces, chunk)).split(b"\n")
        pieces = [rest] if rest else []
        found = [line for line in lines if line]
        if found:
            yield found
