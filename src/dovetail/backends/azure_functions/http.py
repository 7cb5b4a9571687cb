"""Requests to a function app, and what their errors mean for a call. Nothing is repeated here."""

from typing import Any
from urllib.parse import urlsplit

import httpx

from dovetail.backends.serverless.calls import CallNotSent, CallRefused, CallThrottled
from dovetail.model.failure_cause import FailureCause

KEY_HEADER = "x-functions-key"
MOST_SHOWN = 300


class AppUnreachable(Exception):
    """The function app could not be asked, or did not answer."""


class AppClient:
    """`quick_s`: how long a short request may take."""

    def __init__(self, url: str, quick_s: float) -> None:
        self._origin = _origin(url)
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=20)
        # A redirect would carry the key to wherever it leads.
        self._http = httpx.AsyncClient(base_url=url, timeout=quick_s, limits=limits, follow_redirects=False)
        self._quick_s = quick_s

    async def ask(
        self,
        method: str,
        url: str,
        key: str | None,
        *,
        body: bytes | None = None,
        read_s: float | None = None,
        **query: Any,
    ) -> httpx.Response:
        """Raises AppUnreachable without an answer, CallNotSent if no connection was made."""
        headers = {} if key is None else {KEY_HEADER: key}
        if body is not None:
            headers["content-type"] = "application/json"
        timeout = httpx.Timeout(self._quick_s, read=read_s or self._quick_s, pool=None)
        try:
            return await self._http.request(
                method, url, headers=headers, content=body, params=query or None, timeout=timeout
            )
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise CallNotSent(f"the function app cannot be reached: {error}") from error
        except httpx.HTTPError as error:
            raise AppUnreachable(f"{type(error).__name__}: {error}".rstrip(": ")) from error

    def is_ours(self, url: str) -> bool:
        """Whether an address that the app gave is its own: keys are sent nowhere else."""
        return url.startswith("/") or _origin(url) == self._origin

    async def close(self) -> None:
        await self._http.aclose()


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    try:
        port = parts.port
    except ValueError:
        port = -1
    return parts.scheme, parts.hostname, port or {"http": 80, "https": 443}.get(parts.scheme)


def refuse_unless_taken(answer: httpx.Response, what: str) -> None:
    """Raises for an answer that says that the call was surely not begun, or that says nothing."""
    status, words = answer.status_code, f"{what} answered {answer.status_code}: {shown_body(answer)}".rstrip(": ")
    if status == 429:
        raise CallThrottled(f"Azure delays it: {words}")
    if status in (401, 403):
        raise CallRefused(f"{words}; correct the key of the backend", FailureCause.NODE)
    if status in (404, 405):
        raise CallRefused(f"{words}; correct the function in the settings of the backend", FailureCause.NODE)
    if status == 413:
        raise CallRefused(f"{words}; put the data into a store", FailureCause.WORKLOAD)


def shown_body(answer: httpx.Response) -> str:
    return answer.text.strip()[:MOST_SHOWN]
