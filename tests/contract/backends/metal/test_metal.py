"""Bare metal keeps the promises of every backend, over Redfish and over IPMI."""

from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

import pytest
from tests.contract.backends.conformance import BackendConformance, Subject
from tests.contract.backends.metal.metal_room import MACHINES, in_room, metal_subject, settings_of
from tests.servers.ipmi import IpmiMachine, ipmi_machines
from tests.servers.redfish import RedfishServer, redfish_server

from dovetail.testing.lossy_proxy import LossyProxy

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("metal")]


@pytest.fixture(scope="module")
def redfish() -> Iterator[RedfishServer]:
    with redfish_server(*MACHINES) as server:
        yield server


@pytest.fixture(scope="module")
def simulated() -> Iterator[list[IpmiMachine]]:
    with ipmi_machines("m1", "m2") as machines:
        yield list(machines)


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

        settings = settings_of({one.name: one.bmc() for one in simulated}, answer_within="10s")
        room = in_room(lambda: [one.name for one in simulated if one.power() == "on"])
        return metal_subject(settings, room, tmp_path, hanging)
