"""The admin token: a file of the data folder, made at the first start, that every request needs.

Guarantees: the file has mode 0600. The token stands nowhere else: not in the database, in no log, in no address.
Whoever may write the file may change the token: delete it and start the server, which makes another, or write your own.
"""

from pathlib import Path

import structlog

from dovetail.access.known_servers import read_token
from dovetail.access.private_file import write_private
from dovetail.access.tokens import MIN_LENGTH, TokenKind, digest_of, is_same, is_usable, new_token
from dovetail.control.errors import Conflict, StoreError

log = structlog.get_logger()


class AdminToken:
    """`is_given`: the settings name the file, so that it is not made or changed here."""

    def __init__(self, path: Path, *, is_given: bool = False) -> None:
        self.path = path
        self._is_given = is_given
        self._digest: str | None = None

    def load(self) -> None:
        """Raises StoreError if there is no token and none can be made."""
        if self._is_given or self.path.exists():
            self._digest = digest_of(self._read())
        else:
            self._write(new_token(TokenKind.ADMIN))

    def matches(self, token: str) -> bool:
        return self._digest is not None and is_same(self._digest, digest_of(token))

    def rotate(self) -> str:
        """A new token; the old one is worth nothing from now on. Raises Conflict and StoreError."""
        if self._is_given:
            words = f"the settings name the file of the admin token, {self.path}; change it there and start again"
            raise Conflict(words)
        token = new_token(TokenKind.ADMIN)
        self._write(token)
        log.info("the admin token was rotated")
        return token

    def _read(self) -> str:
        token = read_token(self.path)
        if token is None or not is_usable(token):
            what_to_do = "set access.token_file" if self._is_given else "delete it: the next start makes another"
            words = f"{self.path} holds no token; a token is one word of at least {MIN_LENGTH} letters and digits"
            raise StoreError(f"{words}; {what_to_do}")
        if self.path.stat().st_mode & 0o077 and not self._is_given:
            self.path.chmod(0o600)
            log.warning("others could read the admin token; make another: dovetail token rotate", file=str(self.path))
        return token

    def _write(self, token: str) -> None:
        try:
            write_private(self.path, f"{token}\n")
        except OSError as error:
            raise StoreError(f"the admin token cannot be written to {self.path}: {error.strerror}") from None
        self._digest = digest_of(token)
