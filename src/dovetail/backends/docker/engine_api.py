"""The calls of the Docker Engine API that this backend makes, with types.

Guarantees: a call returns, or raises DockerApiError (the engine refused) or DockerUnreachable (the outcome is
unknown); every call has a timeout. The API version is negotiated with each engine. What the answers mean is left to
others.
"""

import asyncio
import json
import struct
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from typing import Any

import httpx

from dovetail.backends.docker.connection import Connection, DockerUnreachable
from dovetail.backends.docker.raw_stream import NotUpgraded, RawStream

CALL_S = 60.0  # starting a container on a busy host can take long
PULL_SILENCE_S = 300.0  # a pull reports progress at every layer
NEWEST = (1, 47)  # the newest version of the API that this module was written for
FRAME_HEADER = struct.Struct(">BxxxL")  # the number of the stream, and the length of the frame
_NOT_FOUND, _CONFLICT = 404, 409

Json = dict[str, Any]


class DockerApiError(Exception):
    """The engine answered with an error; the message is the engine's."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class EngineApi:
    def __init__(self, connection: Connection, answer_within_s: float) -> None:
        self._connection = connection
        self._answer_within_s = answer_within_s
        self._client: httpx.AsyncClient | None = None
        self._prefix = ""

    async def close(self) -> None:
        if self._client is not None:
            await self._client.aclose()
        await self._connection.close()

    async def greet(self) -> None:
        """Ping the engine and negotiate the API version."""
        response = await self._call("GET", "/_ping", timeout_s=self._answer_within_s)
        offered = response.headers.get("Api-Version", "")
        major, _, minor = offered.partition(".")
        if major.isdigit() and minor.isdigit():
            version = min((int(major), int(minor)), NEWEST)
            self._prefix = f"/v{version[0]}.{version[1]}"

    async def info(self) -> Json:
        return dict(self._decoded(await self._call("GET", "/info", timeout_s=self._answer_within_s)))

    # --- containers ------------------------------------------------------------------------------------------

    async def containers(self, labels: list[str], statuses: list[str] | None = None) -> list[Json]:
        filters = {"label": labels} | ({} if statuses is None else {"status": statuses})
        params = {"all": "true", "filters": json.dumps(filters)}
        return list(self._decoded(await self._call("GET", "/containers/json", params=params)))

    async def inspect(self, name: str) -> Json | None:
        response = await self._call("GET", f"/containers/{name}/json", tolerated=(_NOT_FOUND,))
        return None if response.is_error else dict(self._decoded(response))

    async def create(self, name: str, body: Json) -> None:
        """Idempotent: a container of that name is the requested one."""
        await self._call("POST", "/containers/create", params={"name": name}, body=body, tolerated=(_CONFLICT,))

    async def start(self, name: str) -> None:
        await self._call("POST", f"/containers/{name}/start")

    async def stop(self, name: str, grace_s: int) -> None:
        """Returns when it has ended or was not running."""
        await self._call("POST", f"/containers/{name}/stop", params={"t": str(grace_s)}, timeout_s=CALL_S + grace_s)

    async def kill(self, name: str) -> None:
        """At once; one that does not run is left as it is."""
        await self._call("POST", f"/containers/{name}/kill", tolerated=(_NOT_FOUND, _CONFLICT))

    async def remove(self, name: str) -> None:
        """In any state, with its anonymous volumes."""
        params, tolerated = {"force": "true", "v": "true"}, (_NOT_FOUND, _CONFLICT)  # it is removed, or being removed
        await self._call("DELETE", f"/containers/{name}", params=params, tolerated=tolerated)

    async def stats(self, name: str) -> Json:
        options = {"stream": "false", "one-shot": "true"}
        return dict(self._decoded(await self._call("GET", f"/containers/{name}/stats", params=options)))

    async def output(self, name: str) -> AsyncGenerator[bytes]:
        """Its standard output and standard error so far and from now on, until it ends."""
        params = {"stdout": "true", "stderr": "true", "follow": "true"}
        async for block in unframed(self._stream("GET", f"/containers/{name}/logs", params, silence_s=None)):
            yield block

    async def output_with_times(self, name: str) -> AsyncGenerator[bytes]:
        """What it has written so far, piece by piece, each with its time before it."""
        params = {"stdout": "true", "stderr": "true", "timestamps": "true"}
        async for frame in frames(self._stream("GET", f"/containers/{name}/logs", params, silence_s=CALL_S)):
            yield frame

    async def create_exec(self, name: str, body: Json) -> str:
        """Make a command for a running container; the id under which it is started."""
        return str(self._decoded(await self._call("POST", f"/containers/{name}/exec", body=body))["Id"])

    async def start_exec(self, id_: str, *, terminal: bool) -> RawStream:
        """Its output is framed unless it has a terminal."""
        return await self._raw(f"/exec/{id_}/start", {"Detach": False, "Tty": terminal})

    async def resize_exec(self, id_: str, rows: int, columns: int) -> None:
        params, gone = {"h": str(rows), "w": str(columns)}, (_NOT_FOUND, _CONFLICT)  # it has just ended
        await self._call("POST", f"/exec/{id_}/resize", params=params, tolerated=gone)

    async def exec_exit_code(self, id_: str) -> int:
        return int(self._decoded(await self._call("GET", f"/exec/{id_}/json"))["ExitCode"])

    async def attach(self, name: str, *, stdin: bool) -> RawStream:
        """What the container writes from now on, in frames, and what it reads."""
        wanted = "stream=true&stdout=true&stderr=true" + ("&stdin=true" if stdin else "")
        return await self._raw(f"/containers/{name}/attach?{wanted}", None)

    # --- the engine ------------------------------------------------------------------------------------------

    async def events(self, since: float, filters: dict[str, list[str]]) -> AsyncIterator[Json]:
        params = {"since": f"{since:.9f}", "filters": json.dumps(filters)}
        async for line in _lines(self._stream("GET", "/events", params, silence_s=None)):
            yield json.loads(line)

    async def has_image(self, image: str) -> bool:
        return not (await self._call("GET", f"/images/{image}/json", tolerated=(_NOT_FOUND,))).is_error

    async def images(self) -> list[Json]:
        return list(self._decoded(await self._call("GET", "/images/json")))

    async def pull(self, image: str, login: str | None) -> None:
        """`image` has a tag or a digest. Raises DockerApiError, also for an error in the middle of the pull."""
        headers = {} if login is None else {"X-Registry-Auth": login}
        params = {"fromImage": image}
        blocks = self._stream("POST", "/images/create", params, silence_s=PULL_SILENCE_S, headers=headers)
        async for line in _lines(blocks):
            said = json.loads(line)
            if "error" in said:
                raise DockerApiError(500, str(said["error"]))

    # --- the wire --------------------------------------------------------------------------------------------

    async def _open(self) -> httpx.AsyncClient:
        if self._client is None:
            self._client = await self._connection.open()
        return self._client

    def _decoded(self, response: httpx.Response) -> Any:
        try:
            return response.json()
        except ValueError as error:
            raise DockerUnreachable(self._connection.words(error)) from error

    async def _call(
        self,
        method: str,
        path: str,
        *,
        params: dict[str, str] | None = None,
        body: Json | None = None,
        timeout_s: float = CALL_S,
        tolerated: Sequence[int] = (),
    ) -> httpx.Response:
        """`tolerated`: statuses of errors that the caller handles."""
        client = await self._open()
        timeout = httpx.Timeout(timeout_s, connect=self._answer_within_s)
        try:
            response = await client.request(method, self._prefix + path, params=params, json=body, timeout=timeout)
        except (httpx.TransportError, OSError) as error:
            raise DockerUnreachable(self._connection.words(error)) from error
        if response.is_error and response.status_code not in tolerated:
            raise _api_error(response)
        return response

    async def _raw(self, path: str, body: Json | None) -> RawStream:
        stream = await self._connection.open_raw(self._answer_within_s)
        try:
            async with asyncio.timeout(CALL_S):
                await stream.upgrade(self._prefix + path, "docker", body)
        except NotUpgraded as error:
            stream.close()
            raise _api_error(httpx.Response(error.status, content=error.content)) from None
        except OSError as error:  # also when it takes too long
            stream.close()
            raise DockerUnreachable(self._connection.words(error)) from error
        return stream

    async def _stream(
        self,
        method: str,
        path: str,
        params: dict[str, str],
        *,
        silence_s: float | None,
        headers: dict[str, str] | None = None,
    ) -> AsyncIterator[bytes]:
        client = await self._open()
        timeout = httpx.Timeout(self._answer_within_s, read=silence_s)
        url = self._prefix + path
        try:
            async with client.stream(method, url, params=params, headers=headers, timeout=timeout) as response:
                if response.is_error:
                    await response.aread()
                    raise _api_error(response)
                async for block in response.aiter_bytes():
                    yield block
        except (httpx.TransportError, OSError) as error:
            raise DockerUnreachable(self._connection.words(error)) from error


async def unframed(blocks: AsyncIterator[bytes]) -> AsyncGenerator[bytes]:
    """The contents of the frames in which the engine sends output, as many at a time as there are."""
    rest = b""
    async for block in blocks:
        contents, rest = _frames_in(rest + block)
        if contents:
            yield b"".join(contents)


async def frames(blocks: AsyncIterator[bytes]) -> AsyncGenerator[bytes]:
    """The same, one at a time."""
    rest = b""
    async for block in blocks:
        contents, rest = _frames_in(rest + block)
        for content in contents:
            yield content


def _frames_in(received: bytes) -> tuple[list[bytes], bytes]:
    """The contents of the frames that are whole, and what is left."""
    contents, at = [], 0
    while len(received) - at >= FRAME_HEADER.size:
        _, size = FRAME_HEADER.unpack_from(received, at)
        if len(received) - at - FRAME_HEADER.size < size:
            break
        contents.append(received[at + FRAME_HEADER.size : at + FRAME_HEADER.size + size])
        at += FRAME_HEADER.size + size
    return contents, received[at:]


async def _lines(blocks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    rest = b""
    async for block in blocks:
        *whole, rest = (rest + block).split(b"\n")
        for line in whole:
            if line.strip():
                yield line
    if rest.strip():
        yield rest


def _api_error(response: httpx.Response) -> DockerApiError:
    try:
        message = str(response.json()["message"])
    except (ValueError, KeyError, TypeError):
        message = response.text.strip() or f"HTTP status {response.status_code}"
    return DockerApiError(response.status_code, message)
