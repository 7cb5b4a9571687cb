"""Credentials: none, a fixed token or password, a token in a file or in a kubeconfig, or what a plugin returns.

Each gives the `Authorization` header for the next request. A token file is read again when it changes, as a pod's does
every hour; a token in a kubeconfig when the server rejects it; a plugin is called again when its answer expires.
`reject` is called when the server rejected the last header. Client certificates are no headers: they are part of the
TLS context, also those of a plugin.
"""

import asyncio
import base64
import os
import shutil
import ssl
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import orjson

from dovetail.kubernetes_client.errors import ApiUnreachable
from dovetail.kubernetes_client.objects import seconds

LOOK_INTERVAL_S = 1.0
PLUGIN_PATIENCE_S = 60.0
EARLY_S = 10.0
"""A plugin's answer is not used in its last seconds: a request takes some, and clocks differ."""


class CredentialsError(ApiUnreachable):
    """Credentials that are configured cannot be had now, and so nothing was asked."""


class Credentials(Protocol):
    async def header(self) -> str | None: ...

    def reject(self) -> None:
        """The server said Unauthorized: what was given last is no longer valid."""


class Fixed:
    """Always the same header, or none."""

    def __init__(self, header: str | None = None) -> None:
        self._header = header

    async def header(self) -> str | None:
        return self._header

    def reject(self) -> None:
        pass


def bearer(token: str) -> Fixed:
    return Fixed(f"Bearer {token}")


def basic(user: str, password: str) -> Fixed:
    return Fixed("Basic " + base64.b64encode(f"{user}:{password}".encode()).decode())


class WrittenToken:
    """A token that stands in a kubeconfig. If the server rejects it, the kubeconfig is read again: somebody may have
    renewed it there."""

    def __init__(self, token: str, read: Callable[[], str]) -> None:
        """`read`: the token as it stands there now; empty if there is none."""
        self._token, self._read = token, read
        self._rejected = False

    async def header(self) -> str | None:
        if self._rejected:
            self._token = await asyncio.to_thread(self._read) or self._token
            self._rejected = False
        return f"Bearer {self._token}"

    def reject(self) -> None:
        self._rejected = True


class TokenFile:
    """A file that is kept up to date by others, checked once a second at most."""

    def __init__(self, path: Path, monotonic_s: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._monotonic_s = monotonic_s
        self._look_at = float("-inf")
        self._mark: tuple[int, int, int] | None = None
        self._header: str | None = None

    async def header(self) -> str | None:
        now = self._monotonic_s()
        if now >= self._look_at:
            self._look()
            self._look_at = now + LOOK_INTERVAL_S
        return self._header

    def reject(self) -> None:
        self._look_at, self._mark = float("-inf"), None

    def _look(self) -> None:
        try:
            found = self._path.stat()
            # The kubelet exchanges the file behind a symbolic link: the inode tells it.
            mark = (found.st_ino, found.st_mtime_ns, found.st_size)
            if mark != self._mark:
                self._header, self._mark = f"Bearer {self._path.read_text().strip()}", mark
        except OSError as error:
            if self._header is None:
                raise CredentialsError(f"cannot read the token in {self._path}: {error.strerror}") from None
            # The old one may still be good, and the file is back when the exchange is over.


class Plugin:
    """A program that prints an ExecCredential; run when something is needed that it has not said yet."""

    def __init__(
        self,
        command: Sequence[str],
        env: Mapping[str, str],
        api_version: str,
        cluster: Mapping[str, Any] | None = None,
        hint: str = "",
        trust: ssl.SSLContext | None = None,
        now_s: Callable[[], float] = time.time,
    ) -> None:
        self._command = list(command)
        self._env = dict(env)
        spec = {"interactive": False} | ({} if cluster is None else {"cluster": dict(cluster)})
        self._info = {"apiVersion": api_version, "kind": "ExecCredential", "spec": spec}
        self._hint = hint
        self._trust = trust
        self._now_s = now_s
        self._header: str | None = None
        self._good_until = float("-inf")
        self._asking = asyncio.Lock()

    async def header(self) -> str | None:
        if self._now_s() < self._good_until:
            return self._header
        async with self._asking:
            if self._now_s() >= self._good_until:
                self._take(await self._ask())
        return self._header

    def reject(self) -> None:
        self._good_until = float("-inf")

    async def _ask(self) -> dict[str, Any]:
        name = self._command[0]
        if shutil.which(name) is None:
            raise CredentialsError(f"the credential plugin {name!r} is not installed. {self._hint}".strip())
        process = await asyncio.create_subprocess_exec(
            *self._command,
            env={**os.environ, **self._env, "KUBERNETES_EXEC_INFO": orjson.dumps(self._info).decode()},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            async with asyncio.timeout(PLUGIN_PATIENCE_S):
                said, complaint = await process.communicate()
        except TimeoutError:
            process.kill()
            await process.wait()
            raise CredentialsError(f"the credential plugin {name!r} took over {PLUGIN_PATIENCE_S:.0f} s") from None
        if process.returncode:
            words = complaint.decode(errors="replace").strip()[-500:]
            raise CredentialsError(f"the credential plugin {name!r} exited with {process.returncode}: {words}")
        try:
            return dict(orjson.loads(said)["status"])
        except (ValueError, KeyError, TypeError):
            raise CredentialsError(f"the credential plugin {name!r} printed no ExecCredential with a status") from None

    def _take(self, status: dict[str, Any]) -> None:
        token, certificate, key = (status.get(name) for name in ("token", "clientCertificateData", "clientKeyData"))
        if not token and not (certificate and key):
            raise CredentialsError(f"the credential plugin {self._command[0]!r} gave neither token nor certificate")
        if certificate and key and self._trust is not None:
            load_identity(self._trust, certificate.encode(), key.encode())
        self._header = f"Bearer {token}" if token else None
        self._good_until = seconds(status.get("expirationTimestamp"), float("inf")) - EARLY_S


def load_identity(trust: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """A client certificate that is not in files: OpenSSL reads files only, so there are some for a moment."""
    with tempfile.TemporaryDirectory(prefix="dovetail-") as folder:  # made for its owner alone
        paths = Path(folder, "certificate.pem"), Path(folder, "key.pem")
        for path, content in zip(paths, (certificate, key), strict=True):
            path.write_bytes(content)
        trust.load_cert_chain(*paths)
