"""The messages for Pydantic's errors.

Guarantees: every kind of Pydantic error gets a message, if necessary Pydantic's own; ValueErrors of our validators are
passed on unchanged. Secret input is never echoed. `complaint` adds the place of the error.
"""

import re
from typing import Any

from pydantic_core import ErrorDetails

from dovetail.model.text.location import Location, other_names
from dovetail.model.text.quantity import how_written
from dovetail.model.text.strict import closest, shown

Sentence = tuple[str, tuple[str, ...]]

_EXPECTED_WORD = re.compile(r"'([^']*)'")
_WANTED = {
    "string_type": "text",
    "string_unicode": "text",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_parsing_size": "a whole number that is not too large",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "list_type": "a list such as [a, b]",
    "tuple_type": "a list",
    "set_type": "a list",
    "frozen_set_type": "a list",
    "dict_type": "a mapping of names to values",
    "mapping_type": "a mapping of names to values",
    "model_type": "a mapping of fields",
    "model_attributes_type": "a mapping of fields",
    "dataclass_type": "a mapping of fields",
}
_BOUNDS = {
    "greater_than_equal": ("ge", "is too small; the least is {}"),
    "greater_than": ("gt", "is too small; it must be more than {}"),
    "less_than_equal": ("le", "is too large; the most is {}"),
    "less_than": ("lt", "is too large; it must be less than {}"),
}
_VARIABLE = "is not the name of a variable; write letters, digits and '_', and no digit first, such as BATCH_SIZE"
#: What is wrong with a text that does not match, for every pattern of a workload or a setting.
PATTERNS = {
    r"^[A-Za-z_][A-Za-z0-9_]*$": _VARIABLE,
    r"^(?i:and|or|not)$": "is not accepted; write and, or, not",
    r"^\*$": "is not accepted; write names, or * for all",
    r"^[^\s,]+$": "is not the name of a device; write it without spaces and commas",
    "^/": "is not an absolute path; begin it with /",
    "^/.": "is not an absolute path; begin it with /",
    r"^\.?[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$": "is not a host name; write one such as dovetail.example.org",
    r"^(namespace|user|label:\S+)$": "is not accepted; write namespace, user, or a label as label:KEY",
    "^[A-Z]{3}$": "is not a currency; write three capital letters such as USD",
    "^[a-zA-Z0-9][a-zA-Z0-9_-]{0,39}$": "is not accepted; write up to 40 letters, digits, '-' and '_', no sign first",
    r"^(\$LATEST|[A-Za-z0-9_-]{1,128})$": "is neither a version nor an alias; write letters, digits, '-' and '_'",
    "^[A-Za-z0-9_-]{1,64}$": "is not the name of a function; write up to 64 letters, digits, '-' and '_'",
    "^[A-Za-z0-9_-]{1,128}$": "is not the name of an orchestrator; write letters, digits, '-' and '_'",
    "^[A-Za-z0-9_.-]{3,255}$": "is not the name of a table; write 3 to 255 letters, digits, '-', '_' and '.'",
    "^[a-z0-9-]{3,40}$": "is not a region; write it as the cloud does, such as eu-central-1",
    r"^https?://[^\s/?#@]+$": "is not accepted; write https:// and a host, without a path",
    r"^/[\w/.~%-]*$": "is not a path; begin with '/', such as /api/resize",
    r"^(unix:/.+|https?://.+)$": "is not an address; write unix:/PATH, http://HOST:PORT or https://HOST:PORT",
    r"^v0\.0\.\d\d$": "is not a version of slurmrestd's API; write one such as v0.0.38",
    r"^[A-Za-z0-9_][A-Za-z0-9_.@+-]*$": "is not a name that Slurm takes; write letters, digits and _ . @ + -",
    r"^([A-Za-z][A-Za-z0-9.-]*)?$": "is not accepted; write letters, digits, '.' and '-', a letter first",
    r"^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$": "is not a name of Kubernetes; write small letters, digits, '-' and '.'",
    "^[a-z0-9]([-a-z0-9]{0,18}[a-z0-9])?$": "is not accepted; write up to 20 small letters, digits and '-'",
    r"^[a-z0-9.-]+/[A-Za-z0-9._-]+$": "is not an extended resource; write vendor.com/name, such as nvidia.com/gpu",
    r"^([^:/\s]+:[^:/\s]+:[^:/\s]+:[^:/\s]+|/subscriptions/[^\s?#]+)$": "is not an image; write an URN or an id",
    "^([a-z0-9.-]+:)?[a-z][-a-z0-9]{4,61}[a-z0-9]$": "is not the id of a project; write one such as my-project-1",
    "^(ami-[0-9a-f]{8,17}|/[A-Za-z0-9._/-]{1,1000})$": "is not an image; write an AMI or an SSM parameter",
    "^(ssh|ecdsa)-[^\n]+$": "is not a public key; write one line that begins with ssh- or ecdsa-",
    r"^/[^\s?#]+$": "is not a path; begin it with /, without spaces, ? and #",
    r"^/subscriptions/[^\s?#]+$": "is not an id of Azure; it begins with /subscriptions/",
    r"^[-\w.()]{1,90}$": "is not the name of a resource group; write letters, digits, '-', '_', '.' and brackets",
    "^[0-9A-Fa-f:]{64,95}$": "is not a SHA-256 fingerprint; write its 64 hexadecimal digits, with or without ':'",
    "^[0-9a-fA-F-]{36}$": "is not an id of Azure; write it as 8-4-4-4-12 hexadecimal digits",
    "^[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}$": "is not a MAC address; write it as 52:54:00:12:34:56",
    "^[1-9]$": "is not a zone; write its number, such as 1",
    r"^[A-Za-z0-9._*?\[\]!-]{1,100}$": "is not a type or a pattern; write one such as m7i.large or m7i.*",
    "^[A-Za-z0-9][A-Za-z0-9_.-]*$": "is not accepted; write letters, digits, '_', '.' and '-', no sign first",
    "^[A-Za-z0-9_]{1,40}$": "is not accepted; write up to 40 letters, digits and '_'",
    r"^[^@\s]+@[^@\s]+$": "is not an account; write it as name@domain",
    r"""^[^\s'\"]+$""": "is not the name of a program; write it without spaces and quotes",
    r"^[^\s\x00-\x1f-][^\x00-\x1f]{0,99}$": "is not accepted; write printable text, no space or '-' first",
    r"^[^\s]+$": "is not accepted; write it without spaces",
    "^[a-z0-9-]{1,40}$": "is not accepted; write up to 40 lower-case letters, digits and '-'",
    "^[a-z0-9]([a-z0-9-]{0,40}[a-z0-9])?$": "is not a region or zone; write one such as us-east-1",
    r"^[a-z0-9][-\w./:]+$": "is not accepted; write it as global/networks/default",
    "^[a-z0-9]{2,40}$": "is not a region; write it as Azure does, such as westeurope",
    "^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$": "is not accepted; write lower-case letters, digits and '-', a letter first",
    "^[a-z]+-[0-9a-f]{8,17}$": "is not an id of AWS; write one such as subnet-0abc12345678",
    "^[a-z_]+$": "is not accepted; write lower-case letters and '_'",
    r"^https://[^\s]+$": "is not an address; write it as https://host/path",
    r"^https?://[^\s/?#]+/?$": "is not an address; write it as https://host, without a path",
    r"^https?://[^\s]+$": "is not an address; write it as https://host:port",
}
_LENGTHS = {
    "too_short": ("min_length", "has {actual}; at least {limit} must be given"),
    "too_long": ("max_length", "has {actual}; at most {limit} are accepted"),
    "string_too_short": ("min_length", "is {actual} characters long; at least {limit} are needed"),
    "string_too_long": ("max_length", "is {actual} characters long; at most {limit} are accepted"),
}


def wording(detail: ErrorDetails, location: Location, *, secret: bool, about_key: bool) -> Sentence:
    """The message, and the accepted values if they can be listed."""
    kind, context = detail["type"], detail.get("ctx", {})
    value = "this value" if secret else shown(detail["input"])
    if kind == "missing":
        return "is required", ()
    if kind == "extra_forbidden":
        return _unknown_field(location)
    if kind in ("enum", "literal_error"):
        accepted = tuple(_EXPECTED_WORD.findall(str(context.get("expected", ""))))
        near = "" if secret or not isinstance(detail["input"], str) else closest(detail["input"], accepted)
        return f"{value} is not accepted.{near} Write one of: {', '.join(accepted)}", accepted
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        return _wrong_kind(context)
    if kind in ("value_error", "assertion_error") and "error" in context:
        said = str(context["error"]) or "is not accepted"
        return ("is not accepted" if secret and _echoes(said, detail["input"]) else said), ()
    if kind in _BOUNDS:
        name, words = _BOUNDS[kind]
        return f"{value} {words.format(_as_written(context.get(name), location))}", ()
    if kind in _LENGTHS:
        return _length(kind, context, detail["input"]), ()
    if kind == "string_pattern_mismatch":
        what = "a name here" if about_key and secret else value
        pattern = str(context.get("pattern"))
        return f"{what} {PATTERNS.get(pattern) or f'must match {pattern}'}", ()
    if kind == "invalid_key":
        return "a field's name is text", ()
    if kind in _WANTED:
        return _wrong_type(kind, detail["input"], location, secret=secret), ()
    said = detail["msg"].removeprefix("Value error, ")
    said = said[:1].lower() + said[1:]
    return ("is not accepted" if secret and _echoes(said, detail["input"]) else said), ()


def _as_written(limit: object, location: Location) -> str:
    """A bound as users write such amounts: `5m`, not 300."""
    field = location.fields_around().get(str(location.path[-1])) if location.path else None
    write = None if field is None else how_written(field.annotation, field.metadata)
    if write is not None:
        return str(write(limit))
    return f"{limit:g}" if isinstance(limit, float) else str(limit)


def _wrong_kind(context: dict[str, Any]) -> Sentence:
    """A union whose members are distinguished by a field such as `kind`."""
    accepted = tuple(_EXPECTED_WORD.findall(str(context.get("expected_tags", ""))))
    field = str(context.get("discriminator", "kind")).strip("'")
    if "tag" not in context:
        return f"needs the field {field}, which says what it is", accepted
    tag = str(context["tag"])
    return (
        f"{field} {shown(tag)} is not accepted.{closest(tag, accepted)} Write one of: {', '.join(accepted)}",
        accepted,
    )


def _unknown_field(location: Location) -> Sentence:
    name, fields = str(location.path[-1]) if location.path else "", location.fields_around()
    for known, info in fields.items():
        if name == known or name in other_names(info):
            both = [known, *(other for other in other_names(info) if other != known)]
            return f"{' and '.join(map(repr, both))} mean the same; write only one of them", ()
    accepted = tuple(fields)
    listed = f" Known fields: {', '.join(accepted)}" if accepted else ""
    return f"unknown field {shown(name)}.{closest(name, accepted) or _belongs(name, location)}{listed}", accepted


def _belongs(name: str, location: Location) -> str:
    """` It belongs below run.`, where one of the fields beside it has such a field."""
    below = location.fields_below(name)
    return f" It belongs below {below[0]}." if len(below) == 1 else ""


def _length(kind: str, context: dict[str, Any], value: object) -> str:
    if isinstance(value, str) and not kind.startswith("string_"):  # Pydantic's error behind one of our validators
        kind = f"string_{kind}"
    name, words = _LENGTHS[kind]
    length = context.get("actual_length")
    if length is None and isinstance(value, str | list | dict | tuple):
        length = len(value)
    return words.format(actual="more" if length is None else length, limit=context.get(name))


def _wrong_type(kind: str, value: object, location: Location, *, secret: bool) -> str:
    wanted = _WANTED[kind]
    fields = location.fields_here()
    if kind.startswith("model") and fields:
        wanted += f" such as {', '.join(list(fields)[:4])}"
    if value is None:
        return f"is empty; write {wanted}, or leave the field out"
    if kind == "string_type" and isinstance(value, int | float):
        kind_of_value = "true or false" if isinstance(value, bool) else "a number"
        example = "" if secret else f": '{shown(value)}'"
        return f"is {kind_of_value} where text is expected; put it in quotes{example}"
    return f"{'this value' if secret else shown(value)} is not accepted; write {wanted}"


def _echoes(said: str, value: object) -> bool:
    return not isinstance(value, str | int | float) or str(value)[:20] in said
