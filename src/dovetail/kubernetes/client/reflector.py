"""Follows a collection for as long as it runs: lists it, watches it, and mends whatever breaks in between.

The handler hears `Change`s in batches, in order for each object: ADDED, MODIFIED, DELETED. It hears every object once
before `synced`, and afterwards only what changed, also when the list had to be made anew (410 Gone, a server that was
restored): then objects that are as they were are passed over, those that are missing come as DELETED, and one that was
replaced by another of the same name comes as DELETED and ADDED.

Kept of an object is its name, uid and version, nothing else. A deletion that was found out by listing therefore has no
more than these in its object; the handler knows what it made of it. A handler that raises ends the reflector: what it
would have missed cannot be told it again.
"""

import asyncio
import logging
import random
from collections.abc import Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from dovetail.kubernetes.client.api import PAGE, Api, JsonObject
from dovetail.kubernetes.client.errors import ApiError, Gone
from dovetail.kubernetes.client.watching import watch

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 10.0
WATCH_S = 300, 600
"""A watch lasts between so many seconds: not all clients of a server come back at once."""
_log = logging.getLogger(__name__)


class Kind(StrEnum):
    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


_KINDS = {kind.value: kind for kind in Kind}


class Change(NamedTuple):
    kind: Kind
    object: JsonObject


class _Seen(NamedTuple):
    uid: str
    version: str


Handler = Callable[[list[Change]], None]
#: Whether the collection is followed now, and if not, why.
Told = Callable[[bool, str], None]


@dataclass(slots=True)
class Counts:
    lists: int = 0
    watches: int = 0
    troubles: int = 0


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
        """`labels` and `fields` are selectors as the API writes them."""
        self._api, self._path, self._handler = api, path, handler
        self._params = {name: value for name, value in (("labelSelector", labels), ("fieldSelector", fields)) if value}
        self._page = page
        self._told = told
        self._version: str | None = None
        self._seen: dict[tuple[str, str], _Seen] = {}
        self._healthy: bool | None = None
        self.synced = asyncio.Event()
        self.counts = Counts()

    @property
    def version(self) -> str | None:
        """Up to which the collection is known."""
        return self._version

    def __len__(self) -> int:
        return len(self._seen)

    async def check(self) -> None:
        """Raises what `run` would try again and again: a selector that is none, rights that are missing."""
        await self._api.get(self._path, {**self._params, "limit": 1})

    async def run(self) -> None:
        """Until cancelled."""
        pause_s = FIRST_PAUSE_S
        while True:
            try:
                if self._version is None:
                    await self._list()
                self._say(True, "")
                if await self._watch():
                    pause_s = FIRST_PAUSE_S
                    continue
                words = "the server ended the watch at once"
            except Gone as error:
                # The list has to be made anew; at once, unless the server says so again and again.
                words, self._version = f"{error}", None
            except ApiError as error:
                words = str(error)
                self._say(False, words)
            self.counts.troubles += 1
            _log.info("watch of %s interrupted, goes on in %.1f s: %s", self._path, pause_s, words)
            await asyncio.sleep(pause_s * random.uniform(0.5, 1.0))  # noqa: S311 - spreads clients out
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    async def _list(self) -> None:
        self.counts.lists += 1
        try:
            version, found = await self._take_pages(self._page)
        except Gone:
            # A cluster that changes faster than it can be paged through is listed in one piece.
            version, found = await self._take_pages(0)
        missing = [(place, seen) for place, seen in self._seen.items() if place not in found]
        for place, _ in missing:
            del self._seen[place]
        if missing:
            self._handler([Change(Kind.DELETED, _trace(place, seen)) for place, seen in missing])
        self._version = version
        self.synced.set()

    async def _take_pages(self, limit: int) -> tuple[str, set[tuple[str, str]]]:
        found: set[tuple[str, str]] = set()
        version = ""
        async with aclosing(self._api.pages(self._path, self._params, limit)) as pages:
            async for page in pages:
                version = page["metadata"]["resourceVersion"]
                changes: list[Change] = []
                for item in page.get("items") or ():
                    self._take_listed(item, changes, found)
                if changes:
                    self._handler(changes)
        return version, found

    def _take_listed(self, item: JsonObject, changes: list[Change], found: set[tuple[str, str]]) -> None:
        about = item["metadata"]
        place = (about.get("namespace", ""), about["name"])
        found.add(place)
        before, now = self._seen.get(place), _Seen(about["uid"], about["resourceVersion"])
        if before == now:
            return
        if before is not None and before.uid != now.uid:
            changes.append(Change(Kind.DELETED, _trace(place, before)))
            before = None
        self._seen[place] = now
        changes.append(Change(Kind.ADDED if before is None else Kind.MODIFIED, item))

    async def _watch(self) -> bool:
        """Whether anything came of it."""
        assert self._version is not None
        self.counts.watches += 1
        came = False
        lasting_s = random.randint(*WATCH_S)  # noqa: S311
        async with aclosing(watch(self._api, self._path, self._version, self._params, lasting_s)) as batches:
            async for events in batches:
                came = True
                changes = [change for event in events if (change := self._take(event)) is not None]
                if changes:
                    self._handler(changes)
                self._version = events[-1]["object"]["metadata"]["resourceVersion"]
        return came

    def _take(self, event: Mapping[str, Any]) -> Change | None:
        kind = _KINDS.get(event["type"])
        if kind is None:  # a bookmark
            return None
        item = event["object"]
        about = item["metadata"]
        place = (about.get("namespace", ""), about["name"])
        if kind is Kind.DELETED:
            self._seen.pop(place, None)
        else:
            self._seen[place] = _Seen(about["uid"], about["resourceVersion"])
        return Change(kind, item)

    def _say(self, healthy: bool, words: str) -> None:
        if self._told is not None and healthy is not self._healthy:
            self._told(healthy, words)
        self._healthy = healthy


def _trace(place: tuple[str, str], seen: _Seen) -> JsonObject:
    namespace, name = place
    about = {"name": name, "uid": seen.uid, "resourceVersion": seen.version}
    return {"metadata": {**about, "namespace": namespace} if namespace else about}
