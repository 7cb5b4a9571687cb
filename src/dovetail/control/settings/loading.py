"""Reads settings: a YAML file overlaid by DOVETAIL_* variables; every value checked, every mistake named with its line.

`DOVETAIL_LISTEN__PORT=9000` sets `listen.port`; double underscores go one level down. SCHEDULING_STRATEGY names the
default profile, as the VM scheduler's users know it.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from dovetail.control.settings.partial_reading import copied, read_what_is_right
from dovetail.control.settings.plugin_checks import plugin_mistakes
from dovetail.control.settings.server import Settings
from dovetail.model.text.complaint import Complaint, Invalid
from dovetail.model.text.document import Document, read_documents
from dovetail.model.text.reading import only_document

PREFIX = "DOVETAIL_"
STRATEGY_VARIABLE = "SCHEDULING_STRATEGY"
#: Variables of other parts of Dovetail that share the prefix.
NOT_SETTINGS = frozenset(
    {"DOVETAIL_URL", "DOVETAIL_TOKEN", "DOVETAIL_TOKEN_FILE", "DOVETAIL_CONFIG", "DOVETAIL_SECRET_KEY"}
)


def load_settings(path: Path | None, env: Mapping[str, str]) -> Settings:
    """File, then variables. Raises Invalid with every mistake found."""
    if path is None:
        document = Document({}, "settings")
    else:
        try:
            text = path.read_bytes()
        except OSError as error:
            raise Invalid([Complaint(str(path), None, "", f"cannot be read: {error.strerror}")]) from None
        document = only_document(text, str(path))
    if not isinstance(document.data, dict):
        raise Invalid([Complaint(document.source, document.line_of(()), "", "settings are a mapping of fields")])
    complaints: list[Complaint] = []
    overlaid = Document(_overlaid(document.data, env, complaints), document.source, document.lines)
    settings, mistakes = read_what_is_right(Settings, overlaid)
    if settings is not None:
        mistakes += plugin_mistakes(settings, overlaid)
    if complaints or mistakes or settings is None:
        by_line = sorted(mistakes, key=lambda one: one.line or 0)
        raise Invalid(complaints + _blaming(by_line, env))
    return settings


def _blaming(complaints: list[Complaint], env: Mapping[str, str]) -> list[Complaint]:
    """Complaints about a value from a variable name the variable, not a line of the file."""
    by_field = {".".join(_path(name)): name for name in env if _is_setting(name)}
    if env.get(STRATEGY_VARIABLE):
        by_field.setdefault("scheduling.default_profile", STRATEGY_VARIABLE)
    found = []
    for complaint in complaints:
        name = next((by_field[f] for f in by_field if f"{complaint.field}.".startswith(f"{f}.")), None)
        found.append(complaint if name is None else replace(complaint, source=f"variable {name}", line=None))
    return found


def _is_setting(name: str) -> bool:
    return name.startswith(PREFIX) and name not in NOT_SETTINGS


def _path(name: str) -> list[str]:
    return name.removeprefix(PREFIX).lower().split("__")


def _overlaid(data: dict[str, Any], env: Mapping[str, str], complaints: list[Complaint]) -> dict[str, Any]:
    """The data with the variables in it; `complaints` gets those about variables that cannot be used."""
    found: dict[str, Any] = copied(data)
    if strategy := env.get(STRATEGY_VARIABLE):
        found.setdefault("scheduling", {})["default_profile"] = strategy
    for name, value in sorted(env.items()):
        if _is_setting(name):
            try:
                _set(found, name, value)
            except Invalid as invalid:
                complaints += invalid.complaints
    return found


def _set(found: dict[str, Any], name: str, value: str) -> None:
    *parents, last = _path(name)
    place = found
    for parent in parents:
        inner = place.setdefault(parent, {})
        if not isinstance(inner, dict):
            words = f"goes below {parent!r}, which is not a mapping"
            raise Invalid([Complaint("environment", None, name, words)])
        place = inner
    place[last] = _value(name, value)


def _value(name: str, text: str) -> Any:
    """A variable's value reads like YAML: `9000` is a number, `[a, b]` a list."""
    documents = read_documents(text, f"environment variable {name}") if text.strip() else []
    return documents[0].data if documents else ""
