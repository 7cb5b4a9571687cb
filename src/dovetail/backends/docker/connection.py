"""Connects to a host's engine: a unix socket, TCP with or without TLS, or SSH.

Guarantees: an HTTP client that connects only to that engine (no proxy, no environment), and an error message for a
failed connection. `engine_api` has the calls.
"""

import asyncio
import contextlib
import shutil
import ssl
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from dovetail.asyncio_tasks import cancel
from dovetail.backends.docker.raw_stream import RawStream, ReadingSide, WritingSide
from dovetail.backends.docker.settings import HostSettings
from dovetail.backends.docker.tls_stream import TlsStream
from dovetail.backends.hosts.attempts import HostUnreachable
from dovetail.backends.tls_files import Tls

KEPT_CONNECTIONS = 20
KEPT_FOR_S = 30.0
BLOCK_BYTES = 64 * 1024
MAX_ERROR_CHARACTERS = 500


class DockerUnreachable(HostUnreachable):
    """Of the engine."""


class Connection:
    def __init__(self, settings: HostSettings) -> None:
        self._settings = settings
        self._parts = urlsplit(settings.url)
        self._relay: SshRelay | None = None
        self._relay_at: Path | None = None

    async def open(self) -> httpx.AsyncClient:
        """Nothing is sent yet. Raises DockerUnreachable for unusable certificates."""
        parts = self._parts
        limits = httpx.Limits(
            max_connections=None, max_keepalive_connections=KEPT_CONNECTIONS, keepalive_expiry=KEPT_FOR_S
        )
        if parts.scheme == "unix":
            return _client("http://docker", httpx.AsyncHTTPTransport(uds=parts.path, limits=limits))
        if parts.scheme == "ssh":
            socket = await self._relay_socket()
            return _client("http://docker", httpx.AsyncHTTPTransport(uds=str(socket), limits=limits))
        if self._settings.tls is None:
            return _client(f"http://{parts.netloc}", httpx.AsyncHTTPTransport(limits=limits))
        context = await asyncio.to_thread(_tls_context, self._settings.tls)
        return _client(f"https://{parts.netloc}", httpx.AsyncHTTPTransport(verify=context, limits=limits))

    async def open_raw(self, within_s: float) -> RawStream:
        """A connection of its own, for what is not HTTP. Raises DockerUnreachable."""
        try:
            async with asyncio.timeout(within_s):
                return RawStream(*await self._connected())
        except OSError as error:  # also when it takes too long
            raise DockerUnreachable(self.words(error)) from error

    async def _connected(self) -> tuple[ReadingSide, WritingSide]:
        parts = self._parts
        if parts.scheme == "unix":
            return await asyncio.open_unix_connection(parts.path)
        if parts.scheme == "ssh":
            return await asyncio.open_unix_connection(await self._relay_socket())
        if self._settings.tls is None:
            return await asyncio.open_connection(parts.hostname, parts.port)
        context = await asyncio.to_thread(_tls_context, self._settings.tls)
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        stream = TlsStream(reader, writer, context, parts.hostname or "")
        try:
            await stream.shake_hands()
        except BaseException:
            stream.close()
            raise
        return stream, stream

    async def _relay_socket(self) -> Path:
        if self._relay_at is None:
            self._relay = SshRelay(self._settings)
            self._relay_at = await self._relay.open()
        return self._relay_at

    async def close(self) -> None:
        if self._relay is not None:
            await self._relay.close()

    def words(self, error: Exception) -> str:
        """The error message, with ssh's own error if there is one."""
        said = "" if self._relay is None else self._relay.last_error
        cause = said or str(error) or type(error).__name__
        return f"the engine at {self._settings.url} does not answer: {cause}"


def _client(base_url: str, transport: httpx.AsyncHTTPTransport) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=base_url, transport=transport, trust_env=False)


def _tls_context(tls: Tls) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=tls.ca)
        if tls.cert is not None:
            context.load_cert_chain(tls.cert, tls.key)
    except (OSError, ssl.SSLError) as error:
        files = ", ".join(file for file in (tls.ca, tls.cert, tls.key) if file is not None)
        raise DockerUnreachable(f"its certificates cannot be used ({files}): {error}") from error
    return context


def ssh_command(settings: HostSettings) -> list[str]:
    return [*settings.ssh.command_to(settings.url), *settings.ssh.command]


class SshRelay:
    """A local socket on which every connection is one `ssh host docker system dial-stdio`.

    Docker's own client works the same way: ssh handles logins, keys, agents and host keys, and the host needs only its
    `docker` program. Guarantees: only this user can use the socket; socket and ssh processes end with the relay; ssh's
    last error is kept for the error message.
    """

    def __init__(self, settings: HostSettings) -> None:
        self.last_error = ""
        self._command = ssh_command(settings)
        self._folder: Path | None = None
        self._server: asyncio.Server | None = None
        self._serving: set[asyncio.Task[None]] = set()
        self._closing = asyncio.Event()

    async def open(self) -> Path:
        self._folder = Path(tempfile.mkdtemp(prefix="dovetail-ssh-"))  # a short path: socket paths have a length limit
        path = self._folder / "engine.sock"
        self._server = await asyncio.start_unix_server(self._accept, path)
        return path

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        self._closing.set()
        while self._serving:  # not cancelled: each has to end and reap a process
            await asyncio.gather(*self._serving, return_exceptions=True)
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(reader, writer))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        pipe = asyncio.subprocess.PIPE
        try:
            ssh = await asyncio.create_subprocess_exec(*self._command, stdin=pipe, stdout=pipe, stderr=pipe)
        except OSError as error:
            self.last_error = f"cannot run {self._command[0]}: {error.strerror}"
            writer.close()
            return
        assert ssh.stdin is not None
        assert ssh.stdout is not None
        assert ssh.stderr is not None
        there = asyncio.create_task(_pass_on(reader, ssh.stdin))
        back = asyncio.create_task(_pass_on(ssh.stdout, writer))
        words = asyncio.create_task(self._listen(ssh.stderr))
        closing = asyncio.create_task(self._closing.wait())
        # The end of what is sent does not end what comes back: a command may read all of its input first.
        await asyncio.wait({back, closing}, return_when=asyncio.FIRST_COMPLETED)
        if back.done():
            await asyncio.wait({words}, timeout=1)  # it has ended: wait for its error message
        with contextlib.suppress(ProcessLookupError):
            ssh.kill()
        await cancel(there, back, words, closing)
        writer.close()
        await ssh.wait()

    async def _listen(self, stderr: asyncio.StreamReader) -> None:
        while line := await stderr.readline():
            if text := line.decode(errors="replace").strip():
                self.last_error = text[:MAX_ERROR_CHARACTERS]


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError, OSError):
        while block := await reader.read(BLOCK_BYTES):
            writer.write(block)
            await writer.drain()
        writer.write_eof()
