"""The output of pods from a byte offset.

Offsets count the bytes that the API sends: they move when the node rotates the log of the container.
"""

from contextlib import aclosing
from dataclasses import replace

from dovetail.backends.contract import LogChunk
from dovetail.backends.kubernetes.naming import CONTAINER
from dovetail.backends.kubernetes.permissions import MANIFEST
from dovetail.backends.log_streams import Blocks, LogStreams, offset_since
from dovetail.kubernetes_client.api import Api
from dovetail.kubernetes_client.errors import ApiUnreachable, BadRequest, Forbidden, KubernetesApiError, ObjectNotFound
from dovetail.kubernetes_client.paths import pod


class Output:
    def __init__(self, api: Api, namespace: str) -> None:
        self._api, self._namespace = api, namespace
        self._streams = LogStreams()
        self.close = self._streams.close

    async def read(self, name: str, offset: int, limit: int, *, ended: bool) -> LogChunk:
        """`name`: of the pod. `ended`: it had ended before this call. Raises KeyError if there is no log."""
        offset, limit = max(0, offset), max(1, limit)
        await self._streams.close_idle()
        try:
            chunk, over = await self._streams.read(name, offset, limit, lambda: self._follow(name), ended=ended)
        except KubernetesApiError as error:
            return _without_log(error, offset, ended=ended)
        return replace(chunk, ended=ended and over)

    async def since(self, name: str, at: float) -> int:
        """The offset of what the pod wrote since that time. Raises KeyError if there is no log."""
        try:
            async with aclosing(self._lines_with_times(name)) as lines:
                return await offset_since(lines, at)
        except ApiUnreachable:
            raise
        except KubernetesApiError as error:
            raise KeyError(f"it has no log: {error}") from None

    async def _lines_with_times(self, name: str) -> Blocks:
        """What it has written so far, line by line, each with its time before it."""
        options = {"container": CONTAINER, "timestamps": "true"}
        rest = b""
        async with self._api.stream(pod(self._namespace, name, "log"), options) as content:
            async for block in content:
                *lines, rest = (rest + block).split(b"\n")
                for line in lines:
                    yield line + b"\n"
        if rest:
            yield rest

    async def _follow(self, name: str) -> Blocks:
        options = {"container": CONTAINER, "follow": "true"}
        async with self._api.stream(pod(self._namespace, name, "log"), options) as content:
            async for block in content:
                yield block


def _without_log(error: KubernetesApiError, offset: int, *, ended: bool) -> LogChunk:
    """The log cannot be read: not yet, no more, or not now."""
    if isinstance(error, ApiUnreachable):
        raise error
    if isinstance(error, ObjectNotFound | BadRequest) and not ended:
        return LogChunk("", offset, False)  # its container is being created
    if isinstance(error, BadRequest):
        return LogChunk("", offset, True)  # it ended and never had a container
    if isinstance(error, Forbidden):
        raise KeyError(f"its log may not be read: {error}. Grant get of pods/log: kubectl apply -f {MANIFEST}")
    raise KeyError(f"its log is gone: {error}")
