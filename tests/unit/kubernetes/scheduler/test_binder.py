"""Bindings go on whatever happens to the way to the server."""

import asyncio

from tests.patience import until
from tests.unit.kubernetes_client.wire import said, serving

from dovetail.kubernetes.scheduler.binder import Binder, PodBinding
from dovetail.kubernetes_client.access import Access
from dovetail.kubernetes_client.api import Api
from dovetail.kubernetes_client.credentials import CredentialsError


class Plugin:
    """Cannot be asked the first times, as one that needs a network of its own."""

    def __init__(self, failures: int) -> None:
        self._failures = failures

    async def header(self) -> str | None:
        if self._failures:
            self._failures -= 1
            raise CredentialsError("the credential plugin 'cloud' exited with 1: no network")
        return "Bearer good"

    def reject(self) -> None:
        pass


def test_credentials_that_cannot_be_had_for_a_while_only_delay_a_binding() -> None:
    async def scene() -> None:
        told: list[str] = []
        async with serving(said(201, {})) as server, Api(Access(f"http://{server.address}", Plugin(3))) as api:
            binder = Binder(api, lambda _, why_not: told.append(why_not), lambda _: None, width=1)
            binder.begin()
            binder.put(PodBinding(1, "default", "a", "uid-a", "n1", "1.0.1"))
            await until(lambda: bool(told), "the binding has come to something")
            await binder.close()
        assert told == [""]
        assert binder.under_way == 0

    asyncio.run(scene())
