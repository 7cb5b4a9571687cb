"""The pages of Azure and Google Cloud: their examples are taken as they stand, and codes mean what the tables say."""

import json
import re
from pathlib import Path

import pytest
import yaml

from dovetail.backends.azure.errors import kind_of
from dovetail.backends.cloud_catalogue.price_table import price_table
from dovetail.backends.gcp.errors import kind_of_answer, kind_of_code
from dovetail.backends.machines.provider import RefusalKind
from dovetail.backends.machines.refused_types import AVOIDED_FOR_S
from dovetail.backends.registry import KINDS, BackendEntry

DOCS = Path(__file__).parents[3] / "docs" / "backends"
SHARED = {"idle", "poll", "quotas", "max_machines", "max_price", "start_up", "currency", "price_url"}
TIMES = {
    RefusalKind.STOCK_OUT: "5 minutes",
    RefusalKind.QUOTA: "15 minutes",
    RefusalKind.PERMISSION: "an hour",
    RefusalKind.INVALID: "an hour",
}


def page(name: str) -> str:
    return (DOCS / f"{name}.md").read_text()


@pytest.mark.parametrize("name", ["azure", "gcp"])
def test_the_example_is_taken_as_it_stands_and_every_setting_is_named(name: str) -> None:
    example = re.search(r"^backends:\n(?:  .*\n)+", page(name), re.MULTILINE)
    assert example is not None
    entry = BackendEntry.model_validate(yaml.safe_load(example[0])["backends"][name])
    assert entry.kind == name
    words = set(re.findall(r"[a-z_]+", page(name)))
    assert set(KINDS[name].settings.model_fields) - SHARED - words == set()


def row_of(name: str, code: str) -> str:
    (row,) = [line for line in page(name).splitlines() if line.startswith("|") and f"`{code}`" in line.split("|")[1]]
    return row


@pytest.mark.parametrize("code", ["SkuNotAvailable", "AllocationFailed", "QuotaExceeded", "AuthorizationFailed"])
def test_codes_of_azure_mean_what_the_page_says(code: str) -> None:
    kind = kind_of(code, "", 409)
    assert kind is not None
    assert TIMES[kind] in row_of("azure", code)


@pytest.mark.parametrize("code", ["ZONE_RESOURCE_POOL_EXHAUSTED", "QUOTA_EXCEEDED", "INVALID_FIELD_VALUE"])
def test_codes_of_google_mean_what_the_page_says(code: str) -> None:
    assert TIMES[kind_of_code(code)] in row_of("gcp", code)
    assert kind_of_answer(403, "rateLimitExceeded") is None


def test_the_times_are_those_in_force() -> None:
    words = {300.0: "5 minutes", 900.0: "15 minutes", 3600.0: "an hour"}
    of_clouds = {kind: avoided_s for kind, avoided_s in AVOIDED_FOR_S.items() if kind in TIMES}
    assert {kind: words[avoided_s] for kind, avoided_s in of_clouds.items()} == TIMES


def test_the_tables_have_as_many_types_and_regions_as_the_pages_say() -> None:
    numbers = {"six": 6, "eight": 8}
    for name, noun in (("azure", "sizes"), ("gcp", "types")):
        said = re.search(rf"for (\d+) {noun} in (\w+) regions", page(name))
        assert said is not None
        rows = price_table(name)
        assert (int(said[1]), numbers[said[2]]) == (len({row.type for row in rows}), len({row.region for row in rows}))


def test_the_role_of_azure_names_what_it_may_do() -> None:
    (role,) = re.findall(r"```json\n(.*?)```", page("azure"), re.DOTALL)
    actions = json.loads(role)["Actions"]
    for kind in ("Compute/virtualMachines", "Compute/disks", "Network/networkInterfaces", "Network/publicIPAddresses"):
        assert {f"Microsoft.{kind}/{verb}" for verb in ("read", "write", "delete")} <= set(actions)
