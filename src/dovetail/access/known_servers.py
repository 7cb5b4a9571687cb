"""The servers that this account runs on this machine, so that its commands find their token and certificate.

A server notes itself when it listens, and takes the note back when it stops: one file an address, mode 0600, in
`$XDG_STATE_HOME/dovetail/servers` (by default `~/.local/state/dovetail/servers`). It names files and holds no secret. A
token is sent only to the very host and port that a server of this account noted.
"""

import os
from collections.abc import Iterable
from json import dumps, loads
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

_PORTS = {"http": 80, "https": 443}


class KnownServer(NamedTuple):
    """`certificate`: of whom to believe that it is this server; None where the certificate is an ordinary one."""

    url: str
    token_file: str
    certificate: str | None = None

    def token(self) -> str | None:
        """None if this account cannot read it."""
        return read_token(Path(self.token_file))


def read_token(path: Path) -> str | None:
    """The token in a file, without the end of its line; None if there is none or it cannot be read."""
    try:
        return path.read_text().strip() or None
    except (OSError, UnicodeError):
        return None


def folder() -> Path:
    state = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(state, "dovetail", "servers").expanduser()


def note_server(server: KnownServer, urls: Iterable[str]) -> None:
    """Under each address by which clients reach it. Raises OSError."""
    from dovetail.access.private_file import write_private

    home = folder()
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    for url in urls:
        write_private(home / _file_name(url), dumps(server._replace(url=url)._asdict()))


def forget_server(token_file: str, urls: Iterable[str]) -> None:
    """Only notes about this server: another one may listen there already."""
    for url in urls:
        found = known_server(url)
        if found is not None and found.token_file == token_file:
            (folder() / _file_name(url)).unlink(missing_ok=True)


def known_server(url: str) -> KnownServer | None:
    """The server of this account at this address. A note that cannot be read counts as none."""
    try:
        noted = KnownServer(**loads((folder() / _file_name(url)).read_bytes()))
    except (OSError, ValueError, TypeError):
        return None
    return noted if urlsplit(noted.url).scheme == urlsplit(url).scheme else None


def _file_name(url: str) -> str:
    parts = urlsplit(url)
    host = (parts.hostname or "").lower().replace(":", "-").replace("/", "-").replace("%", "-")
    return f"{host}_{parts.port or _PORTS.get(parts.scheme, 0)}.json"
