"""The clients of Azure's SDK, and the threads that their calls run on. The SDK is imported when one is first made."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from dovetail.backends.azure.settings import AzureSettings

T = TypeVar("T")
THREADS = 8
ANSWER_WITHIN_S = 60.0
#: The SDK repeats calls that were throttled or lost; a thread is not kept much longer than one answer takes.
RETRIES = 2
SCOPES = ["https://management.azure.com/.default"]


class AzureConnection:
    """`compute` and `network` are clients of `azure.mgmt`; call them inside `run`."""

    def __init__(self, settings: AzureSettings) -> None:
        self._settings = settings
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="azure")
        self._clients: tuple[Any, Any] | None = None
        self._making = asyncio.Lock()

    @property
    def compute(self) -> Any:
        assert self._clients is not None, "call open first"
        return self._clients[0]

    @property
    def network(self) -> Any:
        assert self._clients is not None, "call open first"
        return self._clients[1]

    async def open(self) -> None:
        async with self._making:
            if self._clients is None:
                self._clients = await self.run(lambda: _clients(self._settings))

    async def run(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)

    async def close(self) -> None:
        if self._clients is not None:
            for client in self._clients:
                client.close()
        self._threads.shutdown(wait=False, cancel_futures=True)


def _clients(settings: AzureSettings) -> tuple[Any, Any]:
    from azure.mgmt.compute import ComputeManagementClient
    from azure.mgmt.network import NetworkManagementClient

    verify = True if settings.ca is None else settings.ca
    options: dict[str, Any] = {
        "connection_verify": verify,
        "retry_total": RETRIES,
        "connection_timeout": ANSWER_WITHIN_S,
        "read_timeout": ANSWER_WITHIN_S,
    }
    if settings.endpoint is not None:
        options["base_url"] = settings.endpoint
    else:
        options["credential_scopes"] = SCOPES
    credential = _credential(settings, verify)
    return tuple(
        kind(credential, settings.subscription, **options)
        for kind in (ComputeManagementClient, NetworkManagementClient)
    )


def _credential(settings: AzureSettings, verify: bool | str) -> Any:
    from azure.identity import ClientSecretCredential, DefaultAzureCredential, ManagedIdentityCredential

    options: dict[str, Any] = {"connection_verify": verify, "retry_total": RETRIES}
    if settings.managed_identity:
        return ManagedIdentityCredential(client_id=settings.client_id, **options)
    if settings.authority is not None:
        # The list of known authorities is Microsoft's own; another cloud, or one of a customer, is not in it.
        options |= {"authority": settings.authority, "disable_instance_discovery": True}
    if settings.client_secret is None:
        return DefaultAzureCredential(**options)
    return ClientSecretCredential(
        settings.tenant or "", settings.client_id or "", settings.client_secret.get_secret_value(), **options
    )
