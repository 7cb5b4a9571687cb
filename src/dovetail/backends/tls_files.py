"""The certificates with which backends reach a server."""

from typing import Self

from pydantic import model_validator

from dovetail.backends.settings_file_only import ServerFile
from dovetail.model.text.strict import AtField, Strict


class Tls(Strict):
    """PEM files. `ca` signed the host's certificate; `cert` and `key` authenticate this client."""

    ca: ServerFile
    """The CA that signed the host's certificate, a PEM file."""
    cert: ServerFile | None = None
    """Our own certificate, a PEM file."""
    key: ServerFile | None = None
    """The key of our certificate, a PEM file."""

    @model_validator(mode="after")
    def _check_certificate(self) -> Self:
        if (self.cert is None) != (self.key is None):
            raise AtField(("cert" if self.cert is None else "key",), "is missing: cert and key are given together")
        return self
