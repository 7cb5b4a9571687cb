"""What Google's answers and names mean, and what an instance is asked for as."""

import re
from typing import Any

import pytest

from dovetail.backends.cloud_catalogue.offered_types import CatalogueView, offered_types
from dovetail.backends.cloud_catalogue.price_table import price_table
from dovetail.backends.contract import UnusableSetting
from dovetail.backends.gcp.check import check_sdk
from dovetail.backends.gcp.errors import kind_of_answer, kind_of_code
from dovetail.backends.gcp.instance_request import (
    instance_request,
    label_value,
    machine_and_accelerator,
    request_id,
)
from dovetail.backends.gcp.prices import _name
from dovetail.backends.gcp.quotas import quota_name
from dovetail.backends.gcp.settings import GcpSettings
from dovetail.backends.machines.provider import Launch, RefusalKind
from dovetail.backends.settings_file_only import settings_file_fields

ZONE = "us-central1-a"


def settings(**more: Any) -> GcpSettings:
    given = {"project": "lab-project", "regions": ["us-central1"], "join": {"server": "https://dovetail.example.com"}}
    return GcpSettings.model_validate(given | more)


def request_for(type_name: str, *, spot: bool = False, **more: Any) -> dict[str, Any]:
    found = settings(types=[type_name], spot="only" if spot else "never", **more)
    view = CatalogueView(price_table("gcp"), {("us-central1", type_name): [ZONE]})
    (kind,) = offered_types("cloud", view, found)
    return instance_request(found, Launch(f"{kind.name}-1", kind, "0123456789abcdef", "us", "#!/bin/sh\n"))


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("ZONE_RESOURCE_POOL_EXHAUSTED", RefusalKind.STOCK_OUT),
        ("QUOTA_EXCEEDED", RefusalKind.QUOTA),
        ("PERMISSIONS_ERROR", RefusalKind.PERMISSION),
        ("RESOURCE_NOT_FOUND", RefusalKind.INVALID),
        ("INTERNAL_ERROR", RefusalKind.STOCK_OUT),
    ],
)
def test_an_operation_that_has_failed_is_always_a_refusal(code: str, kind: RefusalKind) -> None:
    assert kind_of_code(code) is kind


@pytest.mark.parametrize(
    ("status", "reason", "kind"),
    [
        (403, "forbidden", RefusalKind.PERMISSION),
        (403, "quotaExceeded", RefusalKind.QUOTA),
        (403, "rateLimitExceeded", None),
        (404, "notFound", RefusalKind.INVALID),
        (409, "alreadyExists", None),
        (503, "backendError", None),
    ],
)
def test_an_answer_is_a_refusal_only_if_nothing_was_launched(
    status: int, reason: str, kind: RefusalKind | None
) -> None:
    assert kind_of_answer(status, reason) is kind


def test_quotas_are_those_that_google_names() -> None:
    assert quota_name("us-central1", "e2-standard-4", spot=False) == "us-central1/CPUS"
    assert quota_name("us-central1", "n2-standard-4", spot=False) == "us-central1/N2_CPUS"
    assert quota_name("us-central1", "n2-standard-4", spot=True) == "us-central1/PREEMPTIBLE_CPUS"


def test_a_type_may_have_accelerators_added() -> None:
    assert machine_and_accelerator("n1-standard-8_nvidia-tesla-t4x2") == ("n1-standard-8", "nvidia-tesla-t4", 2)
    assert machine_and_accelerator("a2-highgpu-1g") == ("a2-highgpu-1g", None, 0)


def test_labels_take_only_what_google_allows_and_the_metadata_has_the_exact_name() -> None:
    assert label_value("cloud-Standard.X/1") == "cloud-standard-x-1"
    body = request_for("n1-standard-8_nvidia-tesla-t4x1")
    for value in body["labels"].values():
        assert re.fullmatch(r"[a-z0-9_-]{0,63}", value)
    exact = {item["key"]: item["value"] for item in body["metadata"]["items"]}
    assert exact["dovetail-node"] == f"cloud-n1-standard-8_nvidia-tesla-t4x1-{ZONE}-1"


def test_the_request_id_follows_from_the_token() -> None:
    assert request_id("a") == request_id("a") != request_id("b")


def test_machines_with_gpus_are_not_moved_and_spot_machines_are_deleted() -> None:
    assert request_for("g2-standard-4")["scheduling"] == {"on_host_maintenance": "TERMINATE"}
    assert "scheduling" not in request_for("e2-standard-4")
    assert request_for("e2-standard-4", spot=True)["scheduling"]["instance_termination_action"] == "DELETE"


def test_the_disk_is_of_a_sort_that_the_machine_takes() -> None:
    def disk(type_name: str, **more: Any) -> str:
        return str(request_for(type_name, **more)["disks"][0]["initialize_params"]["disk_type"]).rsplit("/", 1)[-1]

    assert disk("e2-standard-4") == "pd-balanced"
    assert disk("n4-standard-4") == "hyperdisk-balanced"
    assert disk("e2-standard-4", disk_type="pd-ssd") == "pd-ssd"


def test_a_subnetwork_replaces_the_network() -> None:
    given = {"us-central1": "projects/lab-project/regions/us-central1/subnetworks/work"}
    body = request_for("e2-standard-4", subnetworks=given, public_address=True, service_account="a@example.com")
    (interface,) = body["network_interfaces"]
    assert "network" not in interface
    assert interface["access_configs"][0]["type_"] == "ONE_TO_ONE_NAT"
    assert body["service_accounts"][0]["email"] == "a@example.com"


@pytest.mark.parametrize(
    ("description", "name"),
    [
        ("N2 Instance Core running in Americas", ("N2", "core")),
        ("Spot Preemptible N2D AMD Instance Ram running in Tokyo", ("N2D", "ram")),
        ("N1 Predefined Instance Core running in Americas", ("N1", "core")),
        ("Compute optimized Ram running in Americas", ("C2", "ram")),
        ("Nvidia Tesla A100 GPU running in Americas", ("A100", "gpu")),
        ("Nvidia Tesla A100 80GB GPU running in Americas", ("A100-80", "gpu")),
        ("Nvidia H100 80GB GPU attached to Spot Preemptible VMs running in Iowa", ("H100", "gpu")),
        ("N2 Custom Instance Core running in Americas", None),
        ("N2 Sole Tenancy Instance Core running in Americas", None),
        ("Network Inter Zone Egress", None),
    ],
)
def test_a_price_belongs_to_a_part_of_a_machine(description: str, name: tuple[str, str] | None) -> None:
    assert _name(description) == name


def test_a_key_that_is_not_there_is_named() -> None:
    pytest.importorskip("google.cloud.compute_v1", reason="google-cloud-compute is not installed (PyPI)")
    check_sdk(settings())
    with pytest.raises(UnusableSetting, match=r"there is no file /nowhere/key\.json"):
        check_sdk(settings(credentials="/nowhere/key.json"))


def test_addresses_and_files_are_for_the_settings_file_alone() -> None:
    given = settings(credentials="/etc/key.json", endpoint="https://a.example.com", price_url="https://b.example.com")
    assert settings_file_fields(given) == ["credentials", "endpoint", "price_url"]
