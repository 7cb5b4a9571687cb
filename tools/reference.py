"""Write the reference pages from the models:  python tools/reference.py [--check]

`docs/reference/workload.md` has every field of a workload, `docs/reference/service.md` those of a service. Names, types
and defaults come from the models; what a field means, an example and the words of other schedulers from
`tools/workload_fields.yaml` and `tools/service_fields.yaml`. `docs/reference/settings.md` has
every setting, with the text that stands below it in its class, and `docs/reference/metrics.md` every family of metrics.
`--check` writes nothing and fails if a page is stale.
"""

import ast
import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path
from textwrap import dedent
from typing import Any

import yaml
from pydantic import BaseModel

from dovetail.backends.registry import KINDS
from dovetail.control.cost.settings import CostSettings
from dovetail.control.rebalancing.rebalancer import RebalancingSettings
from dovetail.control.settings import Settings
from dovetail.control.subsystems.built_in import BackendHealthSettings
from dovetail.control.subsystems.network.settings import MeasuringSettings
from dovetail.control.tracing.settings import TracingSettings
from dovetail.control.trends.recorder import TrendSettings
from dovetail.kubernetes.extender.settings import KubernetesExtenderSettings
from dovetail.kubernetes.scheduler.settings import KubernetesSchedulerSettings
from dovetail.model.services.service import Service
from dovetail.model.text.quantity import format_bytes, format_duration
from dovetail.model.workloads.workload import Workload
from dovetail.placement.filters.resources import ResourcesSettings
from dovetail.placement.scores.domain import DomainPackingSettings, DomainSettings

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT))  # as a program it is called by its path
from tools.metric_families import metrics_page  # noqa: E402

FIELDS = ROOT / "tools" / "workload_fields.yaml"
SERVICE_FIELDS = ROOT / "tools" / "service_fields.yaml"
#: Amounts by the function that reads them: how the page calls them, and how a default is written.
AMOUNTS: dict[str, tuple[str, Callable[[Any], str]]] = {
    "parse_cores": ("cores", "{:g}".format),
    "parse_gpus": ("GPUs", "{:g}".format),
    "parse_bytes": ("bytes", format_bytes),
    "parse_duration_s": ("duration", format_duration),
    "parse_bandwidth_mbps": ("bandwidth", str),
    "parse_latency_ns": ("latency", str),
}
#: What docs/reference/settings.md describes, by the path where it stands.
SETTINGS_PAGES: dict[str, type[BaseModel]] = {
    "": Settings,
    **{f"backends.NAME (kind: {kind})": KINDS[kind].settings for kind in KINDS},
    "scheduling.profiles.NAME.settings.resources": ResourcesSettings,
    "scheduling.profiles.NAME.settings.domain_availability": DomainSettings,
    "scheduling.profiles.NAME.settings.domain_packing": DomainPackingSettings,
    "subsystems.backend_health": BackendHealthSettings,
    "subsystems.network": MeasuringSettings,
    "subsystems.cost": CostSettings,
    "subsystems.trends": TrendSettings,
    "subsystems.rebalancing": RebalancingSettings,
    "subsystems.tracing": TracingSettings,
    "dovetail kubernetes scheduler --config": KubernetesSchedulerSettings,
    "dovetail kubernetes extender --config": KubernetesExtenderSettings,
}
WORDS = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}

Schema = Mapping[str, Any]


def main() -> int:
    pages = {
        "workload.md": workload_page(),
        "service.md": service_page(),
        "settings.md": settings_page(),
        "metrics.md": metrics_page(),
    }
    stale = [name for name, text in pages.items() if _read(name) != text]
    if "--check" in sys.argv:
        print(f"stale: {', '.join(stale)}; run make docs" if stale else "the reference is up to date")
        return bool(stale)
    for name in stale:
        (ROOT / "docs" / "reference" / name).write_text(pages[name])
    return 0


def _read(name: str) -> str:
    page = ROOT / "docs" / "reference" / name
    return page.read_text() if page.exists() else ""


def sections(file: Path = FIELDS) -> list[dict[str, Any]]:
    """What a file of fields says, section by section."""
    found: list[dict[str, Any]] = yaml.load(file.read_text(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return found


def workload_page() -> str:
    places = {section["model"]: section["path"] for section in sections()}
    lines = [
        "# Every field of a workload",
        "",
        "<!-- written by `make docs` from the model and tools/workload_fields.yaml -->",
        "",
        "The same fields stand in files, in `POST /api/v1/workloads` and in the Python client. An example is a part of",
        "a workload. *Elsewhere* is the nearest word of Kubernetes (K) and Slurm (S).",
    ]
    lines += _field_tables(Workload, sections(), places, "A workload")
    return "\n".join(lines) + "\n"


def service_page() -> str:
    """Fields that services share with workloads are said once, in the file of workloads."""
    workload, *parts = sections()
    service, *own = sections(SERVICE_FIELDS)
    shared = {name: said for name, said in workload["fields"].items() if name in Service.model_fields}
    service = service | {"fields": shared | service["fields"]}
    places = {section["model"]: f"workload.md {section['path']}" for section in parts}
    places |= {section["model"]: section["path"] for section in own}
    lines = [
        "# Every field of a service",
        "",
        "<!-- written by `make docs` from the model, tools/service_fields.yaml and tools/workload_fields.yaml -->",
        "",
        "The same fields stand in files, in `POST /api/v1/services` and in the Python client. An example is a part of",
        "a service; [services](../services.md) shows whole ones. *Elsewhere* is the nearest word of Kubernetes (K) and",
        "Slurm (S).",
    ]
    lines += _field_tables(Service, [service, *own], places, "A service")
    return "\n".join(lines) + "\n"


def _field_tables(
    kind: type[BaseModel], described: list[dict[str, Any]], places: Mapping[str, str], title: str
) -> Iterator[str]:
    """A table for each section."""
    schema = kind.model_json_schema()
    models = {kind.__name__: schema, **schema["$defs"]}
    for section in described:
        yield from ("", f"## `{section['path']}`" if section["path"] else f"## {title}", "")
        if "more" in section:
            yield from (section["more"], "")
        yield from ("| field | type | default | meaning | example | elsewhere |", "|---|---|---|---|---|---|")
        model = models[section["model"]]
        for name, field in model["properties"].items():
            said = section["fields"][name]
            cells = [f"`{name}`", type_words(field, models, places), default_words(name, field, model), said["meaning"]]
            cells += ["<br>".join(f"`{line}`" for line in said["example"].splitlines()), _elsewhere(said)]
            yield _row(cells)


def settings_page() -> str:
    lines = [
        "# Every setting of a server",
        "",
        "<!-- written by `make docs` from the models -->",
        "",
        "`dovetail serve --config FILE` reads them. A variable overrides one: `DOVETAIL_LISTEN__PORT=9000` sets",
        "`listen.port`. `dovetail config show` prints all of them as they are in effect, `dovetail config check` says",
        "what is wrong with a file. `NAME` in a path is a name of your choice. Durations are written `90s`, `10m`,",
        "`1h30m`, `7d`; bytes `512MiB`, `64GiB`; cores `2`, `500m`.",
    ]
    places: dict[str, str] = {}
    for path, model in SETTINGS_PAGES.items():
        lines += _settings_sections(path, model, places)
    return "\n".join(lines) + "\n"


def _settings_sections(path: str, model: type[BaseModel], places: dict[str, str]) -> Iterator[str]:
    """A table for the model, and for each below it that has none yet; `places` says where each has its own."""
    schema = model.model_json_schema()
    models = {**schema.get("$defs", {}), model.__name__: schema}
    found = [one for one in _models_below(path, model.__name__, models) if one[1] not in places]
    places |= {name: place for place, name in reversed(found)}
    for place, name in found:
        if places[name] != place:
            continue
        yield from ("", f"## `{place}`" if place else "## At the top", "")
        if place and (said := _class_words(model_class(name))):
            yield from (said, "")
        yield from ("| setting | type | default | meaning |", "|---|---|---|---|")
        for field_name, field in models[name]["properties"].items():
            cells = [f"`{field_name}`", type_words(field, models, places)]
            cells += [default_words(field_name, field, models[name]), meaning(model_class(name), field_name)]
            yield _row(cells)


def _models_below(path: str, name: str, models: Schema, seen: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """(path, name) of every model with fields, depth first; `NAME` stands for a key that users choose."""
    yield path, name
    for field_name, field in models[name]["properties"].items():
        below = f"{path}.{field_name}" if path else field_name
        for reference, suffix in _references(field):
            if models[reference].get("properties") and reference not in seen:
                yield from _models_below(below + suffix, reference, models, (*seen, name))


def model_class(name: str) -> type[BaseModel]:
    """No two models share a name."""
    kinds = [BaseModel]
    while kinds:
        kind = kinds.pop()
        if kind.__name__ == name and kind.__module__.startswith("dovetail"):
            return kind
        kinds += kind.__subclasses__()
    raise KeyError(name)


def meaning(model: type[BaseModel], field: str) -> str:
    """The text below the field in its class, or in the nearest base class that says something; empty if none does."""
    return next((said[field] for kind in model.__mro__ if (said := _texts_below_fields(kind)).get(field)), "")


@cache
def _texts_below_fields(kind: type) -> dict[str, str]:
    if not kind.__module__.startswith("dovetail"):
        return {}
    (definition,) = ast.parse(dedent(inspect.getsource(kind))).body
    assert isinstance(definition, ast.ClassDef)
    found = {}
    for line, below in pairwise(definition.body):
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
            text = below.value if isinstance(below, ast.Expr) else None
            if isinstance(text, ast.Constant) and isinstance(text.value, str):
                found[line.target.id] = _one_line(text.value)
    return found


def _class_words(kind: type) -> str:
    return _one_line(kind.__doc__ or "")


def _references(field: Schema) -> Iterator[tuple[str, str]]:
    """The models that a field holds, each with what is written after the field's name."""
    if "$ref" in field:
        yield field["$ref"].rpartition("/")[2], ""
    for choice in field.get("anyOf", []):
        yield from _references(choice)
    if "items" in field:
        yield from ((name, f"[]{rest}") for name, rest in _references(field["items"]))
    if isinstance(held := field.get("additionalProperties"), dict):
        yield from ((name, f".NAME{rest}") for name, rest in _references(held))


def type_words(field: Schema, models: Schema, places: Mapping[str, str]) -> str:
    """What may be written, in words; a model is named by the place of its section."""
    if parser := field.get("x-parser"):
        return AMOUNTS[parser][0]
    if "$ref" in field:
        name = field["$ref"].rpartition("/")[2]
        if "enum" in models[name]:
            return ", ".join(f"`{word}`" for word in models[name]["enum"])
        return _link(places[name]) if places.get(name) else "see below"
    if "format" in field:
        return WORDS["string"]  # what YAML reads as a number is taken as text
    if "anyOf" in field:
        choices = [type_words(one, models, places) for one in field["anyOf"] if one.get("type") != "null"]
        return " or ".join(dict.fromkeys(choices))
    if "const" in field:
        return f"`{field['const']}`"
    if "enum" in field:
        return ", ".join(f"`{word}`" for word in field["enum"])
    if field.get("type") == "array":
        return f"list of {type_words(field.get('items', {}), models, places)}"
    if field.get("type") == "object":
        held = field.get("additionalProperties")
        return f"mapping to {type_words(held, models, places)}" if isinstance(held, dict) and held else "mapping"
    return WORDS.get(field.get("type", ""), "any value")


def _link(place: str) -> str:
    """To the section of a place, which may be on another page: `workload.md run`."""
    page, _, path = place.rpartition(".md ")
    return f"[`{path}`]({page + '.md' if page else ''}#{_anchor(path)})"


def default_words(name: str, field: Schema, model: Schema) -> str:
    if name in model.get("required", []):
        return "required"
    value = field.get("default")
    if value in (None, "", [], {}) or isinstance(value, dict):
        return "–"
    parser = next((one["x-parser"] for one in (field, *field.get("anyOf", [])) if "x-parser" in one), None)
    if parser and not isinstance(value, str):
        return f"`{AMOUNTS[parser][1](value)}`"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _elsewhere(said: Mapping[str, str]) -> str:
    return "; ".join(f"{sign} `{said[word]}`" for sign, word in (("K", "kubernetes"), ("S", "slurm")) if word in said)


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _anchor(heading: str) -> str:
    """The anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


if __name__ == "__main__":
    sys.exit(main())
