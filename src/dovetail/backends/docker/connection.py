"""Connects to a host's engine: a unix socket, TCP with or without TLS, or SSH.

Guarantees: an HTTP client that connects only to that engine (no proxy, no environment), and an error message for a
failed connection. `engine_api` has the calls.
"""

import asyncio
import ssl
from urllib.parse import urlsplit

import httpx

from dovetail.backends.docker.settings import HostSettings, Tls
from dovetail.backends.docker.ssh_relay import SshRelay

KEPT_CONNECTIONS = 20
KEPT_FOR_S = 30.0


class DockerUnreachable(Exception):
    """The engine did not answer; the call may or may not have had an effect."""


class Connection:
    def __init__(self, settings: HostSettings) -> None:
        self._settings = settings
        self._relay: SshRelay | None = None

    async def open(self) -> httpx.AsyncClient:
        """Nothing is sent yet. Raises DockerUnreachable for unusable certificates."""
        parts = urlsplit(self._settings.url)
        limits = httpx.Limits(
            max_connections=None, max_keepalive_connections=KEPT_CONNECTIONS, keepalive_expiry=KEPT_FOR_S
        )
        if parts.scheme == "unix":
            return _client("http://docker", httpx.AsyncHTTPTransport(uds=parts.path, limits=limits))
        if parts.scheme == "ssh":
            self._relay = SshRelay(self._settings)
            socket = await self._relay.open()
            return _client("http://docker", httpx.AsyncHTTPTransport(uds=str(socket), limits=limits))
        if self._settings.tls is None:
            return _client(f"http://{parts.netloc}", httpx.AsyncHTTPTransport(limits=limits))
        context = await asyncio.to_thread(_tls_context, self._settings.tls)
        return _client(f"https://{parts.netloc}", httpx.AsyncHTTPTransport(verify=context, limits=limits))

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
