"""The token of servers that tests start, found as commands of the same account find it."""

from collections.abc import Generator
from pathlib import Path

import httpx

from dovetail.access.known_servers import KnownServer, note_server
from dovetail.client.transport.credentials import credentials_for


class OwnToken(httpx.Auth):
    """For httpx: `auth=OWN_TOKEN`. A header that the test gives stays."""

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        token = credentials_for(str(request.url)).token
        if token is not None:
            request.headers.setdefault("Authorization", f"Bearer {token}")
        yield request


OWN_TOKEN = OwnToken()


def note(url: str, token_file: Path) -> None:
    """As `dovetail serve` does when it listens."""
    note_server(KnownServer(url, str(token_file)), [url])
