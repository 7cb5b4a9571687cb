"""The extender's certificate, reloaded when its files change, without a restart.

Guarantees: open connections stay as they are; new ones use the new certificate and client authorities. Files that
cannot be read or do not match, as while they are being replaced, change nothing and are logged once.
"""

import asyncio
import logging
import ssl
from pathlib import Path

_log = logging.getLogger(__name__)

LOOK_S = 10.0
Stamp = tuple[tuple[int, int, int], ...]


class Certificates:
    """Raises OSError and ssl.SSLError if they cannot be used at the start."""

    def __init__(self, certificate: Path, key: Path, client_authority: Path | None = None) -> None:
        self._certificate, self._key, self._authority = certificate, key, client_authority
        self._seen = self._stamp()
        self._latest = self.context = self._loaded()
        # Loading into a context that is in use would leave it without any if the files do not fit together.
        self.context.sni_callback = self._take_latest

    def refresh(self) -> bool:
        """Were new files loaded?"""
        try:
            found = self._stamp()
            if found == self._seen:
                return False
            self._seen = found
            self._latest = self._loaded()
        except (OSError, ssl.SSLError) as error:
            _log.warning("goes on with the old certificate: %s: %s", self._certificate, error)
            return False
        _log.info("shows the new certificate of %s", self._certificate)
        return True

    async def follow(self) -> None:
        """Until cancelled."""
        while True:
            await asyncio.sleep(LOOK_S)
            self.refresh()

    def _take_latest(self, connection: ssl.SSLObject, _name: str, _context: ssl.SSLContext) -> None:
        """Called for every connection, whether or not it names a server."""
        connection.context = self._latest

    def _loaded(self) -> ssl.SSLContext:
        found = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        found.load_cert_chain(self._certificate, self._key)
        if self._authority is not None:
            found.verify_mode = ssl.CERT_REQUIRED
            found.load_verify_locations(self._authority)
        return found

    def _stamp(self) -> Stamp:
        files = [self._certificate, self._key, *([self._authority] if self._authority else [])]
        each = [file.stat() for file in files]  # follows links, as secrets are mounted
        return tuple([(one.st_ino, one.st_mtime_ns, one.st_size) for one in each])
