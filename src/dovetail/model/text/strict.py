"""The base of everything a user writes, and the words its errors share.

Unknown fields are errors and values do not change after reading. Errors echo input only through `shown`, so that
a message stays one short line whatever was sent. Turning errors into complaints is left to `complaint`.
"""

import difflib
import re
from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

# Between two separators there is exactly one way to match, so a long wrong name is refused as fast as a short one.
NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[._-][A-Za-z0-9]+)*", re.ASCII)
MAX_NAME = 100
# Nodes are named by whoever runs them: host names, with dots, and digits in front as in addresses.
NODE_NAME = re.compile(r"[A-Za-z0-9]+(?:[._-]+[A-Za-z0-9]+)*", re.ASCII)
MAX_NODE_NAME = 253
MAX_SHOWN = 60


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class AtField(ValueError):
    """Raised by a validator of a whole model about one field inside it, so that the complaint points there."""

    def __init__(self, path: tuple[str | int, ...], message: str) -> None:
        super().__init__(message)
        self.path = path


def shown(value: object) -> str:
    """A value as an error may echo it: in the user's spelling, on one line, never more than about 60 characters."""
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
    """A default that all instances share. Pydantic would deep-copy a plain default with lists inside for each of
    thousands of workloads; these are frozen and never written."""
    return Field(default_factory=lambda: value)


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


Name = Annotated[str, AfterValidator(check_name)]
NodeName = Annotated[str, AfterValidator(check_node_name)]


def closest(word: str, known: Iterable[str]) -> str:
    """' Did you mean …?' or nothing: appended to an error about an unknown word."""
    near = difflib.get_close_matches(word[:MAX_NAME], list(known), n=1)
    return f" Did you mean {near[0]!r}?" if near else ""
