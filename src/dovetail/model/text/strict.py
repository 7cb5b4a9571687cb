"""The base class of all user input models, and helpers for their error messages.

Unknown fields are errors, `true` is not the number 1, and models are frozen. Messages echo input only through `shown`,
so they stay one short line whatever was sent. `complaint` turns errors into complaints.
"""

import difflib
import re
from collections.abc import Callable, Iterable
from ipaddress import ip_address
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema, PydanticKnownError
from pydantic_core.core_schema import no_info_before_validator_function

# There is only one way to match between two separators, so a long invalid name is refused quickly.
NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[._-][A-Za-z0-9]+)*", re.ASCII)
MAX_NAME = 100
# Node names come from outside: host names with dots, or addresses with leading digits.
NODE_NAME = re.compile(r"[A-Za-z0-9]+(?:[._-]+[A-Za-z0-9]+)*", re.ASCII)
MAX_NODE_NAME = 253
MAX_HOST = 253
MAX_SHOWN = 60


def _no_boolean(error: Literal["int_type", "float_type"]) -> Callable[[object], object]:
    def checked(value: object) -> object:
        if isinstance(value, bool):
            raise PydanticKnownError(error)
        return value

    return checked


_NUMBERS = {"int": _no_boolean("int_type"), "float": _no_boolean("float_type")}


def _refuse_booleans_as_numbers(schema: Any) -> None:
    """In the fields of one model: those of models inside of it are references here. Python's booleans are integers, so
    Pydantic takes them unless it is told to refuse numbers in quotes too."""
    for key, part in schema.items() if isinstance(schema, dict) else enumerate(schema):
        if isinstance(part, dict) and part.get("type") in _NUMBERS:
            schema[key] = no_info_before_validator_function(_NUMBERS[part["type"]], part)
        elif isinstance(part, dict | list):
            _refuse_booleans_as_numbers(part)


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        schema = handler(source)
        _refuse_booleans_as_numbers(handler.resolve_ref_schema(schema))
        return schema


class AtField(ValueError):
    """Raised by a model validator about one field, so that the complaint names that field."""

    def __init__(self, path: tuple[str | int, ...], message: str) -> None:
        super().__init__(message)
        self.path = path


def shown(value: object) -> str:
    """A value for an error message: in the user's spelling, on one line, at most about 60 characters."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return repr(value if len(value) <= MAX_SHOWN else value[: MAX_SHOWN - 1] + "…")
    if isinstance(value, int) and value.bit_length() > 150:  # more digits than are worth showing
        return "a number of more than 45 digits"
    if isinstance(value, int | float):
        return str(value)[:MAX_SHOWN]
    return "a mapping" if isinstance(value, dict) else "a list" if isinstance(value, list) else "this value"


def shared(value: Any) -> Any:
    """A default that all instances share; it must be frozen. Pydantic would deep-copy it for each instance."""
    return Field(default_factory=lambda: value)


def is_word(value: str, most: int) -> bool:
    """Printable text without spaces, of at most so many characters."""
    return 0 < len(value) <= most and value.isprintable() and not any(letter.isspace() for letter in value)


def check_name(value: str) -> str:
    if len(value) > MAX_NAME:
        raise ValueError(f"is {len(value)} characters long; a name has at most {MAX_NAME}")
    if not NAME.fullmatch(value):
        raise ValueError(
            f"{shown(value)} is not a name; start with a letter, go on with letters and digits, and separate words "
            "with a single '-', '_' or '.' (ASCII only, no spaces or slashes)"
        )
    return value


def check_node_name(value: str) -> str:
    if len(value) > MAX_NODE_NAME:
        raise ValueError(f"is {len(value)} characters long; a node's name has at most {MAX_NODE_NAME}")
    if not NODE_NAME.fullmatch(value):
        raise ValueError(
            f"{shown(value)} is not the name of a node; start and end with a letter or a digit, and use only letters, "
            "digits, '-', '_' and '.' between (ASCII only, no spaces or slashes)"
        )
    return value


def check_host(value: str) -> str:
    """An IP address, or the name of a host."""
    try:
        return str(ip_address(value))
    except ValueError:
        pass
    if len(value) > MAX_HOST or not NODE_NAME.fullmatch(value) or value.replace(".", "").isdigit():
        raise ValueError(f"{shown(value)} is neither an IP address nor the name of a host; leave out scheme and port")
    return value


def text_format(name: str, *, most: int | None = None, least: int = 0) -> Any:
    """For `Annotated`: the JSON schema of the text names its format, and says how long it may be. A validator checks
    it, with a better message than a schema gives."""
    bounds = {"minLength": least or None, "maxLength": most}
    return Field(json_schema_extra={"format": name, **{key: bound for key, bound in bounds.items() if bound}})


Name = Annotated[str, AfterValidator(check_name), text_format("name", least=1, most=MAX_NAME)]
Host = Annotated[str, AfterValidator(check_host), text_format("host", least=1, most=MAX_HOST)]
NodeName = Annotated[str, AfterValidator(check_node_name), text_format("node-name", least=1, most=MAX_NODE_NAME)]


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that was probably meant."""
    near = difflib.get_close_matches(word[:MAX_NAME], list(known), n=1)
    return near[0] if near else None


def closest(word: str, known: Iterable[str]) -> str:
    """` Did you mean …?`, or empty: a suffix for errors about unknown words."""
    near = nearest(word, known)
    return "" if near is None else f" Did you mean {near!r}?"
