"""Backends of bare metal in a room where an agent beats for every machine that is on."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.contract.backends.conformance import Subject
from tests.contract.backends.machines.room import BackendInRoom, MachineRoom, backend_in_room, subject_in_room

from dovetail.backends.contract import Report
from dovetail.backends.metal.backend import MetalBackend, controller_of
from dovetail.backends.metal.provider import MetalProvider
from dovetail.backends.metal.settings import MetalSettings

MACHINES = ("m1", "m2", "m3")
CAPACITY = {"cpu": 4, "memory": "8G"}


def settings_of(bmcs: dict[str, dict[str, Any]], **more: Any) -> MetalSettings:
    machines = [{"name": name, "bmc": bmc, "rack": "r1", "capacity": CAPACITY} for name, bmc in bmcs.items()]
    usual = {"poll": "200ms", "idle": "1h", "answer_within": "5s", "power_within": "5s", "shutdown_within": 0}
    return MetalSettings.model_validate({"machines": machines, **usual, **more})


def provider_of(settings: MetalSettings, folder: Path) -> MetalProvider:
    controllers = {one.name: controller_of(one, settings) for one in settings.machines}
    return MetalProvider("cloud", settings, controllers, folder)


def metal_subject(settings: MetalSettings, room: MachineRoom, folder: Path, break_calls: Callable[[], Any]) -> Subject:
    def backend() -> BackendInRoom:
        return backend_in_room(provider_of(settings, folder), room, folder, settings.for_fleet(), None)

    usual = subject_in_room(lambda: provider_of(settings, folder), room, folder, break_calls)
    return replace(usual, backend_factory=backend)


def in_room(on: Callable[[], list[str]]) -> MachineRoom:
    async def running() -> dict[str, str]:
        return {name: name for name in await asyncio.to_thread(on)}

    return MachineRoom(running, look_s=0.2)


class MetalInRoom(MetalBackend):
    """The backend itself, as the registry builds it."""

    room: MachineRoom
    _serving: asyncio.Task[None] | None = None

    async def start(self, report: Report) -> None:
        await super().start(report)
        self._serving = self._serving or asyncio.create_task(self.room.serve(self))

    async def close(self) -> None:
        if self._serving is not None:
            self._serving.cancel()
            await asyncio.wait([self._serving])
        await super().close()
