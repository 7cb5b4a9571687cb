"""The page of EC2: its example is taken as it stands, and codes, permissions and the price table are as it says."""

import json
import re
from pathlib import Path

import pytest
import yaml

from dovetail.backends.cloud_catalogue.price_table import price_table
from dovetail.backends.ec2.errors import REFUSALS
from dovetail.backends.machines.refused_types import AVOIDED_FOR_S
from dovetail.backends.machines.settings import MachineSettings
from dovetail.backends.registry import KINDS, BackendEntry

PAGE = (Path(__file__).parents[3] / "docs" / "backends" / "ec2.md").read_text()
CLOUDS = (Path(__file__).parents[3] / "docs" / "clouds.md").read_text()
TIMES = {300.0: "5 minutes", 900.0: "15 minutes", 3600.0: "an hour"}


def test_the_example_is_taken_as_it_stands_and_every_setting_is_named() -> None:
    example = re.search(r"^backends:\n(?:  .*\n)+", PAGE, re.MULTILINE)
    assert example is not None
    entry = BackendEntry.model_validate(yaml.safe_load(example[0])["backends"]["aws"])
    assert entry.kind == "ec2"
    words = set(re.findall(r"[a-z_]+", PAGE + CLOUDS))
    shared = set(MachineSettings.model_fields) | {"start_up"}
    assert set(KINDS["ec2"].settings.model_fields) - shared - words == set()


@pytest.mark.parametrize("code", [one for one in REFUSALS if f"`{one}`" in PAGE])
def test_a_code_means_what_the_page_says(code: str) -> None:
    (row,) = [line for line in PAGE.splitlines() if line.startswith("|") and f"`{code}`" in line.split("|")[1]]
    assert TIMES[AVOIDED_FOR_S[REFUSALS[code][0]]] in row


def test_the_policy_names_every_call_that_the_backend_makes() -> None:
    (policy,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    allowed = {
        action
        for statement in json.loads(policy)["Statement"]
        for action in ([statement["Action"]] if isinstance(statement["Action"], str) else statement["Action"])
    }
    folder = Path(__file__).parents[3] / "src" / "dovetail" / "backends" / "ec2"
    text = "".join(file.read_text() for file in folder.glob("*.py"))
    calls = set(re.findall(r"get_paginator\(\"(\w+)\"\)", text)) | set(
        re.findall(r"\)\.((?:describe|run|terminate|get)_(?:instances|images|parameter))\(", text)
    )
    assert len(calls) >= 8
    for call in calls:
        name = "".join(part.title() for part in call.split("_"))
        assert any(action.endswith(f":{name}") for action in allowed), name


def test_the_table_has_as_many_types_and_regions_as_the_page_says() -> None:
    said = re.search(r"(\d+) types in (\d+) regions", PAGE)
    assert said is not None
    rows = price_table("aws")
    assert (int(said[1]), int(said[2])) == (len({row.type for row in rows}), len({row.region for row in rows}))
