"""The reference pages: written from the models, complete, and with examples that are read."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from tools import reference

from dovetail.model.workloads.reading import read_workloads
from dovetail.model.workloads.workload import Workload

ROOT = Path(__file__).parents[3]
#: Terms of node affinity with fewer fields than the one that is described.
LIKE_A_PREFERENCE = ("NodeTerm", "WeightedTerm")
SECTIONS = reference.sections()


@pytest.mark.parametrize(
    ("name", "text"), [("workload.md", reference.workload_page()), ("settings.md", reference.settings_page())]
)
def test_a_page_is_as_the_models_are(name: str, text: str) -> None:
    assert (ROOT / "docs" / "reference" / name).read_text() == text, "run: make docs"


def test_every_model_and_field_of_a_workload_is_described_and_no_other() -> None:
    schema = Workload.model_json_schema()
    models = {"Workload": schema, **{name: model for name, model in schema["$defs"].items() if "properties" in model}}
    fields = {name: set(model["properties"]) for name, model in models.items() if name not in LIKE_A_PREFERENCE}
    assert {section["model"]: set(section["fields"]) for section in SECTIONS} == fields


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section["model"])
def test_an_example_is_read_and_has_the_field(section: dict[str, Any]) -> None:
    for name, said in section["fields"].items():
        written = yaml.safe_load(said["example"])
        assert read_workloads(yaml.safe_dump({"name": "example"} | written), f"{section['model']}.{name}")
        assert name in said["example"]
