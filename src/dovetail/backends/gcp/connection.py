"""The clients of Google's SDK, and the threads that their calls run on. The SDK is imported when the first one is made,
which takes seconds."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from dovetail.backends.gcp.settings import GcpSettings

T = TypeVar("T")
THREADS = 8
ANSWER_WITHIN_S = 60.0
SCOPES = ["https://www.googleapis.com/auth/compute"]
#: Options of every call: the SDK itself would repeat some calls for ten minutes, and keep a thread for that.
ONCE: dict[str, Any] = {"retry": None, "timeout": ANSWER_WITHIN_S}


@dataclass(frozen=True, slots=True)
class GcpClients:
    """Clients of `google.cloud.compute_v1`."""

    instances: Any
    zone_operations: Any
    global_operations: Any
    zones: Any
    machine_types: Any
    accelerator_types: Any


class GcpConnection:
    """Call the clients inside `run`."""

    def __init__(self, settings: GcpSettings) -> None:
        self._settings = settings
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="gcp")
        self._clients: GcpClients | None = None
        self._making = asyncio.Lock()

    @property
    def clients(self) -> GcpClients:
        assert self._clients is not None, "call open first"
        return self._clients

    async def open(self) -> None:
        async with self._making:
            if self._clients is None:
                self._clients = await self.run(lambda: _clients(self._settings))

    async def run(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)

    async def close(self) -> None:
        if self._clients is not None:
            for each in fields(self._clients):
                getattr(self._clients, each.name).transport.close()
        self._threads.shutdown(wait=False, cancel_futures=True)


def _clients(settings: GcpSettings) -> GcpClients:
    from google.cloud import compute_v1

    options = {} if settings.endpoint is None else {"api_endpoint": settings.endpoint}
    given: dict[str, Any] = {"credentials": _credentials(settings), "client_options": options}
    return GcpClients(
        compute_v1.InstancesClient(**given),
        compute_v1.ZoneOperationsClient(**given),
        compute_v1.GlobalOperationsClient(**given),
        compute_v1.ZonesClient(**given),
        compute_v1.MachineTypesClient(**given),
        compute_v1.AcceleratorTypesClient(**given),
    )


def _credentials(settings: GcpSettings) -> Any:
    if settings.credentials is not None:
        from google.oauth2 import service_account

        return service_account.Credentials.from_service_account_file(settings.credentials, scopes=SCOPES)
    import google.auth

    found, _project = google.auth.default(scopes=SCOPES)
    return found
