"""Management controllers, asked for real: the Redfish emulator and the IPMI simulator."""

import asyncio
import time
from collections.abc import Iterator

import pytest
from pydantic import SecretStr
from tests.servers.ipmi import FAN_RPM, POWER_W, TEMPERATURE_C, IpmiMachine, ipmi_machines
from tests.servers.redfish import CORES, MEMORY_GIB, RedfishServer, redfish_server

from dovetail.backends.metal.controller import (
    BmcTrouble,
    BootDevice,
    HardwareInventory,
    ManagementController,
    PowerAction,
    PowerState,
    SensorReading,
    TroubleKind,
)
from dovetail.backends.metal.ipmi import IpmiController
from dovetail.backends.metal.redfish import RedfishController
from dovetail.backends.metal.settings import BmcSettings
from dovetail.testing.rig import in_event_loop

pytestmark = [pytest.mark.needs_server, pytest.mark.xdist_group("metal")]


@pytest.fixture(scope="module")
def redfish() -> Iterator[RedfishServer]:
    with redfish_server("m1", "m2") as server:
        yield server


@pytest.fixture(scope="module")
def simulated() -> Iterator[IpmiMachine]:
    with ipmi_machines("m1") as machines:
        yield machines[0]


@pytest.fixture(params=["redfish", "ipmi"])
def controller(request: pytest.FixtureRequest) -> ManagementController:
    if request.param == "redfish":
        server = request.getfixturevalue("redfish")
        return RedfishController(BmcSettings.model_validate(server.bmc("m1")), 10.0)
    machine = request.getfixturevalue("simulated")
    return IpmiController(BmcSettings.model_validate(machine.bmc()), 10.0)


async def become(controller: ManagementController, action: PowerAction, state: PowerState) -> None:
    await controller.act(action)
    async with asyncio.timeout(30):
        while await controller.power() is not state:
            pass


@in_event_loop
async def test_a_machine_is_powered_on_restarted_and_powered_off(controller: ManagementController) -> None:
    await become(controller, PowerAction.ON, PowerState.ON)
    await become(controller, PowerAction.RESET, PowerState.ON)
    await become(controller, PowerAction.SHUTDOWN, PowerState.OFF)
    await become(controller, PowerAction.ON, PowerState.ON)
    await become(controller, PowerAction.OFF, PowerState.OFF)
    await controller.close()


@in_event_loop
async def test_the_boot_device_is_set_and_read_back(controller: ManagementController) -> None:
    for device in (BootDevice.NETWORK, BootDevice.DISK, BootDevice.CDROM):
        await controller.set_boot_device(device, once=False)
        assert await controller.boot_device() is device


@in_event_loop
async def test_redfish_tells_what_a_machine_has(redfish: RedfishServer) -> None:
    found = await RedfishController(BmcSettings.model_validate(redfish.bmc("m2")), 10.0).inventory()
    assert (found.cores, found.memory_bytes) == (CORES, MEMORY_GIB * 2**30)
    assert found.manufacturer == "Sushy Emulator"
    assert [nic.mac for nic in found.nics] == ["02:00:00:00:00:01"]
    assert found.firmware["bmc"]


@in_event_loop
async def test_ipmi_tells_the_firmware_and_no_more(simulated: IpmiMachine) -> None:
    found = await IpmiController(BmcSettings.model_validate(simulated.bmc()), 10.0).inventory()
    assert found == HardwareInventory(firmware={"bmc": "9.08"})


@in_event_loop
async def test_redfish_tells_temperatures_and_fans(redfish: RedfishServer) -> None:
    found = await RedfishController(BmcSettings.model_validate(redfish.bmc("m1")), 10.0).sensors()
    assert SensorReading("CPU Temp", "temperature", 41.0, "C", "ok") in found
    assert SensorReading("BaseBoard System Fan", "fan", 2100.0, "RPM", "ok") in found


@in_event_loop
async def test_ipmi_tells_temperatures_fans_and_power(simulated: IpmiMachine) -> None:
    controller = IpmiController(BmcSettings.model_validate(simulated.bmc()), 10.0)
    wanted = [
        SensorReading("CPU Temp", "temperature", TEMPERATURE_C, "C", "ok"),
        SensorReading("Fan 1", "fan", FAN_RPM, "RPM", "ok"),
        SensorReading("Power", "power", POWER_W, "W", "ok"),
    ]
    async with asyncio.timeout(30):
        while await controller.sensors() != wanted:
            pass  # the simulator reads them once a second


@in_event_loop
async def test_a_wrong_password_is_named_as_such(redfish: RedfishServer, simulated: IpmiMachine) -> None:
    wrong = {"password": SecretStr("wrong")}
    over_redfish = BmcSettings.model_validate(redfish.bmc("m1")).model_copy(update=wrong)
    with pytest.raises(BmcTrouble, match="refuses the login of operator") as trouble:
        await RedfishController(over_redfish, 10.0).power()
    assert trouble.value.kind is TroubleKind.LOGIN
    over_ipmi = BmcSettings.model_validate(simulated.bmc()).model_copy(update=wrong)
    with pytest.raises(BmcTrouble, match="refuses the login of operator") as trouble:
        await IpmiController(over_ipmi, 10.0).power()
    assert trouble.value.kind is TroubleKind.LOGIN


@in_event_loop
async def test_a_service_with_several_systems_asks_which_one_is_meant(redfish: RedfishServer) -> None:
    settings = BmcSettings.model_validate({**redfish.bmc("m1"), "system": None})
    with pytest.raises(BmcTrouble, match=r"has 2 systems: set bmc\.system to one of /redfish/v1/Systems/"):
        await RedfishController(settings, 10.0).power()


@in_event_loop
async def test_a_controller_that_hangs_is_given_up_in_time(redfish: RedfishServer, simulated: IpmiMachine) -> None:
    over_redfish = RedfishController(BmcSettings.model_validate(redfish.bmc("m1")), 0.5)
    over_ipmi = IpmiController(BmcSettings.model_validate(simulated.bmc()), 0.5)
    with redfish.daemon.paused(), simulated.daemon.paused():
        began = time.monotonic()
        for call in (over_redfish.power(), over_redfish.power(), over_ipmi.power()):
            with pytest.raises(BmcTrouble, match=r"did not answer within 0\.5 s|cannot be reached") as trouble:
                await call
            assert trouble.value.kind is TroubleKind.UNREACHABLE
        assert time.monotonic() - began < 10
    async with asyncio.timeout(30):
        while True:
            try:
                assert await over_redfish.power() in PowerState
                assert await over_ipmi.power() in PowerState
                return
            except BmcTrouble:
                await asyncio.sleep(0.1)
