"""Which token a client sends, and which certificate it believes.

The token is the first of: the one given to the client; DOVETAIL_TOKEN; the file that DOVETAIL_TOKEN_FILE names; the one
of a server that this account runs (`access.known_servers`). The certificate is that of such a server, or else any that
an authority of this machine has signed.
"""

import os
from pathlib import Path
from typing import NamedTuple

from dovetail.access.known_servers import known_server, read_token

TOKEN, TOKEN_FILE = "DOVETAIL_TOKEN", "DOVETAIL_TOKEN_FILE"


class ServerCredentials(NamedTuple):
    token: str | None
    certificate: str | None


def credentials_for(url: str, token: str | None = None) -> ServerCredentials:
    """Raises ValueError for a file without a token."""
    known = known_server(url)
    token = token or os.environ.get(TOKEN) or _from_file(os.environ.get(TOKEN_FILE))
    if known is None:
        return ServerCredentials(token, None)
    return ServerCredentials(token or known.token(), known.certificate)


def _from_file(name: str | None) -> str | None:
    if not name:
        return None
    found = read_token(Path(name))
    if found is None:
        raise ValueError(f"{name} holds no token, or cannot be read; {TOKEN_FILE} is to name a file with one")
    return found
