"""Azure's SDK and our provider against the fake at the wire, for the tests beside this file."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.contract.backends.conformance import Subject
from tests.contract.backends.machines.room import BackendInRoom, MachineRoom, backend_in_room, subject_in_room
from tests.servers.azure_wire import CLIENT, GROUP, SECRET, SUBSCRIPTION, TENANT, AzureWire
from tests.servers.certificates import Authority

from dovetail.backends.azure.provider import AzureMachines
from dovetail.backends.azure.settings import AzureSettings
from dovetail.backends.machines.provider import Launch, MachineType
from dovetail.backends.machines.settings import MachineSettings
from dovetail.testing.rig import CollectedReports, Rig

SUBNET = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/net/providers/Microsoft.Network/virtualNetworks/lab/subnets/a"


@contextmanager
def azure_wire(folder: Path) -> Iterator[tuple[AzureWire, Path]]:
    """The fake, and the authority that signed its certificate."""
    pytest.importorskip("azure.mgmt.compute", reason="azure-mgmt-compute is not installed (PyPI)")
    authority = Authority(folder / "authority")
    with AzureWire(authority.server("azure")) as wire:
        yield wire, authority.certificate


def azure_settings(wire: AzureWire, ca: Path, **more: Any) -> AzureSettings:
    given = {
        "subscription": SUBSCRIPTION,
        "resource_group": GROUP,
        "tenant": TENANT,
        "client_id": CLIENT,
        "client_secret": SECRET,
        "regions": ["eastus"],
        "networks": {"eastus": {"subnet": SUBNET, "zones": ["1", "2"]}},
        "types": ["Standard_D4s_v5", "Standard_D8s_v5"],
        "join": {"server": "http://127.0.0.1:1", "install": ""},
        "endpoint": wire.url,
        "authority": wire.url,
        "ca": str(ca),
        "price_url": f"{wire.url}/api/retail/prices",
        **more,
    }
    return AzureSettings.model_validate(given)


class AzureScene:
    """A backend in a room with the machines of the fake."""

    def __init__(self, wire: AzureWire, ca: Path, folder: Path, **more: Any) -> None:
        self.wire, self.folder = wire, folder
        self.settings = azure_settings(wire, ca, **more)
        self.room = MachineRoom(self._running, look_s=0.02)
        self.reports = CollectedReports(self.subject())
        self.rig = Rig(self.subject(), self.backend(), self.reports)

    async def _running(self) -> dict[str, str]:
        return self.wire.running()

    def provider(self) -> AzureMachines:
        return AzureMachines("cloud", self.settings, look_s=0.02)

    def backend(self) -> BackendInRoom:
        given = self.settings
        settings = MachineSettings(poll=0.05, idle=given.idle, reap_after=given.reap_after, quotas=given.quotas)
        return backend_in_room(self.provider(), self.room, self.folder, settings)

    def subject(self) -> Subject:
        @asynccontextmanager
        async def unreachable() -> AsyncIterator[None]:
            with self.wire.faults.unreachable():
                yield

        return subject_in_room(self.provider, self.room, self.folder, unreachable)

    async def until(self, holds: Callable[[], bool], what: str) -> None:
        await self.reports.until_true(holds, what)


def launch_of(kind: MachineType, token: str = "0123456789abcdef", owner: str = "us") -> Launch:
    return Launch(f"{kind.name}-1", kind, token, owner, "#!/bin/sh\necho hello\n")
