"""Google's SDK and our provider against the fake at the wire, for the tests beside this file."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.contract.backends.conformance import Subject
from tests.contract.backends.machines.room import BackendInRoom, MachineRoom, backend_in_room, subject_in_room
from tests.servers.gcp_wire import PROJECT, GcpWire

from dovetail.backends.gcp.provider import GcpMachines
from dovetail.backends.gcp.settings import GcpSettings
from dovetail.backends.machines.settings import MachineSettings
from dovetail.testing.rig import CollectedReports, Rig


@contextmanager
def gcp_wire(folder: Path) -> Iterator[tuple[GcpWire, Path]]:
    """The fake, and the key of its service account."""
    pytest.importorskip("google.cloud.compute_v1", reason="google-cloud-compute is not installed (PyPI)")
    with GcpWire() as wire:
        yield wire, wire.keyfile(folder / "key.json")


def gcp_settings(wire: GcpWire, key: Path, **more: Any) -> GcpSettings:
    given = {
        "project": PROJECT,
        "credentials": str(key),
        "regions": ["us-central1"],
        "types": ["e2-standard-4", "e2-standard-8"],
        "join": {"server": "http://127.0.0.1:1", "install": ""},
        "endpoint": wire.url,
        "price_url": wire.url,
        **more,
    }
    return GcpSettings.model_validate(given)


class GcpScene:
    """A backend in a room with the instances of the fake."""

    def __init__(self, wire: GcpWire, key: Path, folder: Path, **more: Any) -> None:
        self.wire, self.folder = wire, folder
        self.settings = gcp_settings(wire, key, **more)
        self.room = MachineRoom(self._running, look_s=0.02)
        self.reports = CollectedReports(self.subject())
        self.rig = Rig(self.subject(), self.backend(), self.reports)

    async def _running(self) -> dict[str, str]:
        return self.wire.running()

    def provider(self) -> GcpMachines:
        return GcpMachines("cloud", self.settings, look_s=0.02)

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
