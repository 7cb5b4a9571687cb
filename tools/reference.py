"""Write the reference pages from the models:  python tools/reference.py [--check]

`docs/reference/workload.md` has every field of a workload. Names, types and defaults come from the model; what a field
means, an example and the words of other schedulers from `tools/workload_fields.yaml`. `docs/reference/settings.md` has
every setting of a server, with what the model says about it. `--check` writes nothing and fails if a page is stale.
"""

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from dovetail.control.settings import Settings
from dovetail.model.text.quantity import format_bytes, format_duration
from dovetail.model.workloads.workload import Workload

ROOT = Path(__file__).parents[1]
FIELDS = ROOT / "tools" / "workload_fields.yaml"
#: Amounts by the function that reads them: how the page calls them, and how a default is written.
AMOUNTS: dict[str, tuple[str, Callable[[Any], str]]] = {
    "parse_cores": ("cores", "{:g}".format),
    "parse_gpus": ("GPUs", "{:g}".format),
    "parse_bytes": ("bytes", format_bytes),
    "parse_duration_s": ("duration", format_duration),
    "parse_bandwidth_mbps": ("bandwidth", str),
    "parse_latency_ns": ("latency", str),
}
WORDS = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}

Schema = Mapping[str, Any]


def main() -> int:
    pages = {"workload.md": workload_page(), "settings.md": settings_page()}
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


def sections() -> list[dict[str, Any]]:
    """What `workload.yaml` says, section by section."""
    found: list[dict[str, Any]] = yaml.safe_load(FIELDS.read_text())
    return found


def workload_page() -> str:
    schema = Workload.model_json_schema()
    models = {"Workload": schema, **schema["$defs"]}
    places = {section["model"]: section["path"] for section in sections()}
    lines = [
        "# Every field of a workload",
        "",
        "<!-- written by `make docs` from the model and tools/workload_fields.yaml -->",
        "",
        "The same fields stand in files, in `POST /api/v1/workloads` and in the Python client. An example is a part of",
        "a workload. *Elsewhere* is the nearest word of Kubernetes (K) and Slurm (S).",
    ]
    for section in sections():
        lines += ["", f"## `{section['path']}`" if section["path"] else "## A workload", ""]
        lines += [section["more"], ""] if "more" in section else []
        lines += ["| field | type | default | meaning | example | elsewhere |", "|---|---|---|---|---|---|"]
        model = models[section["model"]]
        for name, field in model["properties"].items():
            said = section["fields"][name]
            cells = [f"`{name}`", type_words(field, models, places), default_words(name, field, model), said["meaning"]]
            cells += ["<br>".join(f"`{line}`" for line in said["example"].splitlines()), _elsewhere(said)]
            lines.append(_row(cells))
    return "\n".join(lines) + "\n"


def settings_page() -> str:
    schema = Settings.model_json_schema()
    models = schema["$defs"]
    lines = [
        "# Every setting of a server",
        "",
        "<!-- written by `make docs` from the model -->",
        "",
        "`dovetail serve --config FILE` reads them. A variable overrides one: `DOVETAIL_LISTEN__PORT=9000` sets",
        "`listen.port`. `dovetail config show` prints all of them as they are in effect, `dovetail config check` says",
        "what is wrong with a file. The settings of a backend are on the page of its kind (`docs/backends.md`).",
    ]
    for path, model in _settings_sections("", schema, models, ()):
        lines += ["", f"## `{path}`" if path else "## At the top", ""]
        lines += [_one_line(model["description"]), ""] if path and "description" in model else []
        lines += ["| setting | type | default |", "|---|---|---|"]
        for name, field in model["properties"].items():
            words = type_words(field, models, {})
            if "description" in field and "x-parser" not in field:
                words += f": {_one_line(field['description'])}"
            lines.append(_row([f"`{name}`", words, default_words(name, field, model)]))
    return "\n".join(lines) + "\n"


def _settings_sections(path: str, model: Schema, models: Schema, seen: tuple[str, ...]) -> Iterator[tuple[str, Schema]]:
    """Every model with fields, depth first; `NAME` stands for a key that users choose."""
    yield path, model
    for name, field in model["properties"].items():
        below = f"{path}.{name}" if path else name
        for reference, suffix in _references(field):
            found = models[reference]
            if found.get("properties") and reference not in seen:
                yield from _settings_sections(below + suffix, found, models, (*seen, reference))


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
        return f"[`{places[name]}`](#{_anchor(places[name])})" if places.get(name) else "see below"
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


def default_words(name: str, field: Schema, model: Schema) -> str:
    if name in model.get("required", []):
        return "required"
    value = field.get("default")
    if value in (None, [], {}) or isinstance(value, dict):
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
