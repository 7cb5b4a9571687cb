"""What a pod printed, from a byte offset.

The API gives a log from its beginning only. So a stream stays open for whoever reads on: the first read skips to its
offset, the next ones take what came since, and nothing is sent twice. A stream that nobody asked for in a while is
closed. Offsets count the bytes that the API gives; a node that rotates a container's log away moves them.
"""

import asyncio
import contextlib
import time
from collections import OrderedDict
from collections.abc import Callable

from dovetail.backends.contract import LogChunk
from dovetail.backends.kubernetes.naming import CONTAINER
from dovetail.backends.log_text import whole_characters
from dovetail.kubernetes_client.api import Api
from dovetail.kubernetes_client.errors import ApiUnreachable, BadRequest, KubernetesApiError, ObjectNotFound
from dovetail.kubernetes_client.paths import pod

MOST_STREAMS = 50
IDLE_S = 60.0
WAIT_S = 0.25
AHEAD_BYTES = 2**20
"""So much is read ahead of the reader; beyond it the stream waits."""


class _Stream:
    """The bytes of a log from `offset` on, as they come."""

    def __init__(self, api: Api, path: str, offset: int) -> None:
        self.offset = offset
        self.used_at = 0.0
        self.finished = False
        self.trouble: KubernetesApiError | None = None
        self._buffer = bytearray()
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._task = asyncio.create_task(self._fill(api, path, offset), name="pod log")

    async def _fill(self, api: Api, path: str, skip: int) -> None:
        try:
            async with api.stream(path, {"container": CONTAINER, "follow": "true"}) as content:
                async for chunk in content:
                    fresh, skip = chunk[skip:], max(0, skip - len(chunk))
                    if fresh:
                        self._buffer += fresh
                        self._news.set()
                    if len(self._buffer) >= AHEAD_BYTES:
                        self._room.clear()
                        await self._room.wait()
            self.finished = True
        except KubernetesApiError as error:
            self.trouble = error
        finally:
            self._news.set()

    async def read(self, limit: int) -> bytes:
        if not self._buffer and not self._task.done():
            self._news.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(WAIT_S):
                    await self._news.wait()
        return bytes(self._buffer[:limit])

    def advance(self, count: int) -> None:
        del self._buffer[:count]
        self.offset += count
        self._room.set()

    @property
    def empty(self) -> bool:
        return not self._buffer

    async def close(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


class Output:
    def __init__(self, api: Api, namespace: str, monotonic_s: Callable[[], float] = time.monotonic) -> None:
        self._api, self._namespace, self._monotonic_s = api, namespace, monotonic_s
        self._streams: OrderedDict[tuple[str, int], _Stream] = OrderedDict()

    async def read(self, name: str, offset: int, limit: int, *, ended: bool) -> LogChunk:
        """Of the pod of that name. `ended`: it had, before this was called. Raises KeyError where there is no log."""
        offset, limit = max(0, offset), max(1, limit)
        await self._tidy()
        stream = self._streams.pop((name, offset), None) or self._open(name, offset)
        try:
            content = await stream.read(limit)
            if stream.trouble is not None and not content:
                return _without(stream.trouble, offset, ended=ended)
            done = ended and stream.finished
            if not done or len(content) == limit:
                content = whole_characters(content)
            stream.advance(len(content))
            at_end = done and stream.empty
        except BaseException:
            await stream.close()
            raise
        if at_end or stream.finished or stream.trouble is not None:
            # A stream that ended early, because its node or server went away, is opened anew by the next read.
            if not at_end and not stream.empty:
                self._keep(name, stream)
            else:
                await stream.close()
        else:
            self._keep(name, stream)
        return LogChunk(content.decode("utf-8", "replace"), offset + len(content), at_end)

    async def close(self) -> None:
        streams = list(self._streams.values())
        self._streams.clear()
        await asyncio.gather(*(stream.close() for stream in streams))

    def _open(self, name: str, offset: int) -> _Stream:
        return _Stream(self._api, pod(self._namespace, name, "log"), offset)

    def _keep(self, name: str, stream: _Stream) -> None:
        stream.used_at = self._monotonic_s()
        replaced = self._streams.pop((name, stream.offset), None)
        if replaced is not None:  # two read the same log in step
            replaced._task.cancel()
        self._streams[name, stream.offset] = stream

    async def _tidy(self) -> None:
        now = self._monotonic_s()
        for place, stream in list(self._streams.items()):
            if len(self._streams) <= MOST_STREAMS and now - stream.used_at < IDLE_S:
                return
            del self._streams[place]
            await stream.close()


def _without(trouble: KubernetesApiError, offset: int, *, ended: bool) -> LogChunk:
    """No log could be had: not yet, no more, or not now."""
    if isinstance(trouble, ApiUnreachable):
        raise trouble
    if isinstance(trouble, ObjectNotFound | BadRequest) and not ended:
        return LogChunk("", offset, False)  # its container is being made
    if isinstance(trouble, BadRequest):
        return LogChunk("", offset, True)  # it ended without ever having had one
    raise KeyError(f"its log is gone: {trouble}")
