"""The reference pages: written from the models, complete, and with examples that are read."""

import pkgutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel
from tools import reference
from tools.metric_families import metrics_page

from dovetail.backends.registry import KINDS
from dovetail.control.subsystems.registry import BUILT_IN
from dovetail.model.services.reading import services_of
from dovetail.model.services.service import Service
from dovetail.model.text.document import read_documents
from dovetail.model.workloads.reading import read_workloads
from dovetail.model.workloads.workload import TaskTemplate, Workload
from dovetail.placement.registry import FILTERS, SCORES

ROOT = Path(__file__).parents[3]
#: Terms of node affinity with fewer fields than the one that is described.
LIKE_A_PREFERENCE = ("NodeTerm", "WeightedTerm")
SECTIONS = reference.sections()
OF_SERVICES = reference.sections(reference.SERVICE_FIELDS)


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("workload.md", reference.workload_page),
        ("service.md", reference.service_page),
        ("settings.md", reference.settings_page),
        ("metrics.md", metrics_page),
    ],
)
def test_a_page_is_as_the_models_are(name: str, write: Callable[[], str]) -> None:
    assert (ROOT / "docs" / "reference" / name).read_text() == write(), "run: make docs"


@pytest.mark.parametrize("model", reference.SETTINGS_PAGES.values(), ids=lambda model: model.__name__)
def test_every_setting_has_a_sentence_that_says_what_it_means(model: type[BaseModel]) -> None:
    schema = model.model_json_schema()
    names = [model.__name__, *(name for name, one in schema.get("$defs", {}).items() if "properties" in one)]
    for kind in map(reference.model_class, names):
        for field in kind.model_fields:
            meaning = reference.meaning(kind, field)
            assert meaning.endswith((".", "…")), f"{kind.__name__}.{field}: write what it means below it"


def test_the_page_has_the_settings_of_every_backend_of_every_subsystem_and_of_every_plugin() -> None:
    subsystems = [pkgutil.resolve_name(one.settings) for name, one in BUILT_IN.items() if name != "hooks"]
    plugins = [plugin.Settings for plugin in (*FILTERS.values(), *SCORES.values())]
    described = set(reference.SETTINGS_PAGES.values())
    for model in (*(kind.settings for kind in KINDS.values()), *subsystems, *plugins):
        assert not model.model_fields or model in described, f"{model.__name__}: add it to SETTINGS_PAGES"


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


def test_every_field_that_only_services_have_is_described_and_no_other() -> None:
    schema = Service.model_json_schema()
    of_workloads = {section["model"] for section in SECTIONS} | set(LIKE_A_PREFERENCE)
    models = {"Service": schema, **{name: model for name, model in schema["$defs"].items() if "properties" in model}}
    fields = {name: set(model["properties"]) for name, model in models.items() if name not in of_workloads}
    fields["Service"] -= set(TaskTemplate.model_fields) - {"name"}
    assert {section["model"]: set(section["fields"]) for section in OF_SERVICES} == fields


@pytest.mark.parametrize("section", OF_SERVICES, ids=lambda section: section["model"])
def test_an_example_of_a_service_is_read_and_has_the_field(section: dict[str, Any]) -> None:
    for name, said in section["fields"].items():
        written = yaml.safe_dump({"name": "example", "kind": "service"} | yaml.safe_load(said["example"]))
        assert services_of(read_documents(written.encode(), f"{section['model']}.{name}"), "example")
        assert name in said["example"]
