"""Requests through an HTTP proxy, which are aiohttp's: it knows how to ask one for a way through."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
from yarl import URL

from dovetail.kubernetes.client.access import Access
from dovetail.kubernetes.client.exchange import Answer, keep_lively
from dovetail.kubernetes.client.lasting import BrokenExchange, Head


class Proxied:
    """Raises BrokenExchange where no whole answer came."""

    def __init__(self, access: Access, headers: Mapping[str, str]) -> None:
        connector = aiohttp.TCPConnector(limit=0, ssl=access.trust if access.trust is not None else True)
        self._server = access.server
        self._options: dict[str, Any] = {"allow_redirects": False, "proxy": access.proxy}
        if access.server_name:
            self._options["server_hostname"] = access.server_name
        self._session = aiohttp.ClientSession(connector=connector, headers=headers, cookie_jar=aiohttp.DummyCookieJar())

    async def close(self) -> None:
        await self._session.close()

    async def ask(
        self, method: str, target: str, headers: dict[str, str], body: bytes | None, timeout_s: float
    ) -> Answer:
        timeout = aiohttp.ClientTimeout(total=timeout_s)
        try:
            async with self._session.request(
                method, self._url(target), data=body, headers=headers, timeout=timeout, **self._options
            ) as answer:
                return Answer(answer.status, await answer.read(), answer.headers.get("Retry-After"))
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise BrokenExchange(str(error) or type(error).__name__) from None

    @asynccontextmanager
    async def follow(
        self, target: str, headers: dict[str, str], connect_s: float, silence_s: float | None
    ) -> AsyncIterator[tuple[Head, AsyncIterator[bytes]]]:
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=connect_s, sock_read=silence_s)
        try:
            async with self._session.get(
                self._url(target), headers=headers, timeout=timeout, **self._options
            ) as answer:
                if answer.connection is not None and answer.connection.transport is not None:
                    keep_lively(answer.connection.transport.get_extra_info("socket"))
                yield Head(answer.status, answer.headers.get("Retry-After")), answer.content.iter_any()
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise BrokenExchange(str(error) or type(error).__name__) from None

    def _url(self, target: str) -> URL:
        return URL(f"{self._server}{target}", encoded=True)
