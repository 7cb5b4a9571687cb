"""Settings of bare metal: what is missing or contradicts is named where it stands."""

from typing import Any

import pytest
from pydantic import ValidationError

from dovetail.backends.contract import UnusableSetting
from dovetail.backends.metal.check import check_programs
from dovetail.backends.metal.ipmi import sensor_readings
from dovetail.backends.metal.settings import MetalSettings, ipmi_address

REDFISH = {"redfish": "https://10.0.1.3", "user": "a", "password": "b"}
IPMI = {"ipmi": "10.0.1.3", "user": "a", "password": "b"}


def settings(**machine: Any) -> MetalSettings:
    return MetalSettings.model_validate({"machines": {"m1": machine}})


@pytest.mark.parametrize(
    ("machine", "words"),
    [
        ({"bmc": {"user": "a", "password": "b"}}, "give one of redfish"),
        ({"bmc": {**REDFISH, "ipmi": "10.0.1.3"}}, "give one of redfish"),
        ({"bmc": IPMI}, "IPMI does not say what a machine has"),
        ({"bmc": {**IPMI, "verify": False}, "capacity": {"cpu": 1}}, "those are for redfish"),
        ({"bmc": {**IPMI, "ipmi": "a b"}, "capacity": {"cpu": 1}}, "is neither an IP address nor the name of a host"),
        ({"bmc": REDFISH, "rack": "r1", "labels": {"rack": "r2"}}, "differs from the label rack"),
    ],
)
def test_what_is_wrong_is_named(machine: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        settings(**machine)


def test_one_controller_is_one_machine() -> None:
    with pytest.raises(ValidationError, match="stands twice; one system is one machine"):
        MetalSettings.model_validate({"machines": {"m1": {"bmc": REDFISH}, "m2": {"bmc": REDFISH}}})


def test_addresses_of_controllers_have_ports() -> None:
    assert ipmi_address("10.0.1.3") == ("10.0.1.3", 623)
    assert ipmi_address("bmc-7:6230") == ("bmc-7", 6230)
    assert ipmi_address("[fd00::1]:6230") == ("fd00::1", 6230)
    assert ipmi_address("fd00::1") == ("fd00::1", 623)


def test_a_password_is_never_shown() -> None:
    assert "hush" not in str(settings(bmc={**REDFISH, "password": "hush"}))


def test_a_program_that_is_missing_is_named() -> None:
    wanted = MetalSettings.model_validate(
        {"machines": {"m1": {"bmc": IPMI, "capacity": {"cpu": 1}}}, "ipmitool": "/nowhere/ipmitool"}
    )
    with pytest.raises(UnusableSetting, match="does not find the program /nowhere/ipmitool") as error:
        check_programs(wanted)
    assert error.value.field == "machines[0].bmc.ipmi"


def test_sensors_without_a_value_and_lines_of_others_are_read_too() -> None:
    found = list(sensor_readings("CPU1 Temp,45,degrees C,ok\nFan2,,,ns\nPSU,0x01,discrete,cr\nnoise\n"))
    assert [(one.name, one.sort, one.value, one.unit, one.health) for one in found] == [
        ("CPU1 Temp", "temperature", 45.0, "C", "ok"),
        ("Fan2", "other", None, "", ""),
        ("PSU", "other", None, "discrete", "critical"),
    ]
