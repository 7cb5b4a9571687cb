"""Who an agent is: the node it speaks for, its server, and the token and the certificate that it got when it joined.

A join token makes a new node once; from then on the agent has a token of its own, in a file that only its account may
read. The certificate of the server is believed by its fingerprint, which the person who starts the agent was given with
the join token, and by nothing else.
"""

import hashlib
import json
import socket
import ssl
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from pydantic import ValidationError

from dovetail.access.private_file import write_private
from dovetail.client import Client, DovetailError
from dovetail.model.text.strict import Strict

_FILE = "identity.json"
_CERTIFICATE = "server.crt"


class CannotJoin(Exception):
    """The message says why and what to do."""


class AgentIdentity(Strict):
    url: str
    node: str
    token: str
    certificate: str | None = None

    def client(self, timeout_s: float = 30.0) -> Client:
        return Client(self.url, token=self.token, timeout_s=timeout_s, certificate=self.certificate)


def known_identity(data: Path) -> AgentIdentity | None:
    """Raises CannotJoin for a file that says nothing useful."""
    path = data / _FILE
    try:
        return AgentIdentity.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as error:
        words = f"{path} cannot be read: {str(error).splitlines()[0]}"
        raise CannotJoin(f"{words}; mend it, or remove it and join again with a new join token") from None


class JoinRequest(NamedTuple):
    """What a person gives a new agent. `token`: a join token, or that of the node itself."""

    url: str
    token: str
    fingerprint: str | None = None


def join(data: Path, given: JoinRequest, node: dict[str, Any]) -> AgentIdentity:
    """Register the node, and keep what it is given. Raises CannotJoin, and ConnectError where nobody answers."""
    url = given.url
    certificate = None if given.fingerprint is None else _believed(url, given.fingerprint, data / _CERTIFICATE)
    with Client(url, token=given.token, certificate=certificate) as joining:
        try:
            made = joining.register_node(node)
        except DovetailError as error:
            raise CannotJoin(f"{url} does not let node {node['name']} join: {error}") from None
    identity = AgentIdentity(url=url, node=node["name"], token=made.get("token", given.token), certificate=certificate)
    write_private(data / _FILE, json.dumps(identity.model_dump()) + "\n")
    return identity


def own_address(url: str) -> str | None:
    """From which address this machine reaches the server; None if it cannot. Nothing is sent for that."""
    parts = urlsplit(url)
    try:
        family, kind, _, _, target = socket.getaddrinfo(parts.hostname, parts.port or 443, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, kind) as asked:
            asked.connect(target)
            return str(asked.getsockname()[0])
    except OSError:
        return None


def _believed(url: str, fingerprint: str, keep: Path) -> str:
    """The certificate that the server shows now, if it has this fingerprint. Raises CannotJoin."""
    parts = urlsplit(url)
    if parts.scheme != "https":
        raise CannotJoin(f"{url} has no certificate; give --fingerprint only for https")
    try:
        shown = ssl.get_server_certificate((parts.hostname or "", parts.port or 443), timeout=10)
    except OSError as error:
        raise CannotJoin(f"{url} does not answer: {error}; is the server running, and does it listen there?") from None
    found = hashlib.sha256(ssl.PEM_cert_to_DER_cert(shown)).hexdigest()
    if found != fingerprint.replace(":", "").lower():
        words = f"the certificate of {url} has the fingerprint {found[:16]}…, not the one given"
        raise CannotJoin(f"{words}; somebody else may answer there: compare with what the server printed at its start")
    write_private(keep, shown)
    return str(keep)
