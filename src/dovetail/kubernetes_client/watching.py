"""One watch of a collection: changes from a version on, decoded, in batches as they arrive."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

from dovetail.kubernetes_client.api import Api, JsonObject, Params
from dovetail.kubernetes_client.decoding import decode
from dovetail.kubernetes_client.errors import error_of

SILENCE_S = 90.0
"""Beyond the watch's own end. A server sends bookmarks about once a minute, so a longer silence means nothing."""


async def watch(
    api: Api, path: str, version: str, params: Params | None, lasting_s: int
) -> AsyncGenerator[list[JsonObject]]:
    """Events `{"type", "object"}` until the server ends the watch, which it does after `lasting_s`.

    Raises what an ERROR event says, Gone above all; what came before it has been given out.
    """
    asked = {**(params or {}), "watch": "true", "resourceVersion": version}
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
    """All whole lines that are there, as soon as there is one."""
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
