"""Encrypts secrets at rest: they are sealed with a key that is not in the database.

The key is DOVETAIL_SECRET_KEY, or the file `secret.key` beside the database, which is made with mode 0600 when the
first secret is to be kept. Both may hold several keys, separated by commas or lines: the first seals, any one opens. To
change the key, put a new one first and start the server, which seals everything again; then take the old one away.

Fernet (AES-128-CBC and HMAC-SHA256) from the package cryptography does the work.
"""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
from pydantic import BaseModel

from dovetail.control.settings.secret_settings import plain_data

if TYPE_CHECKING:
    from cryptography.fernet import MultiFernet

VARIABLE, FILE = "DOVETAIL_SECRET_KEY", "secret.key"
_SEALED = "$sealed"


class SecretError(Exception):
    """A secret cannot be sealed or opened; says why and what to do, and nothing of the secret or the key."""


class SecretBox:
    """`folder` is where the database is."""

    def __init__(self, folder: Path, env: Mapping[str, str]) -> None:
        self._path = folder / FILE
        self._env = env
        self._fernet: MultiFernet | None = None

    def seal(self, settings: BaseModel) -> str:
        """As JSON that may lie in a database."""
        return orjson.dumps(plain_data(settings, lambda secret: {_SEALED: self._seal(secret)})).decode()

    def open(self, text: str) -> dict[str, Any]:
        """What was sealed, with every secret in the clear."""
        found: dict[str, Any] = _replaced(orjson.loads(text), self._unseal)
        return found

    def resealed(self, text: str) -> str:
        """The same secrets under the first key; the same text where they are already."""
        return orjson.dumps(_replaced(orjson.loads(text), lambda sealed: {_SEALED: self._reseal(sealed)})).decode()

    def _seal(self, secret: str) -> str:
        return self._keys(make=True).encrypt(secret.encode()).decode()

    def _reseal(self, sealed: str) -> str:
        secret = self._unseal(sealed)
        return sealed if self._is_sealed_with_first(sealed) else self._seal(secret)

    def _unseal(self, sealed: str) -> str:
        from cryptography.fernet import InvalidToken

        try:
            return self._keys(make=False).decrypt(sealed).decode()
        except InvalidToken:
            what_to_do = "give the key it was sealed with as well, or add the backend again"
            raise SecretError(f"they were sealed with another key than {self._where()}; {what_to_do}") from None

    def _is_sealed_with_first(self, sealed: str) -> bool:
        from cryptography.fernet import Fernet, InvalidToken

        try:
            Fernet(self._read()[0]).decrypt(sealed)
        except InvalidToken:
            return False
        return True

    def _keys(self, *, make: bool) -> "MultiFernet":
        if self._fernet is None:
            from cryptography.fernet import Fernet, MultiFernet

            texts = self._read() or ([self._make()] if make else [])
            if not texts:
                raise SecretError(f"there is no key: set {VARIABLE}, or bring back {self._path}")
            try:
                self._fernet = MultiFernet([Fernet(text) for text in texts])
            except ValueError:
                words = "32 bytes in URL-safe base64, such as openssl rand -base64 32 | tr +/ -_ makes"
                raise SecretError(f"{self._where()} holds something that is no key; a key is {words}") from None
        return self._fernet

    def _read(self) -> list[str]:
        text = self._env.get(VARIABLE, "")
        if not text.strip():
            try:
                text = self._path.read_text()
            except FileNotFoundError:
                return []
            except OSError as error:
                raise SecretError(f"{self._path} cannot be read: {error.strerror}") from None
        return text.replace(",", " ").split()

    def _make(self) -> str:
        from cryptography.fernet import Fernet

        key = Fernet.generate_key().decode()
        try:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w") as file:
                file.write(f"{key}\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise SecretError(f"{self._path} cannot be written: {error.strerror}") from None
        return key

    def _where(self) -> str:
        return VARIABLE if self._env.get(VARIABLE, "").strip() else str(self._path)


def _replaced(value: Any, sealed: Callable[[str], Any]) -> Any:
    """The same data, with `sealed(text)` in place of each sealed secret."""
    if isinstance(value, dict):
        if set(value) == {_SEALED}:
            return sealed(value[_SEALED])
        return {key: _replaced(inner, sealed) for key, inner in value.items()}
    return [_replaced(inner, sealed) for inner in value] if isinstance(value, list) else value
