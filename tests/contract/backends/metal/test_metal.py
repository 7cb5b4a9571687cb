"""Bare metal keeps the promises of every backend, over Redfish and over IPMI. A controller that hangs, lies, answers
nonsense or refuses logins takes its own machine out, and no other."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from tests.contract.backends.conformance import BackendConformance, Subject
from tests.contract.backends.machines.room import (
    BackendInRoom,
    MachineRoom,
    NoTokens,
    backend_in_room,
    scripted_work,
    subject_in_room,
)
from tests.servers.ipmi import IpmiMachine, ipmi_machines
from tests.servers.redfish import RedfishServer, redfish_server

from dovetail.backends.contract import Assignment, Refusal
from dovetail.backends.metal import watch as watching
from dovetail.backends.metal.backend import MetalBackend, controller_of
from dovetail.backends.metal.provider import MetalProvider
from dovetail.backends.metal.settings import MetalSettings
from dovetail.model.event import BindFailed, NodeHealthChanged, TaskFinished
from dovetail.testing.lossy_proxy import LossyProxy
from dovetail.testing.rig import CollectedReports, Rig, in_event_loop

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("metal")]
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


@pytest.fixture(scope="module")
def redfish() -> Iterator[RedfishServer]:
    with redfish_server(*MACHINES) as server:
        yield server


@pytest.fixture(scope="module")
def simulated() -> Iterator[list[IpmiMachine]]:
    with ipmi_machines("m1", "m2") as machines:
        yield list(machines)


def in_room(on: Callable[[], list[str]]) -> MachineRoom:
    async def running() -> dict[str, str]:
        return {name: name for name in await asyncio.to_thread(on)}

    return MachineRoom(running, look_s=0.1)


class TestRedfishMachines(BackendConformance):
    @pytest.fixture
    def subject(self, redfish: RedfishServer, tmp_path: Path) -> Iterator[Subject]:
        redfish.all_off()
        with LossyProxy(redfish.address) as proxy:
            settings = settings_of({name: redfish.bmc(name, f"http://{proxy.address}") for name in MACHINES})
            yield metal_subject(settings, in_room(redfish.on), tmp_path, proxy.break_calls)


class TestIpmiMachines(BackendConformance):
    @pytest.fixture
    def subject(self, simulated: list[IpmiMachine], tmp_path: Path) -> Subject:
        for machine in simulated:
            machine.set_power("off")

        @asynccontextmanager
        async def hanging() -> AsyncIterator[None]:
            with ExitStack() as paused:
                for machine in simulated:
                    paused.enter_context(machine.daemon.paused())
                yield

        settings = settings_of({one.name: one.bmc() for one in simulated}, answer_within="3s")
        room = in_room(lambda: [one.name for one in simulated if one.power() == "on"])
        return metal_subject(settings, room, tmp_path, hanging)
