"""What Azure's answers and names mean, and which settings a request may not give."""

from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import ValidationError

from dovetail.backends.azure.check import check_sdk
from dovetail.backends.azure.errors import kind_of
from dovetail.backends.azure.quotas import family_of, quota_name
from dovetail.backends.azure.settings import AzureSettings
from dovetail.backends.azure.states import machine_of, power_state, provisioning_failure, state_of
from dovetail.backends.contract import UnusableSetting
from dovetail.backends.machines.provider import MachineState, RefusalKind
from dovetail.backends.settings_file_only import settings_file_fields

GUID = "11111111-2222-3333-4444-555555555555"
SUBNET = f"/subscriptions/{GUID}/resourceGroups/net/providers/Microsoft.Network/virtualNetworks/lab/subnets/a"


def settings(**more: Any) -> AzureSettings:
    given = {
        "subscription": GUID,
        "resource_group": "work",
        "regions": ["eastus"],
        "networks": {"eastus": {"subnet": SUBNET}},
        "join": {"server": "https://dovetail.example.com"},
    }
    return AzureSettings.model_validate(given | more)


@pytest.mark.parametrize(
    ("size", "family"),
    [
        ("Standard_D4s_v5", "DSv5"),
        ("Standard_E96as_v5", "EASv5"),
        ("Standard_F72s_v2", "FSv2"),
        ("Standard_NC24ads_A100_v4", "NCADSA100v4"),
        ("Standard_NC4as_T4_v3", "NCAST4v3"),
        ("Standard_HB120rs_v3", "HBRSv3"),
        ("Standard_B2ms", "BMS"),
        ("something else", "something else"),
    ],
)
def test_a_size_counts_against_the_quota_of_its_family(size: str, family: str) -> None:
    assert family_of(size) == family
    assert quota_name("eastus", size, spot=False) == f"eastus/{family}"
    assert quota_name("eastus", size, spot=True) == "eastus/spot"


@pytest.mark.parametrize(
    ("code", "message", "status", "kind"),
    [
        ("SkuNotAvailable", "", 409, RefusalKind.STOCK_OUT),
        ("OverconstrainedZonalAllocationRequest", "", 0, RefusalKind.STOCK_OUT),
        ("QuotaExceeded", "", 409, RefusalKind.QUOTA),
        ("OperationNotAllowed", "results in exceeding approved Total Regional Cores quota", 409, RefusalKind.QUOTA),
        ("OperationNotAllowed", "The server has been stopped", 409, RefusalKind.INVALID),
        ("LinkedAuthorizationFailed", "", 403, RefusalKind.PERMISSION),
        ("InvalidParameter", "", 400, RefusalKind.INVALID),
        ("ResourceGroupNotFound", "", 404, RefusalKind.INVALID),
        ("TooManyRequests", "", 429, None),
        ("Conflict", "", 409, None),
        ("InternalServerError", "", 500, None),
    ],
)
def test_an_error_is_a_refusal_only_if_nothing_was_launched(
    code: str, message: str, status: int, kind: RefusalKind | None
) -> None:
    assert kind_of(code, message, status) is kind


@pytest.mark.parametrize(
    ("provisioning", "power", "state"),
    [
        ("Creating", None, MachineState.STARTING),
        ("Succeeded", None, MachineState.RUNNING),
        ("Succeeded", "deallocated", MachineState.STOPPED),
        ("Failed", None, MachineState.STOPPED),
        ("Failed", "running", MachineState.RUNNING),  # its system did not report in time, but its agent may
        ("Updating", "running", MachineState.RUNNING),
        ("Deleting", "running", MachineState.ENDING),
    ],
)
def test_a_machine_is_what_azure_says_of_it(provisioning: str, power: str | None, state: MachineState) -> None:
    assert state_of(provisioning, power)[0] is state


def test_an_instance_view_says_whether_it_runs_and_why_it_has_failed() -> None:
    failed = SimpleNamespace(code="ProvisioningState/failed/AllocationFailed", message="no\n  capacity")
    running = SimpleNamespace(code="PowerState/running", message=None)
    assert power_state([failed, running]) == "running"
    assert power_state([failed]) is None
    assert provisioning_failure([running, failed]) == ("AllocationFailed", "no capacity")
    assert provisioning_failure(None) == ("", "provisioning failed")


def test_a_size_that_the_sdk_knows_is_written_as_azure_writes_it() -> None:
    models = pytest.importorskip("azure.mgmt.compute.models", reason="azure-mgmt-compute is not installed (PyPI)")
    described = {"properties": {"hardwareProfile": {"vmSize": "Standard_D2s_v3"}, "provisioningState": "Succeeded"}}
    machine = machine_of(
        models.VirtualMachine({"name": "one", "location": "eastus", "tags": {}, **described}), None, {}
    )
    assert (machine.type, machine.state) == ("Standard_D2s_v3", MachineState.RUNNING)


def test_addresses_and_files_are_for_the_settings_file_alone() -> None:
    given = settings(
        endpoint="https://arm.example.com",
        authority="https://login.example.com",
        ca="/etc/ca.pem",
        price_url="https://prices.example.com",
    )
    assert settings_file_fields(given) == ["endpoint", "authority", "ca", "price_url"]


def test_a_file_that_is_not_there_is_named() -> None:
    pytest.importorskip("azure.mgmt.compute", reason="azure-mgmt-compute is not installed (PyPI)")
    check_sdk(settings())
    with pytest.raises(UnusableSetting, match=r"there is no file /nowhere/ca\.pem"):
        check_sdk(settings(ca="/nowhere/ca.pem"))


def test_the_secret_is_not_shown() -> None:
    given = settings(tenant=GUID, client_id=GUID, client_secret="not to be seen")
    assert "not to be seen" not in f"{given!r} {given.model_dump_json()}"


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"regions": ["eastus", "westus2"]}, "westus2 has no subnet; add it to networks"),
        ({"client_secret": "x"}, "client_secret needs tenant and client_id"),
        ({"tenant": GUID, "client_id": GUID, "client_secret": "x", "managed_identity": True}, "goes without"),
        ({"endpoint": "http://arm.example.com"}, "endpoint"),
        ({"image": "Canonical:ubuntu"}, "image"),
    ],
)
def test_settings_that_cannot_work_are_refused(more: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        settings(**more)
