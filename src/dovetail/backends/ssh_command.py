"""How backends call `ssh`. Its user's configuration applies to what is not set here."""

from typing import Annotated
from urllib.parse import urlsplit

from pydantic import Field

from dovetail.backends.settings_file_only import SETTINGS_FILE_ONLY, ServerFile
from dovetail.model.text.strict import Strict

CONNECT_S = 10


class SshSettings(Strict):
    identity: ServerFile | None = None
    """The private key; by default what ssh is configured to use."""
    known_hosts: ServerFile | None = None
    """The known hosts; by default ssh's own."""
    program: ServerFile = "ssh"
    """The program that connects."""
    options: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=3000)]], Field(max_length=100), SETTINGS_FILE_ONLY
    ] = []
    """More options of ssh."""

    def options_of(self) -> list[str]:
        """The options for any host. ssh never asks for a password: no user is there to type it."""
        words = ["-T", "-o", "BatchMode=yes", "-o", f"ConnectTimeout={CONNECT_S}"]
        if self.identity is not None:
            words += ["-i", self.identity, "-o", "IdentitiesOnly=yes"]
        if self.known_hosts is not None:
            words += ["-o", f"UserKnownHostsFile={self.known_hosts}", "-o", "StrictHostKeyChecking=yes"]
        return [*words, *self.options]

    def command_to(self, url: str) -> list[str]:
        """The words before the command on the host of `ssh://user@host:port`."""
        parts = urlsplit(url)
        words = [self.program, *self.options_of()]
        if parts.port is not None:
            words += ["-p", str(parts.port)]
        if parts.username is not None:
            words += ["-l", parts.username]
        assert parts.hostname is not None
        return [*words, "--", parts.hostname]
